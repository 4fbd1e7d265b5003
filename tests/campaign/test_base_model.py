"""Campaigns of a pre-trained model: a head follows it, the store keeps it, and it is trained again."""

import pickle
import sys
import zlib
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.ensemble import RandomForestRegressor, VotingClassifier
from sklearn.tree import DecisionTreeClassifier

from driftpace import Tracker
from driftpace.campaign import Campaign, Definition, export_campaign
from driftpace.campaign.base_model import with_model
from driftpace.campaign.records import CheckVerdict
from driftpace.cli.doctor import _check_campaign
from driftpace.errors import DataError, DriftpaceError, ParameterError, ProtocolError, StateFileError
from driftpace.models import FunctionAdapter, stored
from driftpace.storage import MemoryStore
from driftpace.typing import FloatArray
from tests.reference.periods import imported

COLUMNS = ["area", "rooms", "age", "floor"]
PLAIN = {"name": "flats", "target": "price", "epsilon": 0.05, "seed": 0}


def truth(X: FloatArray, extra: float = 0.0) -> FloatArray:
    return np.asarray(np.sin(2.0 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0.0) + extra * np.cos(3.0 * X[:, 3]))


def table(rows: int, rng: np.random.Generator, *, extra: float = 0.0) -> dict[str, Any]:
    X = rng.uniform(-2.0, 2.0, (rows, 4))
    y = truth(X, extra) + 0.5 * rng.standard_normal(rows)
    return {**{name: X[:, place] for place, name in enumerate(COLUMNS)}, "price": y}


def features(rows: dict[str, Any]) -> FloatArray:
    return np.column_stack([rows[name] for name in COLUMNS])


@pytest.fixture(scope="module")
def base() -> Any:
    rows = pd.DataFrame(table(3000, np.random.default_rng(7)))
    return lightgbm.LGBMRegressor(n_estimators=40, verbose=-1, n_jobs=1).fit(rows[COLUMNS], rows["price"])


@pytest.fixture(scope="module")
def file(base: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("model") / "model.txt"
    base.booster_.save_model(place)
    return place


def create(store: Any, given: Any, **settings: Any) -> Campaign:
    return Campaign.create({**PLAIN, **settings}, storage=store, model=given)


def run(campaign: Campaign, rng: np.random.Generator, periods: int, *, rows: int = 80, extra: float = 0.0) -> None:
    for _ in range(periods):
        campaign.ask()
        campaign.tell_table(table(rows, rng, extra=extra), final=True)


def test_the_target_says_what_part_of_it_orders_and_reports_are_about(file: Path) -> None:
    campaign = create(MemoryStore(), file)
    assert campaign.status().target == "excess loss at most 0.05, on average, 70 % of it for the head"


def test_a_campaign_follows_a_model_as_its_tracker_does(base: Any, file: Path, rng: np.random.Generator) -> None:
    campaign = create(MemoryStore(), file)
    tracker = Tracker.for_model(base, epsilon=0.05, rng=0)
    fresh = table(200, rng)
    assert campaign.definition.features == tuple(COLUMNS)
    assert np.array_equal(campaign.predict(features(fresh)), base.booster_.predict(features(fresh)))
    gains: list[tuple[Any, Any]] = []
    for _ in range(3):
        rows = table(80, rng, extra=1.0)
        campaign.ask()
        told = campaign.tell_table(rows, final=True).report
        tracker.ask()
        report = tracker.tell(pd.DataFrame({name: rows[name] for name in COLUMNS}), rows["price"])
        assert told is not None
        assert told.retrain is not None
        assert report is not None
        assert report.retrain is not None
        gains.append((told.retrain.gain, report.retrain.gain))
    assert [one for one, _ in gains] == pytest.approx([other for _, other in gains], rel=1e-6)
    assert campaign.predict(features(fresh)) == pytest.approx(
        tracker.predict(pd.DataFrame(fresh)[COLUMNS]), rel=1e-6, abs=1e-9
    )


def test_the_store_keeps_the_model_once_and_doctor_finds_damage(file: Path, rng: np.random.Generator) -> None:
    store = MemoryStore()
    campaign = create(store, file)
    run(campaign, rng, 2)
    kept = [entry.seq for entry in campaign.log() if "model" in entry.body]
    assert kept == [1]
    assert campaign.log()[0].body["model"]["sha256"] == campaign.definition.model["sha256"]  # type: ignore[index]
    assert b"tree_sizes" in zlib.decompress(store.rows("flats", [1])[1])
    assert b"tree_sizes" not in zlib.decompress(store.checkpoint("flats")[1])  # type: ignore[index]
    assert _check_campaign(store, "flats").verdict is CheckVerdict.PASS
    data = bytearray(store.rows("flats", [1])[1])
    data[-1] ^= 1
    store._campaigns["flats"].rows[1] = bytes(data)
    stored._read.clear()
    found = _check_campaign(store, "flats")
    assert found.verdict is CheckVerdict.FAIL
    assert "damaged" in found.sentence
    with pytest.raises(StateFileError, match="damaged"):
        Campaign.open("flats", storage=store).predict(np.zeros((1, 4)))
    del store._campaigns["flats"].rows[1]
    assert "not in the store" in _check_campaign(store, "flats").sentence


def test_a_base_is_trained_again_undone_and_exported(file: Path, rng: np.random.Generator, tmp_path: Path) -> None:
    store = MemoryStore()
    campaign = create(store, file)
    with pytest.raises(ProtocolError, match="needs labelled rows"):
        campaign.retrain(reason="too early")
    run(campaign, rng, 4, rows=120, extra=1.0)
    last = campaign.status().last
    assert last is not None
    assert last.retrain
    X = features(table(2000, rng))
    before = campaign.predict(X)
    campaign.retrain(reason="a trial", dry_run=True)
    assert np.array_equal(campaign.predict(X), before)
    campaign.retrain(reason="the alarm", who="Ada")
    entry = campaign.log()[-1]
    assert (entry.kind, entry.body["who"], entry.body["reason"]) == ("retrained", "Ada", "the alarm")
    again = campaign.predict(X)
    assert np.square(again - truth(X, 1.0)).mean() < 0.5 * np.square(before - truth(X, 1.0)).mean()
    status = campaign.status()
    assert status.last is not None
    assert status.last.retrain is not None
    assert not status.last.retrain
    assert _check_campaign(store, "flats").verdict is CheckVerdict.PASS
    undone = campaign.undo(entry=entry.seq, reason="not yet")
    assert undone.kind == "retrained"
    assert np.array_equal(campaign.predict(X), before)
    assert _check_campaign(store, "flats").verdict is CheckVerdict.PASS
    campaign.undo(entry=undone.entry, reason="after all")
    assert np.array_equal(campaign.predict(X), again)
    run(campaign, rng, 2, rows=120, extra=1.0)
    assert _check_campaign(store, "flats").verdict is CheckVerdict.PASS
    with pytest.raises(ProtocolError, match="not the one closed last"):
        campaign.undo(period=4, reason="no")
    export_campaign(campaign, tmp_path / "flats.gz")
    stored._read.clear()
    copy = imported(tmp_path / "flats.gz", storage=MemoryStore(), name="copy")
    assert np.array_equal(copy.predict(X), campaign.predict(X))
    run(copy, rng, 1, rows=120, extra=1.0)


def test_training_in_an_open_period_sizes_it_again_and_can_be_undone(file: Path, rng: np.random.Generator) -> None:
    store = MemoryStore()
    campaign = create(store, file, budget={"total": 5000, "horizon": 20, "per_sample": 1})
    run(campaign, rng, 3, rows=120, extra=1.0)
    order = campaign.ask(key="w4")
    campaign.retrain(reason="the alarm")
    assert campaign.order().key == "w4"
    entry = next(entry for entry in campaign.log() if entry.kind == "retrained")
    X = features(table(50, rng))
    trained = campaign.predict(X)
    undone = campaign.undo(entry=entry.seq, reason="not yet")
    assert undone.order is not None
    assert undone.order.samples == order.samples
    assert not np.array_equal(campaign.predict(X), trained)
    assert _check_campaign(store, "flats").verdict is CheckVerdict.PASS
    campaign.tell_table(table(20, rng), final=False)
    with pytest.raises(ProtocolError, match="without rows"):
        campaign.retrain(reason="the alarm")
    campaign.add_money(100, reason="more")
    campaign.tell_table(table(20, rng), final=True)
    status = campaign.status()
    assert str(status.spent) == "400"
    campaign.retrain(reason="now")
    with pytest.raises(ProtocolError, match="cannot be opened again: the base was trained since"):
        campaign.undo(period=4, reason="no")
    assert _check_campaign(store, "flats").verdict is CheckVerdict.PASS


def test_forgotten_undone_and_late_rows_leave_the_log_consistent(file: Path, rng: np.random.Generator) -> None:
    store = MemoryStore()
    campaign = create(store, file, id="id")

    def rows(count: int, first: int) -> dict[str, Any]:
        return {"id": [str(first + place) for place in range(count)], **table(count, rng)}

    campaign.ask(key="w1")
    campaign.tell_table(rows(30, 0), final=False, delivery="wrong")
    campaign.forget(reason="a wrong file")
    campaign.tell_table(rows(40, 100), final=False, delivery="first")
    campaign.tell_table(rows(40, 200), final=False, delivery="second")
    campaign.undo(delivery="first", reason="another wrong file")
    assert Campaign.open("flats", storage=store).order().received == 40
    campaign.tell_table(rows(60, 300), final=True)
    campaign.ask(key="w2")
    campaign.tell_table(rows(90, 400), final=True)
    campaign.ask(key="w3")
    late = campaign.tell_table(rows(15, 500), key="w1")
    assert [part.rows for part in late.late] == [15]
    assert late.revision is not None
    assert late.revision.periods == (1, 2)
    assert _check_campaign(store, "flats").verdict is CheckVerdict.PASS


def test_classes_have_the_names_of_the_definition_and_missing_cells_stay_missing(rng: np.random.Generator) -> None:
    X = rng.standard_normal((1500, 3))
    X[rng.random(1500) < 0.3, 0] = np.nan
    code = np.where(np.isnan(X[:, 0]), 2, (X[:, 1] > 0.0).astype(int))
    model = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1, n_jobs=1).fit(X, code)
    settings = {"features": ["a", "b", "c"], "classes": ["low", "high", "gone"], "target": "kind"}
    campaign = create(MemoryStore(), model, **settings)
    names = np.array(["low", "high", "gone"], dtype=object)
    rows = {"a": X[:150, 0], "b": X[:150, 1], "c": X[:150, 2]}
    campaign.ask()
    receipt = campaign.tell_table({**rows, "kind": names[code[:150]]}, final=True)
    assert receipt.filled[0].value == "missing"
    found = campaign.predict_table(rows)
    assert found.classes == ("low", "high", "gone")
    assert np.mean(np.array(found.values) == names[code[:150]]) > 0.95
    assert campaign.predict_proba(X[:5]).sum(axis=1) == pytest.approx(1.0)
    assert campaign.predict(X[:2]).tolist() == found.values[:2]
    assert _check_campaign(campaign.store, "flats").verdict is CheckVerdict.PASS


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"features": [*COLUMNS[:3], "height"]}, "features=.*columns of the model; got 'height'"),
        ({"features": COLUMNS[:3]}, "features=.*got no 'floor'"),
        ({"classes": ["no", "yes"]}, "classes=.*left out with a model of regression"),
        ({"loss": "logistic"}, "loss=.*'squared' or 'huber' with a model of regression"),
        ({"keep_rows": False}, "keep_rows=.*true with a model"),
        ({"epsilon": None, "metric": "r2", "at_least": 0.5}, "metric=.*left out with a model"),
        ({"l2": [0.1, 1.0]}, "l2=.*one number with a model"),
        ({"model": {"format": "lightgbm", "sha256": "0" * 64}}, "model=.*must be the model of the definition"),
        ({"model": {"path": "model.txt"}}, "model=.*format and sha256.*got 'path'"),
    ],
)
def test_definitions_that_do_not_go_with_the_model(settings: dict[str, Any], wrong: str, file: Path) -> None:
    store = MemoryStore()
    with pytest.raises(ParameterError, match=wrong):
        create(store, file, **settings)
    assert store.count() == 0


def test_files_that_are_no_models_leave_nothing_behind(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return sys.exit, (3,)

    store = MemoryStore()
    (tmp_path / "bomb.txt").write_bytes(pickle.dumps(Bomb()))
    (tmp_path / "cut.txt").write_bytes(file.read_bytes()[:2000])
    (tmp_path / "note.txt").write_text("hello")
    for name, wrong in {
        "bomb.txt": "pickle",
        "note.txt": "must be a model as",
        "cut.txt": "damaged",
        "none.txt": "a file that can be read",
    }.items():
        with pytest.raises(ParameterError, match=wrong):
            create(store, tmp_path / name)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "lightgbm", None)
        with pytest.raises(ParameterError, match="needs the package 'lightgbm'"):
            create(store, file)
    with monkeypatch.context() as patch:
        patch.setattr(stored, "MOST_BYTES", 1000)
        with pytest.raises(ParameterError, match="must be at most"):
            create(store, file)
    with pytest.raises(ParameterError, match="known kind"):
        create(store, 3)
    with pytest.raises(ParameterError, match="running code"):
        create(store, FunctionAdapter(lambda X: X[:, 0], task="regression"), features=COLUMNS)
    with pytest.raises(ParameterError, match="given with a definition that has a model"):
        Campaign.create({**PLAIN, "model": {"format": "lightgbm", "sha256": "0" * 64}}, storage=store)
    assert store.count() == 0


def test_a_model_of_categories_is_refused(rng: np.random.Generator) -> None:
    rows = pd.DataFrame({"a": rng.standard_normal(200), "city": pd.Categorical(rng.choice(["Oslo", "Rome"], 200))})
    model = lightgbm.LGBMRegressor(n_estimators=3, verbose=-1).fit(rows, rows["a"])
    with pytest.raises(ParameterError, match="trained on categories"):
        create(MemoryStore(), model)
    other = xgboost.XGBRegressor(n_estimators=3, enable_categorical=True).fit(rows, rows["a"])
    with pytest.raises(ParameterError, match="trained on categories"):
        create(MemoryStore(), other)


def test_another_base_must_fit_the_campaign(base: Any, file: Path, rng: np.random.Generator) -> None:
    store = MemoryStore()
    campaign = create(store, file)
    run(campaign, rng, 1)
    X = rng.standard_normal((300, 3))
    narrow = lightgbm.LGBMRegressor(n_estimators=3, verbose=-1, n_jobs=1).fit(X, X[:, 0])
    binary = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1).fit(X, X[:, 0] > 0.0)
    entries = len(campaign.log())
    for model, wrong in (
        (narrow, "4 columns of the model before"),
        (binary, "a model of regression"),
        (3, "known kind"),
    ):
        with pytest.raises(ParameterError, match=wrong):
            campaign.retrain(model, reason="new")
    with pytest.raises(ParameterError, match="reason"):
        campaign.retrain(base, reason=" ")
    assert len(campaign.log()) == entries
    campaign.retrain(base, reason="from the training pipeline")
    assert campaign.log()[-1].body["given"] is True
    run(campaign, rng, 1)
    assert _check_campaign(store, "flats").verdict is CheckVerdict.PASS
    plain = Campaign.create({"name": "plain", "epsilon": 0.1}, storage=store)
    with pytest.raises(ProtocolError, match="a campaign of a model"):
        plain.retrain(reason="none")
    with pytest.raises(DriftpaceError, match=r"Tracker\.for_model"):
        campaign.tracker()


def test_a_model_of_xgboost_is_kept_as_its_json(rng: np.random.Generator, tmp_path: Path) -> None:
    rows = pd.DataFrame(table(1000, rng))
    xgboost.XGBRegressor(n_estimators=20, n_jobs=1).fit(rows[COLUMNS], rows["price"]).save_model(tmp_path / "m.json")
    store = MemoryStore()
    campaign = create(store, tmp_path / "m.json")
    assert campaign.definition.model is not None
    assert campaign.definition.model["format"] == "xgboost"
    run(campaign, rng, 3, rows=120, extra=1.0)
    campaign.retrain(reason="the alarm")
    run(campaign, rng, 1)
    assert _check_campaign(store, "flats").verdict is CheckVerdict.PASS


def test_the_definition_says_which_model_it_has(file: Path) -> None:
    first = create(MemoryStore(), file).definition.model
    assert first is not None
    campaign = create(MemoryStore(), file, model={**first, "trained_until": "2026-03"}, period="sold:month")
    assert campaign.definition.model == {**first, "trained_until": "2026-03"}


@pytest.mark.parametrize("until", ["2026-03-31", "31.03.2026", "Mar 2026", "2026Q1"])
def test_rows_that_the_model_may_have_seen_are_refused_whatever_their_dates_look_like(
    until: str, file: Path, rng: np.random.Generator
) -> None:
    campaign = create(MemoryStore(), file, model={"trained_until": until}, period="sold:month")
    campaign.ask(key="2026-03")
    early = {**table(3, rng), "sold": ["31.03.2026", "30.03.2026", "31.03.2026"]}
    entries = len(campaign.log())
    with pytest.raises(DataError, match=f"must be after {until}.*row 1 is from '31.03.2026'"):
        campaign.tell_table(early)
    with pytest.raises(DataError, match="must be a table"):
        campaign.tell(features(table(3, rng)), np.zeros(3))
    assert len(campaign.log()) == entries
    later = create(MemoryStore(), file, model={"trained_until": until}, period="sold:month")
    later.ask(key="2026-04")
    assert later.tell_table({**table(3, rng), "sold": ["01.04.2026", "15.04.2026", "30.04.2026"]}).rows == 3


@pytest.mark.parametrize(
    ("until", "period", "wrong"),
    [
        ("soon", "sold:month", "must be a date, such as 2026-01-31"),
        ("03/04/2026", "sold:month", "must be a date, such as 2026-01-31"),
        ("2026-03", None, "must go with a period of dates"),
        ("2026-03", "wave", "must go with a period of dates"),
    ],
)
def test_a_date_of_training_that_no_row_can_be_compared_with_is_refused(
    until: str, period: str | None, wrong: str, file: Path
) -> None:
    store = MemoryStore()
    with pytest.raises(ParameterError, match=wrong):
        create(store, file, model={"trained_until": until}, period=period)
    assert store.count() == 0


def test_a_model_of_scikit_learn_is_followed_from_its_file(rng: np.random.Generator, tmp_path: Path) -> None:
    io = pytest.importorskip("skops.io")
    rows = pd.DataFrame(table(600, rng))
    forest = RandomForestRegressor(10, max_depth=5, random_state=0).fit(rows[COLUMNS], rows["price"])
    io.dump(forest, tmp_path / "forest.skops")
    store = MemoryStore()
    first, _, _ = with_model(PLAIN, tmp_path / "forest.skops")
    campaign = create(store, tmp_path / "forest.skops", model=first["model"])
    run(campaign, rng, 3, rows=120, extra=1.0)
    campaign.retrain(reason="the alarm")
    run(campaign, rng, 1)
    assert _check_campaign(store, "flats").verdict is CheckVerdict.PASS


def test_a_model_of_labels_only_is_refused(base: Any, file: Path, rng: np.random.Generator) -> None:
    rows = pd.DataFrame(table(100, rng))
    vote = VotingClassifier([("tree", DecisionTreeClassifier())]).fit(rows[COLUMNS], rows["price"] > 0.0)
    store = MemoryStore()
    with pytest.raises(ParameterError, match=r"VotingClassifier predicts labels only.*head=False"):
        create(store, vote)
    assert store.count() == 0
    campaign = create(store, file)
    with pytest.raises(ParameterError, match="predicts labels only"):
        campaign.retrain(vote, reason="new")
    assert Definition.of(campaign.definition.to_values()) == campaign.definition
