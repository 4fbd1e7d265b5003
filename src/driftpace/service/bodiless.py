"""HEAD: what GET would answer, without the body; where that is long, none of it is made."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_FOUND = ("endpoint", "path_params", "route", "router")


class Bodiless:
    """Answers HEAD as the routes answer GET, and ends a body that goes on, such as a stream, where it would begin."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a GET take the place of a HEAD."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        got = {**scope, "method": "GET"}
        over = False

        async def sending(message: Message) -> None:
            nonlocal over
            if over:
                return
            if message["type"] != "http.response.body":
                await send(message)
                return
            over = True
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            if message.get("more_body", False):
                raise _EnoughError

        try:
            await self._app(got, receive, sending)
        except _EnoughError:
            pass
        finally:
            scope.update({name: got[name] for name in _FOUND if name in got})  # the log names the route


class _EnoughError(Exception):
    """Nothing more is wanted of a body that goes on."""
