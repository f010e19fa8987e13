from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.web.errors import RefusedRequest, render_plain, send_refusal
from number_tower.web.limits import MAX_BODY

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from number_tower.web.errors import RefusalRenderer


class BodyLimitMiddleware:
    """Refuses more than anybody needs to send, as soon as that is known."""

    def __init__(self, app: ASGIApp, most: int = MAX_BODY, telling: RefusalRenderer = render_plain) -> None:
        self._app = app
        self._most = most
        self._telling = telling
        words = f"The request is too large: expected at most {most // 1024} KiB."
        self._refusal = RefusedRequest(413, "too_large", words, {"Connection": "close"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass whose body is small; where its length is not said, count while it comes."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        for name, value in scope["headers"]:
            if name == b"transfer-encoding":
                await self._limit_chunks(scope, receive, send)
                return
            if name == b"content-length" and not (value.isdigit() and len(value) < 20 and int(value) <= self._most):
                await send_refusal(self._telling, self._refusal, scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _limit_chunks(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hang up on the app once a body is too large, and answer in its stead, unless it has begun to."""
        size, begun = 0, False

        async def received() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            return {"type": "http.disconnect"} if size > self._most else message

        async def sent(message: Message) -> None:
            nonlocal begun
            if begun or size <= self._most:
                begun = True
                await send(message)

        try:
            await self._app(scope, received, sent)
        except Exception:
            if begun or size <= self._most:
                raise
        if not begun and size > self._most:
            await send_refusal(self._telling, self._refusal, scope, receive, send)
