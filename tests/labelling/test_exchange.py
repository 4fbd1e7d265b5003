"""From an order to tasks to a delivery: with what was recorded of Label Studio always, with the server itself where there is one.

DRIFTPACE_LABEL_STUDIO names the executable of a Label Studio installation (1.23 was recorded); with DRIFTPACE_RECORD as well,
what is said is recorded anew.
"""

import doctest
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from driftpace.labelling import ImportResult, LabellingError, LabelStudio, from_export, labelling_config, parse_webhook
from driftpace.tables import read_columns
from tests.labelling import exchange as steps
from tests.labelling import page
from tests.labelling.exchange import (
    HOOK,
    IDS,
    LEGACY,
    RECORDED,
    ROWS,
    SECRET,
    Outcome,
    Recorder,
    cleaned,
    exchange,
    replay,
)
from tests.labelling.server import Listener, label_studio

_ROOT = Path(__file__).parents[2]
_EXECUTABLE = os.environ.get("DRIFTPACE_LABEL_STUDIO")


def _row(place: int, answer: str) -> dict[str, Any]:
    row = {name: values[place] for name, values in ROWS.items()}
    return {**row, "churned": answer, "driftpace_id": IDS[place], "driftpace_for": "churn/3"}


def _check(outcome: Outcome) -> None:
    assert outcome.imported == [ImportResult(created=5, already=0), ImportResult(created=2, already=5)]
    assert outcome.hooks[0] == outcome.hooks[1]
    assert outcome.first is not None
    assert outcome.second is not None
    assert outcome.third is not None
    assert outcome.most is not None
    assert list(outcome.first.rows) == [_row(0, "yes <&>"), _row(3, "yes <&>")], (
        "cancelled and empty ones are no deliveries"
    )
    assert _row(4, "no") in outcome.second.rows
    assert _row(0, "yes <&>") not in outcome.second.rows, "only what changed since comes again"
    assert _row(0, "no") in outcome.third.rows
    assert outcome.most.rows[1]["churned"] == "no", "two of three said so"
    assert outcome.first.until is not None
    assert outcome.second.until is not None
    assert outcome.third.until is not None
    assert outcome.first.until < outcome.second.until < outcome.third.until
    in_the_end = [_row(0, "no"), _row(3, "yes <&>"), _row(4, "no")]
    assert outcome.with_personal_token is not None
    assert list(outcome.with_personal_token.rows) == in_the_end
    assert outcome.prices is not None
    assert outcome.prices.rows == ({"text": "an old chair", "price of it": 3.5, "driftpace_id": "chair"},)
    _check_exports(outcome.exports, in_the_end)


def _check_exports(exports: dict[str, str], rows: list[dict[str, Any]]) -> None:
    assert from_export(json.loads(exports["JSON"]), target="churned") == rows
    for kind, content in exports.items():
        columns = read_columns(content.encode(), target="churned", as_text=["id"])
        order = columns["driftpace_id"].values.tolist()
        assert sorted(order) == [row["driftpace_id"] for row in rows], kind
        reported = dict(zip(order, columns["churned"].values, strict=True))
        assert reported == {row["driftpace_id"]: row["churned"] for row in rows}
        ages = dict(zip(order, columns["age"].values.tolist(), strict=True))
        assert ages[IDS[0]] == 41
        assert columns["age"].missing[order.index(IDS[3])]
        cities = dict(zip(order, columns["city of birth"].values, strict=True))
        assert cities == {row["driftpace_id"]: row["city of birth"] for row in rows}
        assert "driftpace_shown" not in columns


def _check_calls(calls: list[tuple[dict[str, str], bytes]]) -> None:
    """Each annotation was called out: seven made, one of them changed; those that say nothing deliver nothing."""
    read = [parse_webhook(body, headers, SECRET, target="churned") for headers, body in calls]
    assert [call.action for call in read] == ["ANNOTATION_CREATED"] * 7 + ["ANNOTATION_UPDATED"]
    reported = [[(row["driftpace_id"], row["churned"]) for row in call.rows] for call in read]
    assert reported[0] == [(IDS[0], "yes <&>")]
    assert reported[1] == reported[2] == []
    assert reported[3:6] == [[(IDS[3], "no")], [(IDS[3], "no")], [(IDS[3], "yes <&>")]]
    assert reported[6:] == [[(IDS[4], "no")], [(IDS[0], "no")]]


def test_the_whole_exchange_as_recorded() -> None:
    _check(exchange("http://127.0.0.1:9", replay("exchange.json"), HOOK, lambda people: steps.PERSONAL))


def test_webhook_calls_as_recorded() -> None:
    recorded = json.loads((RECORDED / "webhooks.json").read_text())
    _check_calls([(call["headers"], call["body"].encode()) for call in recorded])


def test_refusals_as_recorded() -> None:
    _check_refusals("http://127.0.0.1:9", replay("refusals.json"))


def _check_refusals(url: str, transport: httpx.BaseTransport) -> None:
    stranger = LabelStudio(url, "f" * 40, transport=transport)
    with pytest.raises(LabellingError, match=r"must accept the token; it answers 401: Invalid token\.$"):
        stranger.task_ids(1)
    forged = LabelStudio(url, "a.b.c", transport=transport)
    with pytest.raises(LabellingError, match=r"must accept the token; it answers 401: Token is invalid\.$"):
        forged.task_ids(1)
    studio = LabelStudio(url, LEGACY, transport=transport)
    with pytest.raises(
        LabellingError, match=r"must have /api/tasks; it answers 404: No Project matches the given query\.$"
    ):
        studio.task_ids(99_999)
    with pytest.raises(LabellingError, match=r"must accept POST /api/projects/; it answers 400: .*label_config"):
        studio.create_project("churn", "<View><Choices name='a' toName='nowhere'/></View>")


def test_what_is_recorded_holds_no_secret() -> None:
    files = sorted(RECORDED.iterdir())
    assert [file.name for file in files] == [
        "exchange.json",
        "export.csv",
        "export.json",
        "export_min.json",
        "page.json",
        "refusals.json",
        "webhooks.json",
    ]
    for file in files:
        text = file.read_text()
        assert cleaned(text) == text
        assert LEGACY not in text
        assert "eyJ" not in text


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real server; whoever needs it is skipped where there is none."""
    if _EXECUTABLE is None:
        pytest.skip("DRIFTPACE_LABEL_STUDIO does not name the executable of Label Studio")
    with label_studio(_EXECUTABLE, tmp_path_factory.mktemp("label-studio")) as url:
        yield url


def test_the_whole_exchange_with_the_real_server(server: str) -> None:
    """The same steps and the same checks, with a server of its own."""
    listener, recorder, refused = Listener(), Recorder(), Recorder()

    def personal(people: httpx.Client) -> str:
        with httpx.Client(
            base_url=people.base_url, headers={"Authorization": f"Token {LEGACY}"}
        ) as client:  # not recorded
            return str(client.post("/api/token/", json={}).json()["token"])

    try:
        outcome = exchange(server, recorder, listener.url, personal)
        listener.wait_for(8)
        _check_refusals(server, refused)
    finally:
        listener.close()
        recorder.close()
        refused.close()
    _check(outcome)
    _check_calls(listener.calls)
    if "DRIFTPACE_RECORD" in os.environ:
        _record(outcome, recorder, refused, listener)


def test_the_page_with_the_real_server(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The documentation does what it says, with the server itself."""
    recorder = Recorder()
    monkeypatch.setattr(page, "_real", (server, recorder))
    reported = (
        (_ROOT / "docs" / "labelling.md")
        .read_text()
        .replace("LabelStudio('http://127.0.0.1:9')", f"LabelStudio('{server}')")
    )
    test = doctest.DocTestParser().get_doctest(reported, {}, "labelling.md", "labelling.md", 0)
    outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(test)
    recorder.close()
    assert outcome.attempted > 20
    assert outcome.failed == 0
    if "DRIFTPACE_RECORD" in os.environ:
        (RECORDED / "page.json").write_text(json.dumps(recorder.said, indent=1) + "\n")


def _record(outcome: Outcome, said: Recorder, refused: Recorder, listener: Listener) -> None:
    RECORDED.mkdir(exist_ok=True)
    calls = [
        {
            "headers": {"Content-Type": headers["Content-Type"], "X-Driftpace-Secret": SECRET},
            "body": cleaned(body.decode()),
        }
        for headers, body in listener.calls
    ]
    for name, content in (("exchange", said.said), ("refusals", refused.said), ("webhooks", calls)):
        (RECORDED / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
    for kind, name in (("JSON", "export.json"), ("JSON_MIN", "export_min.json"), ("CSV", "export.csv")):
        (RECORDED / name).write_text(cleaned(outcome.exports[kind]))


def test_the_screen_is_for_a_target_and_its_classes() -> None:
    assert '<Number name="price of it" toName="row" required="true"/>' in labelling_config("price of it")
    assert '<Choice value="yes &lt;&amp;&gt;" hotkey="2"/>' in labelling_config("churned", classes=["no", "yes <&>"])
