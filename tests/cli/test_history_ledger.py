"""The ledger says of every closed period what was promised and what was measured, as the campaign does, in every form."""

import csv
import io
import json
from pathlib import Path

import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.ledger import Ledger
from driftpace.campaign.serialization import ledger_json
from driftpace.errors import ParameterError
from driftpace.storage import open_store
from tests.cli.loop import Run, label


@pytest.fixture
def closed(churn: Path, run: Run) -> Ledger:
    """The ledger of two periods; the second measured the model of the first."""
    for key in ("W1", "W2"):
        run("ask", "churn", "--key", key, "--select", "pool.csv", "--out", f"{key}.csv")
        label(Path(f"{key}.csv"), Path(f"done-{key}.csv"))
        assert run("tell", "churn", f"done-{key}.csv", "--close")[0] == 0
    store = open_store("driftpace.db", create=False)
    try:
        return Campaign.open("churn", storage=store).ledger()
    finally:
        store.close()


def test_before_anything_is_closed_there_is_nothing_to_show(churn: Path, run: Run) -> None:
    assert run("ledger", "churn") == (0, "No period is closed yet.\n", "")
    assert run("ledger", "churn", "--format", "json")[1] == "[]\n"


def test_every_form_says_what_the_campaign_says(closed: Ledger, run: Run) -> None:
    code, out, _ = run("ledger", "churn", "--format", "json")
    assert (code, json.loads(out)) == (0, [ledger_json(row) for row in closed])
    first, second = csv.DictReader(io.StringIO(run("ledger", "churn", "--format", "csv")[1]))
    assert (first["key"], first["served_loss"]) == ("W1", "")
    served = closed[1].served
    assert served is not None
    assert (float(second["served_loss"]), float(second["served_accuracy"])) == (served.loss, served.accuracy)
    heads, *lines = run("ledger", "churn")[1].splitlines()
    assert heads.split()[:4] == ["period", "key", "rows", "cost"]
    assert [line.split()[:3] for line in lines] == [
        [str(row.report.period), row.key, str(row.report.samples)] for row in closed
    ]
    assert f"{served.loss:.3g} ± {served.error:.2g}" in lines[1]


def test_the_expected_loss_is_shown_where_the_target_is_missed(closed: Ledger, run: Run) -> None:
    heads, *lines = run("ledger", "churn")[1].splitlines()
    end = heads.index("expected excess") + len("expected excess")
    expected = [line[:end].split()[-1] for line in lines]
    assert expected == [f"{row.report.risk_bound:.3g}" for row in closed]
    assert not closed[0].report.outcome.promised  # closed after the initial rows, with too few


def test_the_last_ones_alone(closed: Ledger, run: Run) -> None:
    (row,) = json.loads(run("ledger", "churn", "--last", "1", "--format", "json")[1])
    assert row["key"] == "W2"


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_ledger_is_a_table(closed: Ledger, backend: str) -> None:
    pytest.importorskip(backend)
    frame = closed[1:].to_frame(backend)
    assert list(frame["key"]) == ["W2"] or frame["key"].to_pylist() == ["W2"]
    with pytest.raises(ParameterError, match="Ledger"):
        closed.to_frame("excel")
