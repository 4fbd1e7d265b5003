"""One whole exchange with Label Studio, in which the same steps are taken with the real server and with what was recorded of it."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from driftpace.labelling import ImportResult, LabelledRows, LabelStudio, labelling_config, to_tasks

RECORDED = Path(__file__).with_name("recorded")
LEGACY = "0123456789abcdef0123456789abcdef01234567"
PERSONAL = "personal.access.token"
SECRET = "a-secret-for-the-webhook"
HOOK = "http://127.0.0.1:9/hook"
ROWS: dict[str, list[Any]] = {
    "id": ["a", "b", "c", "d", "e", "f", "g"],
    "age": [41, 30, 31, None, 33, 34, 35],
    "city of birth": ["Rome <&>", "Oslo", None, "Lima", "Rome", "Oslo", "Lima"],
}
IDS = [f"row-{place}" for place in range(7)]


class Recorder(httpx.BaseTransport):
    """Hands requests on to the server and keeps what was said, without tokens and ports."""

    def __init__(self) -> None:
        self.said: list[dict[str, Any]] = []
        self._inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        asked = request.read()
        answer = self._inner.handle_request(request)
        content = answer.read()
        self.said.append(
            {
                "method": request.method,
                "path": request.url.path,
                "query": dict(request.url.params),
                "sign": request.headers.get("authorization", " ").split(" ")[0],
                "body": json.loads(cleaned(asked.decode())) if asked else None,
                "code": answer.status_code,
                "answer": cleaned(content.decode()),
            }
        )
        headers = {
            name: value for name, value in answer.headers.items() if name.lower() in ("content-type", "location")
        }
        return httpx.Response(answer.status_code, headers=headers, content=content)

    def close(self) -> None:
        self._inner.close()


def cleaned(text: str) -> str:
    """Return what was said without what is secret or belongs to one machine."""
    text = re.sub(r"eyJ[\w-]+\.[\w-]+\.[\w-]+", PERSONAL, text)
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:9", text)
    return re.sub(r'("token": ?)"[A-Za-z0-9]{40}"', r'\1"..."', text)


def replay(name: str) -> httpx.MockTransport:
    """Return a transport that answers as was recorded, and insists on the same questions in the same order."""
    recorded = iter(json.loads((RECORDED / name).read_text()))

    def answer(request: httpx.Request) -> httpx.Response:
        expected = next(recorded)
        asked = request.read()
        assert (request.method, request.url.path) == (expected["method"], expected["path"])
        assert dict(request.url.params) == expected["query"]
        assert request.headers.get("authorization", " ").split(" ")[0] == expected["sign"]
        assert (json.loads(asked) if asked else None) == expected["body"]
        return httpx.Response(expected["code"], text=expected["answer"], headers={"content-type": "application/json"})

    return httpx.MockTransport(answer)


@dataclass
class Outcome:
    """What the steps of an exchange gave."""

    project: int = 0
    imported: list[ImportResult] = field(default_factory=list)
    hooks: list[int] = field(default_factory=list)
    first: LabelledRows | None = None
    second: LabelledRows | None = None
    third: LabelledRows | None = None
    most: LabelledRows | None = None
    with_personal_token: LabelledRows | None = None
    prices: LabelledRows | None = None
    exports: dict[str, str] = field(default_factory=dict)


def exchange(url: str, transport: httpx.BaseTransport, hook: str, personal: Callable[[httpx.Client], str]) -> Outcome:
    """Go through it: a project, its tasks twice, a webhook, people who label, three polls, exports, and the other token."""
    outcome = Outcome()
    people = httpx.Client(base_url=url, transport=transport, headers={"Authorization": f"Token {LEGACY}"}, timeout=60)
    studio = LabelStudio(url, LEGACY, transport=transport, timeout=60)
    project = outcome.project = studio.create_project("churn", labelling_config("churned", classes=["no", "yes <&>"]))
    tasks = to_tasks(ROWS, IDS, campaign="churn", period=3, order="o-1")
    outcome.imported = [studio.import_tasks(project, tasks[:5], batch=2), studio.import_tasks(project, tasks)]
    outcome.hooks = [studio.register_webhook(project, hook, SECRET) for _ in range(2)]
    places = [task["id"] for task in people.get("/api/tasks", params={"project": project}).json()["tasks"]]

    def say(task: int, result: list[dict[str, Any]], **more: Any) -> int:
        answer = people.post(f"/api/tasks/{task}/annotations/", json={"result": result, **more})
        assert answer.status_code == 201
        number: int = answer.json()["id"]
        return number

    changed = say(places[0], _choice("yes <&>"))
    say(places[1], [], was_cancelled=True)
    say(places[2], [])
    for word in ("no", "no", "yes <&>"):
        say(places[3], _choice(word))
    outcome.first = studio.labelled(project, target="churned")
    say(places[4], _choice("no"))
    outcome.second = studio.labelled(project, target="churned", since=outcome.first.until)
    assert people.patch(f"/api/annotations/{changed}/", json={"result": _choice("no")}).status_code == 200
    outcome.third = studio.labelled(project, target="churned", since=outcome.second.until)
    outcome.most = studio.labelled(project, several="majority")
    for kind in ("JSON", "JSON_MIN", "CSV"):
        outcome.exports[kind] = people.get(f"/api/projects/{project}/export", params={"exportType": kind}).text
    with LabelStudio(url, personal(people), transport=transport, timeout=60) as other:
        outcome.with_personal_token = other.labelled(project, target="churned")
    prices = studio.create_project("prices", labelling_config("price of it"))
    studio.import_tasks(prices, to_tasks({"text": ["an old chair"]}, ["chair"]))
    (chair,) = people.get("/api/tasks", params={"project": prices}).json()["tasks"]
    say(chair["id"], [{"from_name": "price of it", "to_name": "row", "type": "number", "value": {"number": 3.5}}])
    outcome.prices = studio.labelled(prices, target="price of it")
    return outcome


def _choice(word: str) -> list[dict[str, Any]]:
    return [{"from_name": "churned", "to_name": "row", "type": "choices", "value": {"choices": [word]}}]
