"""Rows go to Label Studio as tasks and come back as a delivery, each once; the server here answers as the real one does."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.cli.loop import Run, content

SECRET = "a-token-that-nobody-may-see"


class Studio(BaseHTTPRequestHandler):
    """A project with number 7, in memory."""

    tasks: list[dict[str, Any]]

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        only = "total_annotations" in query.get("query", [""])[0]
        selected = [task for task in self.tasks if task["annotations"] or not only]
        self._answer({"tasks": selected, "total": len(selected)})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        for task in body:
            self.tasks.append({**task, "id": len(self.tasks) + 1, "annotations": []})
        self._answer({"task_count": len(body)})

    def _answer(self, value: Any) -> None:
        assert self.headers["Authorization"] == f"Token {SECRET}"
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def studio(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", SECRET)
    Studio.tasks = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Studio)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", Studio.tasks
    server.shutdown()
    server.server_close()
    thread.join()


def answer(tasks: list[dict[str, Any]]) -> None:
    """Label tasks as people do."""
    for task in tasks:
        word = "yes" if task["data"]["age"] > 45 else "no"
        result = [{"from_name": "churned", "type": "choices", "value": {"choices": [word]}}]
        task["annotations"] = [{"id": task["id"], "result": result, "updated_at": "2026-11-02T10:00:00Z"}]


def test_the_whole_way_there_and_back(churn: Path, run: Run, studio: tuple[str, list[dict[str, Any]]]) -> None:
    url, tasks = studio
    ask = ("ask", "churn", "--key", "W1", "--select", "pool.csv", "--label-studio", url, "--project", "7")
    code, out, err = run(*ask)
    assert (code, err) == (0, "")
    assert f"Tasks      12 created in project 7 of {url}" in out
    assert len(tasks) == 12
    assert tasks[0]["meta"]["driftpace"]["period"] == 1
    assert "Tasks      0 created in project 7" in run(*ask)[1]
    assert len(tasks) == 12

    poll = ("tell", "churn", "--label-studio", url, "--project", "7", "--part")
    before = content()
    code, out, err = run(*poll)
    assert (code, err) == (0, "")
    assert out.startswith(
        "churn: Nothing new in Label Studio, project 7: period 1 (W1) is missing 12 rows.\n"
        "Next       Label 12 rows for period 1 (W1).\n"
    )
    assert content() == before
    answer(tasks[:5])
    assert run(*poll)[1].startswith("churn: Added 5 rows to period 1 (W1).\n")
    assert "was already added" in run(*poll)[1]
    answer(tasks)
    assert run(*poll)[1].startswith("churn: Added 7 rows to period 1 (W1); skipped 5 already delivered.\n")


def test_labels_of_a_closed_period_arrive_late(churn: Path, run: Run, studio: tuple[str, list[dict[str, Any]]]) -> None:
    url, tasks = studio
    poll = ("tell", "churn", "--label-studio", url, "--project", "7")
    run("ask", "churn", "--key", "W1", "--select", "pool.csv", "--label-studio", url, "--project", "7")
    answer(tasks[:9])
    assert "Added 9 rows to period 1 (W1)" in run(*poll, "--close")[1]
    answer(tasks)
    out = run(*poll)[1]
    assert out.startswith("churn: 3 rows for period 1 (W1) arrived late"), out
    assert "Revised" in out
    assert run(*poll)[0] == 0
    assert "arrived late" not in run(*poll)[1]


def test_who_looks_in_every_hour_is_not_refused_for_it(
    churn: Path, run: Run, studio: tuple[str, list[dict[str, Any]]]
) -> None:
    url, tasks = studio
    poll = ("tell", "churn", "--label-studio", url, "--project", "7")
    code, out, err = run(*poll)
    assert (code, out) == (2, "")
    assert err == "driftpace: tell needs an open period: run driftpace ask NAME first, for period 1.\n"
    run("ask", "churn", "--key", "W1", "--select", "pool.csv", "--label-studio", url, "--project", "7")

    code, out, err = run(*poll, "--format", "json")
    assert (code, err) == (0, "")
    receipt = json.loads(out)
    assert [
        receipt[name] for name in ("rows", "repeated", "unlabelled", "other_period_rows", "duplicate", "report")
    ] == [
        0,
        0,
        0,
        0,
        None,
        None,
    ]
    assert receipt["order"] == json.loads(run("ask", "churn", "--format", "json")[1])

    answer(tasks[:3])
    run(*poll)
    code, out, err = run(*poll)
    assert (code, err) == (0, "")
    assert "Label 9 more rows for period 1 (W1); 3 of 12 received." in out

    answer(tasks[:8])
    assert run(*poll, "--close")[1].startswith("churn: Added 5 rows to period 1 (W1); skipped 3 already delivered")
    before = content()
    for more in ((), ("--key", "W1")):
        assert run(*poll, *more) == (
            0,
            "churn: Nothing new in Label Studio, project 7: period 1 (W1) is closed.\n",
            "",
        )
    code, out, err = run(*poll, "--key", "W9")
    assert (code, out) == (2, "")
    assert err == "driftpace: there is no period with the key 'W9'; period 2 is not open yet.\n"
    assert content() == before


def test_tasks_may_go_to_a_file(churn: Path, run: Run) -> None:
    code, out, _ = run("ask", "churn", "--select", "pool.csv", "--out", "tasks.json", "--as", "label-studio")
    assert code == 0
    assert "Written    tasks.json, 12 tasks to import into Label Studio" in out
    tasks = json.loads(Path("tasks.json").read_text())
    assert {"age", "visits", "plan", "driftpace_id", "driftpace_shown"} <= tasks[0]["data"].keys()
    export = [{**task, "id": place, "annotations": []} for place, task in enumerate(tasks)]
    answer(export)
    Path("export.json").write_text(json.dumps(export))
    assert run("tell", "churn", "export.json")[1].startswith("churn: Added 12 rows to period 1")


@pytest.mark.parametrize(
    ("url", "token", "sentence"),
    [
        ("http://127.0.0.1:9", "", "LABEL_STUDIO_API_KEY must hold your access token"),
        ("nowhere", SECRET, "--label-studio must be an address such as http://127.0.0.1:8080; got 'nowhere'."),
        ("http://a:b@127.0.0.1:9", SECRET, "--label-studio must not contain a user name or password"),
    ],
)
def test_refusals_come_before_anything_is_drawn(
    churn: Path, run: Run, monkeypatch: pytest.MonkeyPatch, url: str, token: str, sentence: str
) -> None:
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", token)
    before = content()
    code, out, err = run("ask", "churn", "--select", "pool.csv", "--label-studio", url, "--project", "7")
    assert (code, out) == (2, "")
    assert err.startswith(f"driftpace: {sentence}")
    assert SECRET not in err
    assert content() == before
