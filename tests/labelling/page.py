"""What docs/labelling.md needs and does not show: a pool, people who label, and a server, recorded or real."""

from collections.abc import Iterable
from typing import Any

import httpx

from tests.labelling.exchange import LEGACY, replay

SECRET = "a-secret-for-the-webhook"
_CITIES = ("Rome", "Oslo", "Lima", "Rome", "Oslo")
POOL = "\n".join(
    ["customer,age,visits,city", *(f"c{at:02},{23 + at % 37},{at * 7 % 11},{_CITIES[at % 5]}" for at in range(60)), ""]
).encode()

# The address of a real server and the way to it, while a test has one.
_real: tuple[str, httpx.BaseTransport] | None = None
_transport: httpx.BaseTransport | None = None


def begin() -> tuple[httpx.BaseTransport, str, str]:
    """Return what the page talks through, to which address, with which token."""
    global _transport
    url, _transport = _real or ("http://127.0.0.1:9", replay("page.json"))
    return _transport, url, LEGACY


def people_label(project: int, places: Iterable[int]) -> None:
    """Label some tasks of a project: who is older than forty stays; skip the sixth."""
    assert _transport is not None
    url = _real[0] if _real else "http://127.0.0.1:9"
    client = httpx.Client(base_url=url, transport=_transport, headers={"Authorization": f"Token {LEGACY}"}, timeout=60)
    tasks = client.get("/api/tasks", params={"project": project}).json()["tasks"]
    for place in places:
        task = tasks[place]
        word = "no" if task["data"]["age"] > 40 else "yes"
        _say(
            client, task, [{"from_name": "churned", "to_name": "row", "type": "choices", "value": {"choices": [word]}}]
        )
    if 5 not in places:
        _say(client, tasks[5], [], was_cancelled=True)


def _say(client: httpx.Client, task: dict[str, Any], result: list[dict[str, Any]], **more: Any) -> None:
    answer = client.post(f"/api/tasks/{task['id']}/annotations/", json={"result": result, **more})
    assert answer.status_code == 201
