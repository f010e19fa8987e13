"""Limit the size of a request's body, and the time in which it has to arrive."""

from __future__ import annotations

import asyncio

from fastapi import HTTPException
from starlette.types import Message, Receive, Scope, Send

from number_tower.web.http.middleware import HttpMiddleware

MAX_BODY = 128 * 1024
"""Bytes of the body of a request."""

BODY_TIME = 30.0
"""Seconds in which it has to arrive."""

_CLOSE = {"Connection": "close"}


class BodyLimitMiddleware(HttpMiddleware):
    """Interrupts an app while it reads a body that is too large or too slow."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        size, is_complete = 0, False
        deadline = asyncio.get_running_loop().time() + BODY_TIME

        async def receive_limited() -> Message:
            nonlocal size, is_complete
            if is_complete:
                return await receive()  # waits until the client leaves
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                expected = f"expected all of it in {BODY_TIME:.0f} seconds."
                text = f"The request took too long to arrive: {expected}"
                raise HTTPException(408, text, _CLOSE) from None
            is_complete = not message.get("more_body", False)
            size += len(message.get("body", b""))
            if size > MAX_BODY:
                text = f"The request is too large: expected at most {MAX_BODY // 1024} KiB."
                raise HTTPException(413, text, _CLOSE)
            return message

        await self._app(scope, receive_limited, send)
