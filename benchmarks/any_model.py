"""A head on trees, re-trained by the alarm, on real tables: gaps to the same trees with every row labelled, and labels.

python -m benchmarks any_model [--runs 1] [--only NAME ...] [--epsilon 0.02 0.05] [--trees 100] [--heads]

With --heads, what people do otherwise is left out, which takes most of the time.
"""

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.tables import BIKE, ELEC2_PERIODS, FLIGHTS, SHARED
from benchmarks.tree_peers import DECAYS, DELTAS, LEAVES, PEERS, RATE, ROUNDS, SCHEDULE, Setup
from driftpace import LogisticLoss, PoissonLoss, SoftmaxLoss, SquaredLoss
from driftpace.backtest.model_runs import (
    HALF_LIVES,
    History,
    ModelRun,
    SplitHistory,
    frozen_run,
    head_run,
    reference_run,
    refit_run,
)
from driftpace.losses import LinearLoss, VectorLoss
from driftpace.models import ModelAdapter, adapt
from driftpace.typing import FloatArray

TEST_FRACTION, SEED, MEASURED = 1.0 / 3.0, 0, 8
SIZES = tuple(10 * 2**power for power in range(9))
HEADS = (
    *(
        "table",
        "eps",
        "reference",
        "frozen",
        "head",
        "head + alarm",
        "gap/eps",
        "alarms",
        "labels",
        "constant",
        "x constant",
    ),
    *PEERS,
    *("s ask", "s close"),
)
HEADS_ALONE = ("table", "eps", "reference", "head", "labels of head", "head + alarm", "gap/eps", "alarms", "labels")
LEGEND = f"""
- reference: the same learner with every row of every period labelled, the best of the half-lives {HALF_LIVES} periods.
- frozen: trained on the first fifth of the periods; head: on top of it, never re-trained; head + alarm: re-trained as advised.
- gap/eps: what head + alarm lose to the reference, in targets; labels: bought in a mean period, the first included.
- constant: the least constant size of re-fitting on everything, the first fifth included, at the best half-life in hindsight,
  that loses as little (sizes 10, 20, 40, ..., interpolated); > where all rows of a period do not. x constant: labels over it.
- refit all and the columns after it: losses at the labels of head + alarm, each at its best setting in hindsight: re-fitting on
  everything bought each period (best half-life), LightGBM's refit() (decays {DECAYS}), XGBoost's refresh on the rows of one or of
  four periods, CatBoost's init_model ({ROUNDS} trees more a period), re-fitting every {SCHEDULE} periods, re-fitting whenever ADWIN
  finds that the losses of rows bought have changed (deltas {DELTAS}), and retrainopt (prices of a label that spend no more).
  The bases of XGBoost and CatBoost are their own. nan: the package is not installed, or it cannot run on so few periods.
- All losses are means over the same {MEASURED} or so periods, spread over all after the first fifth, on a third of their rows.
- s ask, s close: median seconds of a period, to ask and take rows, all looks together, and to close it: the fit and the gain.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelTable:
    """A table, its loss, the objective of LightGBM, and the number of trees of its base as a share of the others'."""

    name: str
    read: Callable[[], tuple[FloatArray, FloatArray, FloatArray]]
    objective: str
    classes: int = 1
    share: float = 1.0

    def loss(self) -> LinearLoss | VectorLoss:
        """Return the loss."""
        if self.classes > 1:
            return SoftmaxLoss(l2=1e-4, classes=self.classes)
        return {"regression": SquaredLoss(), "binary": LogisticLoss(l2=1e-4), "poisson": PoissonLoss(l2=1e-4)}[
            self.objective
        ]

    def history(self) -> History:
        """Return the rows by period; models begin with the first fifth."""
        X, y, period = self.read()
        finite = np.isfinite(y)
        X, y, period = X[finite], y[finite], period[finite]
        places = [np.flatnonzero(period == one) for one in np.unique(period)]
        places = [place for place in places if len(place) >= 30]
        by_period = tuple(X[place] for place in places)
        return History(
            X=by_period,
            y=tuple(y[place] for place in places),
            columns=by_period,
            loss=self.loss(),
            first=max(len(places) // 5, 1),
        )

    def base(self, history: History, trees: int) -> ModelAdapter:
        """Return LightGBM trained on the first periods."""
        lightgbm = import_module("lightgbm")
        X, y = history.first_rows()
        params = {
            "objective": self.objective,
            "learning_rate": RATE,
            "num_leaves": LEAVES,
            "num_threads": 1,
            "verbosity": -1,
        }
        params |= {"num_class": self.classes} if self.classes > 1 else {}
        return adapt(lightgbm.train(params, lightgbm.Dataset(X, label=y), num_boost_round=self.rounds(trees)))

    def rounds(self, trees: int) -> int:
        """Return the rounds of a base."""
        return max(round(self.share * trees), 10)


def _frame(name: str) -> Any:
    return import_module("pandas").read_csv(SHARED / f"{name}.csv.gz")


def _columns(name: str, columns: Sequence[str], target: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    frame = _frame(name)
    y = frame[target].to_numpy(float)
    return frame[list(columns)].to_numpy(float), y, frame["period"].to_numpy(float)


def _standardised(name: str, columns: Sequence[str], target: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    X, y, period = _columns(name, columns, target)
    return X, (y - y.mean()) / y.std(), period


def _elec2() -> tuple[FloatArray, FloatArray, FloatArray]:
    columns = ("nswprice", "vicprice", "nswdemand", "vicdemand", "transfer", "time_of_day")
    X, y, period = _columns("elec2", columns, "up")
    X[:, 0], X[:, 1] = np.log(X[:, 0] + 0.005), np.log(X[:, 1] + 0.0005)
    kept = (period >= ELEC2_PERIODS[0]) & (period <= ELEC2_PERIODS[1])
    return X[kept], y[kept], period[kept]


def _gss() -> tuple[FloatArray, FloatArray, FloatArray]:
    columns = ("educ", "age", "exper_c", "exper_c2", "female", "nonwhite", "married", "childs", "fulltime", "parttime")
    return _columns("gss_income", columns, "log_rinc")


def _psid() -> tuple[FloatArray, FloatArray, FloatArray]:
    columns = (
        "education",
        "experience",
        "weeks",
        "white_collar",
        "manufacturing",
        "south",
        "smsa",
        "married",
        "female",
    )
    return _standardised("psid7682", (*columns, "union", "afam"), "log_wage")


def _trips() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the hours with the month of the year; every third month, so that a run ends soon."""
    frame = _frame("bike_trips")
    frame = frame[(frame["period"] < 108) & (frame["period"] % 3 == 0)].dropna()
    frame["month"] = frame["date"].str[5:7].astype(float)
    X = frame[["hr", "weekday", "month", "tmin", "tmax", "pn"]].to_numpy(float)
    return X, frame["trips"].to_numpy(float), frame["period"].to_numpy(float)


def _rodents() -> tuple[FloatArray, FloatArray, FloatArray]:
    frame = _frame("rodents")
    for name in ("sex", "plot_type", "species_id"):
        frame[name] = frame[name].astype("category").cat.codes.astype(float)
    X = frame[["weight", "hindfoot_length", "sex", "plot_type", "month"]].to_numpy(float)
    return X, frame["species_id"].to_numpy(float), frame["period"].to_numpy(float)


def _news() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the vectors of the entries of the eight commonest sections."""
    frame = _frame("cpython_news")
    vectors = np.load(SHARED / "cpython_news_vectors.npz")["vectors"].astype(float)
    common = frame["section"].value_counts().index[:8]
    kept = frame["section"].isin(common).to_numpy()
    codes = frame["section"].map({name: place for place, name in enumerate(sorted(common))}).to_numpy(float)
    return vectors[kept], codes[kept], frame["period"].to_numpy(float)[kept]


TABLES = (
    ModelTable(name="gss_income", read=_gss, objective="regression"),
    ModelTable(name="psid7682", read=_psid, objective="regression"),
    ModelTable(
        name="bike_hourly",
        read=lambda: _standardised("bike_hourly", ("hr", "weekday", "holiday", *BIKE), "log_cnt"),
        objective="regression",
    ),
    ModelTable(name="elec2", read=_elec2, objective="binary"),
    ModelTable(name="flights", read=lambda: _columns("flights", FLIGHTS, "late"), objective="binary"),
    ModelTable(name="bike_trips", read=_trips, objective="poisson"),
    ModelTable(name="rodents", read=_rodents, objective="multiclass", classes=10, share=0.3),
    ModelTable(name="cpython_news", read=_news, objective="multiclass", classes=8, share=0.3),
)


def measured_places(split: SplitHistory) -> list[int]:
    """Return the places at which losses are compared: spread evenly, never the first."""
    count = len(split.splits)
    return sorted(set(np.linspace(min(1, count - 1), count - 1, min(MEASURED, count)).round().astype(int).tolist()))


def constant_size(sizes: Sequence[int], losses: Sequence[float], loss: float) -> float:
    """Return the least size whose loss is at most the given one, by interpolation in its logarithm; infinity for none.

    >>> constant_size((10, 20), (0.5, 0.3), 0.4).__round__(2), constant_size((10, 20), (0.5, 0.3), 0.2)
    (14.14, inf)
    """
    low = np.minimum.accumulate(losses)
    if low[0] <= loss:
        return float(sizes[0])
    if low[-1] > loss:
        return math.inf
    place = int(np.argmax(low <= loss))
    share = (low[place - 1] - loss) / (low[place - 1] - low[place])
    return float(sizes[place - 1] * (sizes[place] / sizes[place - 1]) ** share)


@dataclass(kw_only=True, slots=True)
class Peers:
    """What does not depend on the target, in one run: reference, frozen base, and re-fitting at constant sizes."""

    split: SplitHistory
    base: ModelAdapter
    trees: int
    places: list[int]
    reference: float
    frozen: float
    sizes: list[int]
    constants: list[float]

    @classmethod
    def of(cls, table: ModelTable, history: History, trees: int, run: int) -> "Peers":
        """Return them for a run."""
        base = table.base(history, trees)
        split = SplitHistory.of(history, test_fraction=TEST_FRACTION, seed=SEED, run=run)
        places = measured_places(split)
        most = int(np.median(split.pools))
        sizes = [*(size for size in SIZES if size < most), most]
        constants = [
            min(
                mean_at(refit_run(split, base, np.full(len(split.splits), size), half_life=life, places=places), places)
                for life in HALF_LIVES
            )
            for size in sizes
        ]
        reference = mean_at(reference_run(split, base, places), places)
        frozen = mean_at(frozen_run(split, base), places)
        return cls(
            split=split,
            base=base,
            trees=table.rounds(trees),
            places=places,
            reference=reference,
            frozen=frozen,
            sizes=sizes,
            constants=constants,
        )

    def row(self, epsilon: float) -> dict[str, float]:
        """Return the numbers at one target."""
        split, base, places = self.split, self.base, self.places
        alarmed = head_run(split, base, epsilon)
        plain = head_run(split, base, epsilon, retrain=False) if alarmed.retrained else alarmed
        loss, labels = mean_at(alarmed, places), alarmed.labels
        setup = Setup(split=split, base=base, trees=self.trees, labels=labels, places=places)
        return {
            "reference": self.reference,
            "frozen": self.frozen,
            "head": mean_at(plain, places),
            "head + alarm": loss,
            "gap/eps": (loss - self.reference) / epsilon,
            "alarms": float(len(alarmed.retrained)),
            "labels": float(labels.mean()),
            **{name: peer.loss(setup) for name, peer in PEERS.items()},
            "s ask": float(np.median(alarmed.seconds[0])),
            "s close": float(np.median(alarmed.seconds[1])),
        }


def heads_alone(table: ModelTable, history: History, trees: int, runs: int, epsilons: Sequence[float]) -> Iterator[str]:
    """Yield a line for each target: heads and the reference, means over runs."""
    base = table.base(history, trees)
    splits = [SplitHistory.of(history, test_fraction=TEST_FRACTION, seed=SEED, run=run) for run in range(runs)]
    places = measured_places(splits[0])
    reference = float(np.mean([mean_at(reference_run(split, base, places), places) for split in splits]))
    for epsilon in epsilons:
        alarmed = [head_run(split, base, epsilon) for split in splits]
        plain = [
            head_run(split, base, epsilon, retrain=False) if run.retrained else run
            for split, run in zip(splits, alarmed, strict=True)
        ]
        loss, kept = (float(np.mean([mean_at(run, places) for run in one])) for one in (alarmed, plain))
        labels, alone = (float(np.mean([run.labels.mean() for run in one])) for one in (alarmed, plain))
        alarms = float(np.mean([len(run.retrained) for run in alarmed]))
        numbers = f"{reference:.4g} | {kept:.4g} | {alone:.3g} | {loss:.4g} | {(loss - reference) / epsilon:.2f}"
        yield f"{table.name} | {epsilon:g} | {numbers} | {alarms:.3g} | {labels:.3g}"


def mean_at(run: ModelRun, places: Sequence[int]) -> float:
    """Return the mean loss at these places."""
    return float(run.losses[list(places)].mean())


def cells(table: ModelTable, epsilon: float, peers: Sequence[Peers]) -> Iterator[str]:
    """Yield a line of the result: means over runs; the constant size is that of the mean curve."""
    yield table.name
    yield f"{epsilon:g}"
    rows = [each.row(epsilon) for each in peers]
    mean = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    curve = np.mean([each.constants for each in peers], axis=0)
    mean["constant"] = constant_size(peers[0].sizes, curve.tolist(), mean["head + alarm"])
    for name in HEADS[2:]:
        if name == "x constant":
            yield f"{mean['labels'] / mean['constant']:.2f}" if math.isfinite(mean["constant"]) else "-"
        elif name == "constant":
            yield f"{mean[name]:.0f}" if math.isfinite(mean[name]) else "> all"
        elif name in ("labels", "alarms"):
            yield f"{mean[name]:.3g}"
        else:
            yield f"{mean[name]:.2f}" if name.startswith(("gap", "s ")) else f"{mean[name]:.4g}"


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks any_model")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[table.name for table in TABLES])
    parser.add_argument("--epsilon", nargs="*", type=float, default=[0.02, 0.05])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--heads", action="store_true")
    given = parser.parse_args(list(options))
    names = HEADS_ALONE if given.heads else HEADS
    print("| " + " | ".join(names) + " |")
    print("|" + "---|" * len(names))
    for table in TABLES:
        if table.name not in given.only:
            continue
        history = table.history()
        if given.heads:
            for line in heads_alone(table, history, given.trees, given.runs, given.epsilon):
                print(f"| {line} |", flush=True)
            continue
        peers = [Peers.of(table, history, given.trees, run) for run in range(given.runs)]
        for epsilon in given.epsilon:
            print("| " + " | ".join(cells(table, epsilon, peers)) + " |", flush=True)
    print(LEGEND)


if __name__ == "__main__":
    main()
