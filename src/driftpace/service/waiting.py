"""Work that somebody waits for: where they leave before it has begun, it is given up, and its place is free."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive

from driftpace.service.lanes import Lane

Answer = TypeVar("Answer")


async def while_waited_for(request: Request, lane: Lane, function: Callable[[], Answer]) -> Answer:
    """Return what a function returns, computed in a lane; raise ClientDisconnect as soon as the client has gone.

    It is for what changes nothing, such as a plan: what has begun goes on in its thread to its end, for nobody.
    """
    work = asyncio.ensure_future(lane.run(function))
    leaving = asyncio.ensure_future(_left(request.receive))
    try:
        await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        leaving.result()  # a body that came too slowly is refused as everywhere
        raise ClientDisconnect
    finally:
        work.cancel()
        leaving.cancel()
        await asyncio.gather(work, leaving, return_exceptions=True)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
