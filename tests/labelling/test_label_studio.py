"""A server that is away, slow, rude, strange or forgetful: one sentence each, nothing sent twice, and no token anywhere."""

import json
import logging
import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from driftpace.errors import MissingExtraError, ParameterError
from driftpace.labelling import ImportResult, LabellingError, LabelStudio, UnavailableError, to_tasks

_TOKEN = "f0e1d2c3b4a5968778695a4b3c2d1e0ff0e1d2c3"
_JWT = "eyJhbGciOiJIUzI1NiJ9.eyJ1c2VyX2lkIjoiMSJ9.c2lnbmF0dXJl"
_NO_TASKS = {"tasks": [], "total": 0}

Answer = Callable[[httpx.Request], httpx.Response]


def _studio(answer: Answer, *, token: str = _TOKEN, pauses: list[float] | None = None, **more: Any) -> LabelStudio:
    waited = [] if pauses is None else pauses
    return LabelStudio(
        "http://labels.example:8080/base/", token, transport=httpx.MockTransport(answer), pause=waited.append, **more
    )


def _saying(code: int, content: Any = b"", **headers: str) -> Answer:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return lambda request: httpx.Response(code, content=body, headers=headers)


def _failing(error: Exception) -> Answer:
    def fail(request: httpx.Request) -> httpx.Response:
        raise error

    return fail


_TROUBLE: dict[str, tuple[Answer, str]] = {
    "no server": (_failing(httpx.ConnectError("Connection refused")), r"must be reachable; Connection refused"),
    "no words": (_failing(httpx.ReadError("")), r"must be reachable; ReadError"),
    "a bad certificate": (
        _failing(ssl.SSLError(1, "certificate expired")),
        r"must be reachable; .*certificate expired",
    ),
    "silence": (_failing(httpx.ReadTimeout("")), r"must answer in time; it did not: try again, or raise timeout="),
    "401": (_saying(401, {"detail": "Invalid token."}), r"must accept the token; it answers 401: Invalid token"),
    "403": (_saying(403, {"detail": "Not for you."}), r"must accept the token; it answers 403: Not for you"),
    "404": (_saying(404, b"<html>"), r"must have /api/tasks; it answers 404: no reason given"),
    "400": (
        _saying(400, {"validation_errors": {"a": ["odd"]}}),
        r'must accept GET /api/tasks; it answers 400: {"a": \["odd"\]}',
    ),
    "500": (_saying(500, b"<html>"), r"must be available; it answers 500 to GET /api/tasks"),
    "503": (_saying(503), r"must be available; it answers 503"),
    "a redirect": (
        _saying(301, location="https://evil.example/x?y"),
        r"it redirects to https://evil.example: use that",
    ),
    "a redirect to a page": (_saying(302, location="/user/login/"), r"itself; it redirects to another page"),
    "a page": (_saying(200, b"<html>hello</html>"), r"must answer GET /api/tasks with JSON; it did not: check that"),
    "nesting": (_saying(200, b"[" * 100_000), r"with JSON; it did not"),
    "another list": (_saying(200, [1, 2]), r"must answer with a list of tasks; it did not"),
    "no total": (_saying(200, {"tasks": [{"id": 1}]}), r"must answer with the total of a list of tasks; it did not"),
}


@pytest.mark.parametrize("token", [_TOKEN, _JWT], ids=["legacy", "personal"])
@pytest.mark.parametrize("trouble", _TROUBLE)
def test_every_trouble_is_one_sentence_without_the_token(
    trouble: str, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer, why = _TROUBLE[trouble]

    def served(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/token/refresh/"):
            return httpx.Response(200, json={"access": "short-lived"})
        return answer(request)

    with caplog.at_level(logging.DEBUG), pytest.raises(LabellingError, match=why) as refused:
        _studio(served, token=token).task_ids(1)
    sentence = str(refused.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    for text in (sentence, caplog.text):
        assert token not in text
        assert "short-lived" not in text
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("token", [_TOKEN, _JWT], ids=["legacy", "personal"])
def test_a_server_that_repeats_the_token_is_not_quoted(token: str) -> None:
    answer_body = {"detail": f"what is {token} and what is short-lived?"}
    for answer in (
        _saying(401, answer_body),
        _saying(400, answer_body),
        _failing(httpx.ConnectError(f"at {token}, short-lived")),
    ):

        def served(request: httpx.Request, answer: Answer = answer) -> httpx.Response:
            refresh = request.url.path.endswith("/token/refresh/")
            return httpx.Response(200, json={"access": "short-lived"}) if refresh else answer(request)

        with pytest.raises(LabellingError, match=r"\[token\]") as refused:
            _studio(served, token=token).task_ids(1)
        assert token not in str(refused.value)
        assert token == _TOKEN or "short-lived" not in str(refused.value)


def test_the_token_is_in_no_repr() -> None:
    for token in (_TOKEN, _JWT):
        studio = _studio(_saying(200, _NO_TASKS), token=token)
        assert repr(studio) == "LabelStudio('http://labels.example:8080/base')"
        assert token not in repr(vars(studio))


def test_what_changes_nothing_is_asked_again_with_growing_pauses() -> None:
    pauses: list[float] = []
    answers = iter([httpx.Response(503), httpx.Response(429), httpx.Response(200, json=_NO_TASKS)])
    assert _studio(lambda request: next(answers), pauses=pauses).task_ids(1) == set()
    assert pauses == [0.5, 1.0]
    asked: list[str] = []

    def busy(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(503)

    with pytest.raises(UnavailableError):
        _studio(busy, retries=3).task_ids(1)
    assert len(asked) == 4


def test_what_is_sent_is_not_sent_again_blindly() -> None:
    asked: list[str] = []

    def lost(request: httpx.Request) -> httpx.Response:
        asked.append(request.method)
        raise httpx.ReadTimeout("")

    with pytest.raises(UnavailableError):
        _studio(lost).create_project("churn", "<View/>")
    assert asked == ["POST"]


class _Forgetful:
    """A server that takes tasks and fails to say so, every time but the last."""

    def __init__(self, failures: int, *, keeps: bool) -> None:
        self.tasks: list[dict[str, Any]] = []
        self.failures, self.keeps, self.batches = failures, keeps, list[int]()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            page = int(request.url.params["page"])
            some = self.tasks[100 * (page - 1) : 100 * page]
            return httpx.Response(200, json={"tasks": some, "total": len(self.tasks)})
        sent = json.loads(request.content)
        failing = self.failures > 0
        self.failures -= 1
        if self.keeps or not failing:
            self.batches.append(len(sent))
            self.tasks += [{"id": len(self.tasks) + place, **task} for place, task in enumerate(sent)]
        if failing:
            raise httpx.ReadTimeout("")
        return httpx.Response(201, json={"task_count": len(sent)})


@pytest.mark.parametrize("keeps", [True, False], ids=["arrived", "did not arrive"])
def test_tasks_are_created_once_though_the_server_does_not_say_so(keeps: bool) -> None:
    server = _Forgetful(3, keeps=keeps)
    tasks = to_tasks({"x": list(range(330))}, [f"r{place}" for place in range(330)])
    studio = _studio(server)
    assert studio.import_tasks(7, tasks, batch=100) == ImportResult(created=330, already=0)
    ids = [task["data"]["driftpace_id"] for task in server.tasks]
    assert len(ids) == len(set(ids)) == 330
    assert max(server.batches) <= 100
    assert studio.import_tasks(7, tasks) == ImportResult(created=0, already=330)
    assert len(server.tasks) == 330


def test_a_server_that_never_confirms_is_given_up() -> None:
    with pytest.raises(UnavailableError, match="must answer in time"):
        _studio(_Forgetful(100, keeps=False), retries=2).import_tasks(7, to_tasks({"x": [1]}, ["r"]))


def test_a_personal_token_is_exchanged_once_and_again_when_it_has_expired() -> None:
    signs: list[str] = []
    given = iter(["first", "second", "third"])
    valid = {"now": ""}

    def served(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/base/api/token/refresh/":
            assert json.loads(request.content) == {"refresh": _JWT}
            assert "authorization" not in request.headers
            valid["now"] = next(given)
            return httpx.Response(200, json={"access": valid["now"]})
        signs.append(request.headers["authorization"])
        known = request.headers["authorization"] == f"Bearer {valid['now']}"
        return httpx.Response(200, json=_NO_TASKS) if known else httpx.Response(401, json={"detail": "expired"})

    studio = _studio(served, token=_JWT)
    studio.task_ids(1)
    studio.task_ids(1)
    assert signs == ["Bearer first"] * 2
    valid["now"] = "changed"
    studio.task_ids(1)
    assert signs[2:] == ["Bearer first", "Bearer second"]


def test_a_token_that_is_never_accepted_is_not_asked_for_without_end() -> None:
    asked: list[str] = []

    def served(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        refresh = request.url.path.endswith("/token/refresh/")
        return httpx.Response(200, json={"access": "some"}) if refresh else httpx.Response(401, json={"detail": "no"})

    with pytest.raises(LabellingError, match="must accept the token"):
        _studio(served, token=_JWT).task_ids(1)
    assert len(asked) == 4
    with pytest.raises(LabellingError, match="must exchange the token for a short-lived one; it did not"):
        _studio(_saying(200, {"access": 3}), token=_JWT).task_ids(1)


def test_an_answer_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftpace.labelling.rest_client._LARGEST_ANSWER", 1000)
    with pytest.raises(LabellingError, match="must answer with at most 1,000 bytes; got more"):
        _studio(_saying(200, b"1" * 2000)).task_ids(1)
    monkeypatch.undo()
    monkeypatch.setattr("driftpace.labelling.rest_client._PATIENCE", 0)
    with pytest.raises(UnavailableError, match="must answer in time; the response is too slow"):
        _studio(_saying(200, b"1" * 2000), retries=0).task_ids(1)


def test_a_list_shorter_than_its_stated_length_ends() -> None:
    asked: list[str] = []

    def served(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params["page"])
        return httpx.Response(200, json={"tasks": [{"id": 1, "data": {"driftpace_id": "r"}}], "total": 10**9})

    assert _studio(served).task_ids(1) == {("", "r")}
    assert asked == ["1", "2"]


def test_a_poll_asks_for_what_changed_since() -> None:
    asked: list[httpx.Request] = []

    def served(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json=_NO_TASKS)

    studio = _studio(served)
    moment = datetime(2026, 11, 15, 12, 0, 0, 5, tzinfo=UTC)
    result = studio.labelled(4, since=moment)
    assert (result.rows, result.until) == ((), "2026-11-15T12:00:00.000005Z")
    assert studio.labelled(4, since="2026-11-15T13:00:00.000005+01:00").until == result.until
    assert studio.labelled(4).until is None
    items = [json.loads(request.url.params["query"])["filters"]["items"] for request in asked]
    assert items[0] == items[1]
    assert items[0][1]["value"] == result.until
    assert len(items[2]) == 1


def test_parameters_are_checked() -> None:
    for url in (
        "ftp://a",
        "a",
        "http://",
        "http://a b",
        "http://a:0",
        "http://a:x",
        "http://a?x=1",
        "http://a#x",
        "http://\n",
        3,
    ):
        with pytest.raises(
            ParameterError, match=r"LabelStudio\(url=...\) must be an address such as http://127.0.0.1:8080"
        ):
            LabelStudio(url, _TOKEN)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="must not contain a user name or password") as refused:
        LabelStudio("http://me:hidden@a", _TOKEN)
    assert "hidden" not in str(refused.value)
    for token in ("", "  ", "a\nb", "ä" * 40, None):
        with pytest.raises(ParameterError, match=r"LabelStudio\(token=...\) must be the access token of an account"):
            LabelStudio("http://a", token)  # type: ignore[arg-type]
    studio = _studio(_saying(200, _NO_TASKS))
    with pytest.raises(
        ParameterError, match=r"create_project\(title=...\) must be a text of 3 to 50 characters; got 'ab'"
    ):
        studio.create_project("ab", "<View/>")
    with pytest.raises(ParameterError, match="must be tasks with driftpace_id in their data"):
        studio.import_tasks(1, [{"data": {}}])
    with pytest.raises(ParameterError, match="must be tasks of different driftpace ids; got one twice"):
        studio.import_tasks(1, to_tasks({"x": [1, 2]}, ["r", "r"]))
    with pytest.raises(ParameterError, match=r"must be a whole number of at least 1; got 0"):
        studio.task_ids(0)
    with pytest.raises(ParameterError, match="must be a time in ISO 8601; got 'yesterday'"):
        studio.labelled(1, since="yesterday")
    with pytest.raises(ParameterError, match="must have a time zone; got 2026-11-15T00:00:00"):
        studio.labelled(1, since="2026-11-15")
    with pytest.raises(ParameterError, match="the secret of a webhook must be 16 or more plain characters"):
        studio.register_webhook(1, "http://a", "short")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r'LabelStudio needs httpx: pip install "driftpace\[labelling\]"'):
        LabelStudio("http://a", _TOKEN)


def test_a_row_drawn_again_in_a_later_period_is_a_separate_task() -> None:
    made: list[Any] = []
    old = to_tasks({"x": [1]}, ["r"], campaign="churn", period=1)
    new = to_tasks({"x": [1]}, ["r"], campaign="churn", period=2)

    def served(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            made.extend(json.loads(request.read()))
            return httpx.Response(201, json={})
        return httpx.Response(200, json={"tasks": [{"id": 1, **old[0]}], "total": 1})

    assert _studio(served).import_tasks(1, [*old, *new]) == ImportResult(created=1, already=1)
    assert made == new
