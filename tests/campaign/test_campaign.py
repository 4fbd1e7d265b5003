"""ask and tell on a campaign, in every kind of store."""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign, Stage
from driftpace.campaign.state import to_checkpoint
from driftpace.errors import (
    DataError,
    ParameterError,
    ProtocolError,
    StateFileError,
    UnknownCampaignError,
)
from driftpace.losses import LinearLoss, SquaredLoss
from driftpace.storage import MemoryStore
from driftpace.storage.base import Change, Entry, Store
from driftpace.tracker import Tracker
from tests.reference.campaigns import SHAPES, VALUES, begun, rows_of, run_period

KINDS = ("memory", "sqlite", "postgresql")


def in_stores(shapes: Sequence[str], everywhere: str) -> pytest.MarkDecorator:
    """Run every shape in memory and one in the databases too; the others there are slow, and the contract of stores covers them."""
    cases = [
        pytest.param(kind, shape, marks=[] if kind == "memory" or shape == everywhere else pytest.mark.slow)
        for kind in KINDS
        for shape in shapes
    ]
    return pytest.mark.parametrize(("store", "shape"), cases, indirect=["store"])


@in_stores(tuple(SHAPES), everywhere="forgetful")
def test_a_campaign_does_what_a_tracker_does(store: Store, shape: str) -> None:
    campaign = begun(store, **SHAPES[shape])
    tracker = campaign.tracker()
    for period in range(1, 5):
        done = run_period(campaign, period, parts=2).report
        while missing := tracker.ask().samples:
            size = max(1, missing // 2)
            gathered = tracker.snapshot()[1].gathered
            tracker.tell(*rows_of(period, gathered, min(size, missing)), final=False)
        assert done == tracker.tell()
    again = Campaign.open("prices", storage=store)
    assert np.array_equal(again.tracker().coef, tracker.coef)
    assert again.tracker().intercept == tracker.intercept
    assert again.tracker().history == tracker.history
    assert [row.key for row in again.ledger()] == ["W1", "W2", "W3", "W4"]


@in_stores([shape for shape in SHAPES if shape != "forgetful"], everywhere="candidates")
def test_the_log_folds_to_where_the_campaign_stands(store: Store, shape: str) -> None:
    campaign = begun(store, **SHAPES[shape])
    for period in (1, 2):
        run_period(campaign, period, parts=3)
    campaign.ask(key="W3")
    campaign.override(30, reason="a holiday", who="Ada")
    campaign.tell(*rows_of(3, 0, 4), final=False)
    *_, (_, folded) = campaign.replay()
    saved = store.checkpoint("prices")
    assert saved is not None
    assert saved[0] == folded.seq == campaign.status().entries
    assert to_checkpoint(folded) == saved[1]
    assert folded.order == Campaign.open("prices", storage=store).status().order


class _Edited(MemoryStore):
    """A store in which somebody changed what a fit led to."""

    def entries(self, *args: Any, **more: Any) -> list[Entry]:
        """Return the log as it was edited."""
        saved = super().entries(*args, **more)
        return [replace(one, body=self.edited(one.body)) if one.kind == "fitted" else one for one in saved]

    def edited(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return another model."""
        return {**body, "sha256": "0" * 64, "coef": [1.01 * one for one in body["coef"]]}


class _Elsewhere(_Edited):
    """A store that another machine wrote, whose sums differ in the last digit."""

    def edited(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the same model, in other bits."""
        return {**body, "sha256": "0" * 64, "coef": [one * (1.0 + 1e-12) for one in body["coef"]]}


class _Damaged(MemoryStore):
    """A store that lost its checkpoints."""

    def checkpoint(self, name: str) -> tuple[int, bytes] | None:
        """Return what is left of it."""
        saved = super().checkpoint(name)
        return None if saved is None else (saved[0], b"damaged")


def test_an_edited_log_is_noticed_by_its_replay() -> None:
    campaign = begun(_Edited())
    run_period(campaign, 1)
    with pytest.raises(StateFileError, match="led to another state"):
        list(campaign.replay())


def test_a_log_that_another_machine_wrote_differs_in_the_last_digit_and_is_no_other() -> None:
    campaign = begun(_Elsewhere())
    run_period(campaign, 1)
    *_, (_, folded) = campaign.replay()
    assert folded.state.period == 2


def test_a_damaged_checkpoint_is_said_so_and_the_replay_still_knows() -> None:
    whole, damaged = MemoryStore(), _Damaged()
    run_period(begun(whole), 1)
    saved = whole.checkpoint("prices")
    log = whole.entries("prices")
    rows = whole.rows("prices", range(len(log) + 1))
    assert saved is not None
    change = Change(entries=log, checkpoint=saved[1], summary={}, rows={seq - 1: data for seq, data in rows.items()})
    damaged.create("prices", change)
    campaign = Campaign.open("prices", storage=damaged)
    with pytest.raises(StateFileError, match="the checkpoint of the campaign cannot be read"):
        campaign.status()
    *_, (_, again) = campaign.replay()
    assert to_checkpoint(again) == saved[1]


def test_rows_that_are_not_to_be_kept_are_dropped_when_the_period_closes(store: Store) -> None:
    campaign = begun(store, keep_rows=False)
    campaign.ask()
    campaign.tell(*rows_of(1, 0, 3), final=False)
    delivered = [entry.seq for entry in campaign.log(kinds=("delivered",))]
    assert set(store.rows("prices", delivered)) == set(delivered)
    campaign.tell(final=True)
    delivered = [entry.seq for entry in campaign.log(kinds=("delivered",))]
    assert store.rows("prices", delivered) == {}
    with pytest.raises(StateFileError, match="not kept"):
        list(campaign.replay())
    kept = begun(store, name="kept")
    kept.ask()
    kept.tell(*rows_of(1, 0, 3), final=True)
    assert len(store.rows("kept", [entry.seq for entry in kept.log(kinds=("delivered",))])) == 1


def test_the_same_key_gives_the_same_order_for_ever(store: Store) -> None:
    campaign = begun(store)
    first = campaign.ask(key="W1")
    entries = campaign.status().entries
    assert campaign.ask(key="W1") == first
    assert campaign.ask() == first
    assert campaign.status().entries == entries
    run_period(campaign, 1)
    past = campaign.ask(key="W1")
    assert past.closed
    assert (past.period, past.key, past.missing) == (1, "W1", 0)
    second = campaign.ask(key="W2")
    assert second.period == 2
    assert campaign.ask(key="W1") == past


def test_asking_again_with_a_pool_writes_nothing_while_the_target_is_not_known_yet(store: Store) -> None:
    begun(store, epsilon=None, tolerance=0.2)
    for _ in range(3):
        Campaign.open("prices", storage=store).ask(key="W1", pool=30)
    assert [entry.kind for entry in store.entries("prices")] == ["created", "asked"]


def test_a_new_key_waits_for_the_rows_of_the_open_period_and_closes_it_when_none_are_missing(store: Store) -> None:
    campaign = begun(store)
    order = campaign.ask(key="W1")
    assert order.missing > 0
    with pytest.raises(ProtocolError, match=r"period 1 \(W1\) is still open and \d+ of its \d+ rows are missing"):
        campaign.ask(key="W2")
    campaign.override(0, reason="no staff")
    assert campaign.ask(key="W2").period == 2
    assert campaign.log(kinds=("closed",))[0].body["why"] == "no rows were missing when W2 was requested"


def test_a_period_without_a_name_gets_one_and_keeps_it(store: Store) -> None:
    campaign = begun(store)
    order = campaign.ask()
    named = campaign.ask(key="W1")
    assert (order.key, named.key) == (None, "W1")
    assert named.samples == order.samples
    assert Campaign.open("prices", storage=store).ask(key="W1") == named


@pytest.mark.parametrize("decide", ["overridden", "approved"])
def test_what_a_person_decided_is_known_of_a_closed_period_too(store: Store, decide: str) -> None:
    campaign = begun(store)
    campaign.ask(key="W1")
    order = campaign.override(3, reason="few", who="Ada") if decide == "overridden" else campaign.approve(who="Ada")
    closed = campaign.tell(*rows_of(1, 0, 3), final=True).order
    again = campaign.ask(key="W1")
    assert getattr(again, decide) == getattr(closed, decide) == getattr(order, decide)
    assert again.closed
    *_, (_, folded) = campaign.replay()
    assert to_checkpoint(folded) == (store.checkpoint("prices") or (0, b""))[1]


def test_a_period_closes_itself_when_enough_came_and_stays_open_when_told_so(store: Store) -> None:
    campaign = begun(store)
    order = campaign.ask()
    receipt = campaign.tell(*rows_of(1, 0, order.missing), final=False)
    while receipt.order.missing:
        receipt = campaign.tell(*rows_of(1, receipt.order.received, receipt.order.missing), final=False)
    assert campaign.status().stage is Stage.CLOSE
    assert campaign.tell().report is not None
    assert campaign.status().stage is Stage.ASK


def test_a_dry_run_answers_and_changes_nothing(store: Store) -> None:
    campaign = begun(store)
    order = campaign.ask(dry_run=True)
    assert campaign.status().order is None
    assert campaign.ask() == order
    entries = campaign.status().entries
    receipt = campaign.tell(*rows_of(1, 0, order.missing), final=True, dry_run=True)
    assert receipt.report is not None
    assert campaign.override(9, reason="why not", dry_run=True).samples == 9
    assert campaign.status().entries == entries
    assert campaign.status().order == order


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (([[1.0, np.nan]], [0.0]), "must be finite; column 1 has nan in row 0"),
        (([[1.0, 2.0]], [0.0, 1.0]), "must have one entry for each of the 1 rows"),
        (([[1.0, 2.0], [3.0, 4.0]], None), "must be given together with the other"),
        (([1.0, 2.0], [0.0, 1.0]), "must be two-dimensional"),
        (([["a", "b"]], [0.0]), "must be numeric"),
    ],
)
def test_a_refused_delivery_changes_nothing(store: Store, rows: Any, sentence: str) -> None:
    campaign = begun(store)
    order = campaign.ask()
    entries = campaign.status().entries
    with pytest.raises(DataError, match=rf"^Campaign\.tell\(.*{sentence}"):
        campaign.tell(*rows)
    assert campaign.status().entries == entries
    assert campaign.status().order == order


def test_what_comes_out_of_order_is_refused(store: Store) -> None:
    campaign = begun(store)
    for call in (
        lambda: campaign.tell(*rows_of(1, 0, 2)),
        lambda: campaign.override(3, reason="x"),
        lambda: campaign.approve(),
        lambda: campaign.forget(reason="x"),
    ):
        with pytest.raises(ProtocolError, match=r"requires an open period; call ask\(\) for period 1 first"):
            call()
    run_period(campaign, 1)
    campaign.ask(key="W2")
    with pytest.raises(ProtocolError, match=r"period 1 \(W1\) is closed already"):
        campaign.tell(key="W1")
    with pytest.raises(ProtocolError, match=r"there is no period with the key 'W9'; the open one is period 2 \(W2\)"):
        campaign.tell(*rows_of(1, 90, 2), key="W9")


def test_two_handles_on_one_campaign_see_each_other(store: Store) -> None:
    one = begun(store)
    two = Campaign.open("prices", storage=store)
    order = one.ask(key="W1")
    assert two.ask(key="W1") == order
    two.tell(*rows_of(1, 0, 2), final=False)
    assert one.tell(*rows_of(1, 2, 2), final=False).order.received == 4
    assert two.status().order == one.status().order


def test_names_are_taken_once_and_unknown_ones_are_said_so(store: Store) -> None:
    begun(store)
    with pytest.raises(ParameterError, match="must not be taken; a campaign named 'prices' exists"):
        begun(store)
    assert Campaign.create(VALUES, storage=store, load_if_exists=True).status().entries == 1
    with pytest.raises(UnknownCampaignError, match="no campaign named 'price' in"):
        Campaign.open("price", storage=store)
    with pytest.raises(ParameterError, match=r"Campaign\(name=\.\.\.\) must be up to 100 letters"):
        begun(store, name="../prices")
    left = Campaign.open("prices", storage=store)
    store.remove("prices")
    for look in (left.status, left.ledger, left.log, left.drawn):
        with pytest.raises(UnknownCampaignError, match="no campaign named 'prices' in"):
            look()


def test_a_tracker_between_periods_is_adopted_with_its_history(store: Store) -> None:
    tracker = Tracker(SquaredLoss(), epsilon=0.1, rng=1)
    tracker.step(lambda samples: rows_of(1, 0, samples))
    campaign = Campaign.create(tracker, storage=store, name="adopted")
    assert campaign.ledger()[0].report == tracker.history[0]
    assert campaign.ask().request == tracker.ask()
    with pytest.raises(ParameterError, match="must be a tracker between two periods; got one with period 2 open"):
        Campaign.create(tracker, storage=store, name="late")


class _OwnLoss(SquaredLoss):
    """A loss that no file can name."""


def test_parts_of_ones_own_cannot_be_kept_in_a_store() -> None:
    tracker = Tracker(_OwnLoss(), epsilon=0.1)
    assert isinstance(_OwnLoss(), LinearLoss)
    with pytest.raises(ParameterError, match=r"Campaign\.create\(what=\.\.\.\) must be made of driftpace's own parts"):
        Campaign.create(tracker, storage=MemoryStore(), name="own")


def test_the_ledger_measures_the_model_that_was_in_use(store: Store) -> None:
    campaign = begun(store)
    run_period(campaign, 1)
    before = campaign.tracker()
    order = campaign.ask()
    X, y = rows_of(2, 0, order.missing)
    campaign.tell(X, y, final=True)
    first, second = campaign.ledger()
    assert first.served is None
    assert second.served is not None
    losses = 0.5 * (before.predict(X) - y) ** 2
    assert second.served.loss == pytest.approx(losses.mean(), rel=1e-12)
    assert second.served.error == pytest.approx(losses.std(ddof=1) / np.sqrt(len(y)), rel=1e-12)


def test_predictions_need_a_closed_period() -> None:
    campaign = begun(MemoryStore())
    campaign.ask()
    for method in (campaign.predict, campaign.predict_proba):
        with pytest.raises(ProtocolError, match=r"requires a closed period; campaign 'prices' has no model yet"):
            method(np.zeros((1, 2)))


def test_rows_that_cannot_be_predicted_name_the_method_that_was_called() -> None:
    campaign = begun(MemoryStore())
    run_period(campaign, 1)
    for method in ("predict", "predict_proba"):
        with pytest.raises(DataError, match=rf"^Campaign\.{method}\(X=\.\.\.\) must have"):
            getattr(campaign, method)(np.zeros((1, 7)))


def test_a_frame_a_file_and_columns_deliver_the_same_rows(tmp_path: Path) -> None:
    columns = {"x": [1.0, 2.0, 4.0, 3.0], "y": [0, 1, 1, 0]}
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in zip(*columns.values(), strict=True)))
    tables = [columns, path, str(path)]
    tables += [pytest.importorskip(name).DataFrame(columns) for name in ("pandas", "polars")]
    tables.append(pytest.importorskip("pyarrow").table(columns))
    answers = []
    for table in tables:
        campaign = Campaign.create(
            {"name": "a", "target": "y", "loss": "logistic", "epsilon": 0.1, "seed": 0}, storage=MemoryStore()
        )
        campaign.ask()
        assert campaign.tell_table(table, final=True).rows == 4
        predicted = campaign.predict_table(table)
        probabilities = campaign.predict_proba(np.array(columns["x"])[:, None])
        assert predicted.probability is not None
        assert probabilities[:, 1].tolist() == predicted.probability.tolist()
        assert probabilities.sum(axis=1).tolist() == [1.0] * 4
        answers.append(predicted.score.tolist())
    assert all(answer == answers[0] for answer in answers)


def test_a_loss_without_probabilities_says_so() -> None:
    campaign = begun(MemoryStore())
    run_period(campaign, 1)
    with pytest.raises(ParameterError, match=r"loss=\.\.\.\) must be one that estimates probabilities.*got 'squared'"):
        campaign.predict_proba(np.zeros((1, 2)))


def test_a_log_of_a_newer_method_is_refused() -> None:
    store = MemoryStore()
    begun(store)
    record = store.checkpoint("prices")
    assert record is not None
    body = json.loads(zlib.decompress(record[1]))
    body["tracker"]["numbers"]["method"] += 1
    newer = zlib.compress(json.dumps(body).encode())
    store.append("prices", record[0], Change(entries=[], checkpoint=newer, summary={}))
    with pytest.raises(StateFileError, match="upgrade driftpace"):
        Campaign.open("prices", storage=store).status()
