"""Reject requests with a large body."""

from __future__ import annotations

from starlette.types import Message, Receive, Scope, Send

from number_tower.web.errors import Problem, send_problem
from number_tower.web.limits import MAX_BODY
from number_tower.web.middleware import HttpMiddleware

_TOO_LARGE = Problem(
    413,
    "too_large",
    f"The request is too large: expected at most {MAX_BODY // 1024} KiB.",
    headers={"Connection": "close"},
)


class BodyLimitMiddleware(HttpMiddleware):
    """Rejects requests whose body has more than `MAX_BODY` bytes, as soon as that is known."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the length of the body; count the bytes if the length is not given."""
        for name, value in scope["headers"]:
            if name == b"transfer-encoding":
                await self._limit_chunks(scope, receive, send)
                return
            if name == b"content-length" and not (
                value.isdigit() and len(value) < 20 and int(value) <= MAX_BODY
            ):
                await send_problem(_TOO_LARGE, scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _limit_chunks(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Disconnect the app once a body is too large, and answer instead of it, unless it has begun to."""
        size, has_begun = 0, False

        async def count_received() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            return {"type": "http.disconnect"} if size > MAX_BODY else message

        async def send_if_allowed(message: Message) -> None:
            nonlocal has_begun
            if has_begun or size <= MAX_BODY:
                has_begun = True
                await send(message)

        try:
            await self._app(scope, count_received, send_if_allowed)
        except Exception:
            if has_begun or size <= MAX_BODY:
                raise
        if not has_begun and size > MAX_BODY:
            await send_problem(_TOO_LARGE, scope, receive, send)
