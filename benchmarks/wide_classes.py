"""Several classes of thousands of columns: stated and true risk, and sections of Python's changelog by words and by vectors.

python -m benchmarks wide_classes [--runs 2] [--only calibration words vectors exponents] [--worlds NAME ...]

The changelog is read from ../shared/data (--data). scikit-learn, where it is installed, is re-fitted in every period on the labels
that driftpace had bought: on those of the period, and on all so far; the better of both is shown.
"""

import argparse
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from driftpace import SoftmaxLoss, Tracker
from driftpace.losses.softmax import helmert
from driftpace.typing import FloatArray
from driftpace.wide import WideRows
from driftpace.wide.mode import mode

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
EPSILON = 0.15
SECTIONS = 8
TARGETS = (0.15, 0.25)
JUDGED_AFTER = 2
TEST_SHARE = 0.5
SIZES = (30, 45, 70, 110, 170, 260, 400)
STRENGTHS = (100.0, 300.0, 1000.0)


@dataclass
class ClassesWorld:
    """Gaussian rows whose variances fall as 1/k, and scores of classes whose coefficients do likewise.

    The model walks: in a period it moves by about ``cost`` times epsilon in expected loss. The commonest class is ``imbalance``
    times as common as the rarest, about.
    """

    columns: int
    classes: int
    signal: float = 4.0
    imbalance: float = 1.0
    cost: float = 0.2
    rng: np.random.Generator = field(default_factory=np.random.default_rng)

    def __post_init__(self) -> None:
        self.scale = (1.0 + np.arange(self.columns)) ** -0.5
        self.each = self.scale / np.sqrt(np.square(self.scale).sum())
        self.contrasts = helmert(self.classes)
        drawn = self.rng.standard_normal((self.columns, self.classes - 1))
        self.model = np.sqrt(self.signal) * self.each[:, None] * drawn
        self.level = np.linspace(0.0, -np.log(self.imbalance), self.classes) @ self.contrasts

    def step(self) -> None:
        """Move to the next period."""
        size = np.sqrt(2.0 * self.cost * EPSILON * self.classes / (self.classes - 1.0))
        self.model = self.model + size * self.each[:, None] * self.rng.standard_normal(self.model.shape)
        self.level = self.level + size * self.rng.standard_normal(self.classes - 1)

    def rows(self, count: int) -> FloatArray:
        """Draw rows without labels."""
        return np.asarray(self.rng.standard_normal((count, self.columns)) * self.scale)

    def chances(self, X: FloatArray) -> FloatArray:
        """Return the true probabilities of the classes."""
        loss = SoftmaxLoss(classes=self.classes)
        return loss.probabilities(self.level + X @ (self.model / self.scale[:, None]))

    def draw(self, count: int) -> tuple[FloatArray, list[int]]:
        """Draw labelled rows."""
        X = self.rows(count)
        above = self.chances(X).cumsum(axis=1) > self.rng.random((count, 1))
        return X, above.argmax(axis=1).tolist()


@dataclass(frozen=True, kw_only=True, eq=False)
class Penalised:
    """The penalised loss that the promise of a tracker is about, on rows with known probabilities of classes."""

    loss: SoftmaxLoss
    Z: FloatArray
    chances: FloatArray
    penalty: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, tracker: Tracker, X: Any, chances: FloatArray) -> "Penalised":
        """Return the loss of a tracker; ``chances`` are in the order of its classes."""
        wide = tracker.snapshot()[1].wide
        penalty = np.repeat(wide.penalty, wide.sizes.astype(int))
        Z = np.column_stack([np.ones(X.shape[0]), wide.spectrum.scores(X)])
        return cls(loss=SoftmaxLoss(classes=wide.outputs + 1), Z=Z, chances=chances, penalty=penalty, scale=wide.scale)

    def only(self, chosen: Any) -> "Penalised":
        """Return the loss on some of the rows."""
        return replace(self, Z=self.Z[chosen], chances=self.chances[chosen])

    def value(self, model: FloatArray) -> float:
        """Return the loss of a model (coordinates, scores)."""
        logs = np.log(np.maximum(self.loss.probabilities(self.Z @ model @ self.scale), 1e-300))
        return -float((self.chances * logs).sum(axis=1).mean()) + 0.5 * float(
            self.penalty @ np.square(model).sum(axis=1)
        )

    def least(self, tested: Any, others: Any, start: FloatArray) -> float:
        """Return the least loss of the population on the rows ``tested``, of which as many ``others`` are a sample too.

        The best model of a thousand rows fits their noise: on them it is better than that of the population by about as much as it
        is worse on others, so the mean of both is taken.
        """
        here, there = self.only(tested), self.only(others)
        own = here.best(start)
        return 0.5 * (here.value(own) + here.value(there.best(own)))

    def best(self, start: FloatArray) -> FloatArray:
        """Return the model at which it is least."""
        from scipy.optimize import minimize

        contrasts = helmert(self.chances.shape[1])

        def both(flat: FloatArray) -> tuple[float, FloatArray]:
            model = flat.reshape(start.shape)
            off = (self.loss.probabilities(self.Z @ model @ self.scale) - self.chances) @ contrasts @ self.scale
            return self.value(model), (self.Z.T @ off / len(self.Z) + self.penalty[:, None] * model).ravel()

        options: Any = {"maxiter": 400, "ftol": 1e-10, "gtol": 1e-6}
        found: Any = minimize(both, start.ravel(), jac=True, method="L-BFGS-B", options=options)
        return np.asarray(found.x.reshape(start.shape))


def coordinates_of(tracker: Tracker) -> FloatArray:
    """Return the model of a tracker in whitened coordinates, (coordinates, scores)."""
    wide = tracker.snapshot()[1].wide
    contrasts = helmert(wide.outputs + 1)
    coef = tracker.coef.T @ contrasts
    along = np.asarray(wide.spectrum.basis, dtype=np.float64).T @ coef * wide.spectrum.variance[:, None]
    model = np.vstack([tracker.intercept @ contrasts + wide.spectrum.center @ coef, along])
    return np.asarray(np.linalg.solve(wide.scale, model.T).T)


def penalised_excess(tracker: Tracker, world: ClassesWorld, tested: int = 6000) -> float:
    """Return the true excess of the penalised loss that the promise of the last report is about."""
    X = world.rows(tested)
    known = Penalised.of(tracker, X, world.chances(X)[:, np.array(tracker.classes, dtype=np.int64)])
    model = coordinates_of(tracker)
    return known.value(model) - known.value(known.best(model))


def first_looks(columns: int, classes: int, rows: int, *, pool: int, runs: int, **world: Any) -> FloatArray:
    """Return stated risk, true risk and certificate of first periods of so many rows, one line for each run."""
    found = []
    for seed in range(runs):
        made = ClassesWorld(columns=columns, classes=classes, **world, rng=np.random.default_rng((11, seed)))
        tracker = Tracker(SoftmaxLoss(), epsilon=EPSILON, method="wide", rng=seed)
        if pool:
            tracker.fit_pool(made.rows(pool))
        tracker.ask()
        report = tracker.tell(*made.draw(rows))
        assert report is not None
        assert report.certificate is not None
        found.append((report.risk_bound, penalised_excess(tracker, made), report.certificate))
    return np.array(found)


def run(world: ClassesWorld, *, pool: int, epsilon: float, periods: int, seed: int) -> FloatArray:
    """Return stated risk, true risk, labels and CPU seconds of each period."""
    tracker = Tracker(SoftmaxLoss(), epsilon=epsilon, method="wide", rng=seed)
    if pool:
        tracker.fit_pool(world.rows(pool))
    found = []
    for period in range(periods):
        if period:
            world.step()
        began = time.process_time()
        report = tracker.step(world.draw)
        seconds = time.process_time() - began
        found.append((report.risk_bound, penalised_excess(tracker, world), report.samples, seconds))
    return np.array(found)


CASES = (
    ("50 columns, 3 classes", {"columns": 50, "classes": 3}, 2500, EPSILON),
    ("50 columns, 8 classes", {"columns": 50, "classes": 8}, 2500, 2.0 * EPSILON),
    ("50 columns, 8 classes, 20:1", {"columns": 50, "classes": 8, "imbalance": 20.0}, 2500, 2.0 * EPSILON),
    ("1,000 columns, 3 classes", {"columns": 1000, "classes": 3}, 2500, EPSILON),
    ("1,000 columns, 8 classes", {"columns": 1000, "classes": 8}, 2500, 2.0 * EPSILON),
    ("1,000 columns, 8 classes, 20:1", {"columns": 1000, "classes": 8, "imbalance": 20.0}, 2500, 2.0 * EPSILON),
    ("1,000 columns, 20 classes", {"columns": 1000, "classes": 20}, 2500, 3.0 * EPSILON),
    ("200 columns, 3 classes, no pool", {"columns": 200, "classes": 3}, 0, EPSILON),
)


def calibration(runs: int, wanted: Sequence[str], periods: int = 4) -> None:
    """Print stated and true risks of trackers that choose their labels, in worlds whose names begin as ``wanted``."""
    print(f"\nstated and true risk, {runs} runs of {periods} periods")
    print(f"{'':32s}{'target':>7s}{'first period':>27s}{'later periods':>27s}{'CPU s':>7s}")
    print(f"{'':39s}" + 2 * f" {'labels':>6s} {'stated':>6s} {'true':>6s} {'ratio':>5s}")
    for name, kwargs, pool, epsilon in CASES:
        if not name.startswith(tuple(wanted)):
            continue
        count = runs if kwargs["columns"] < 500 else max(runs // 2, 2)
        worlds = [ClassesWorld(**kwargs, rng=np.random.default_rng((7, seed))) for seed in range(count)]
        found = np.array(
            [run(world, pool=pool, epsilon=epsilon, periods=periods, seed=seed) for seed, world in enumerate(worlds)]
        )
        line = f"{name:32s}{epsilon:7g}"
        for part in (found[:, 0], found[:, 1:].reshape(-1, 4)):
            stated, true, labels, _ = part.mean(axis=0)
            line += f" {labels:6.0f} {stated:6.3f} {true:6.3f} {stated / true:5.2f}"
        print(f"{line} {found[:, :, 3].mean():6.1f}", flush=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class News:
    """Entries of the changelog by year: what a tracker is given, their classes, and rows as a matrix for scikit-learn."""

    name: str
    periods: list[Any]
    targets: list[FloatArray]
    text: str | None


def read_news(data: Path) -> Iterator[News]:
    """Yield the changelog by words and by vectors, of its commonest sections; issue numbers are a clock and left out."""
    import pandas as pd

    table = pd.read_csv(data / "cpython_news.csv.gz")
    vectors = np.load(data / "cpython_news_vectors.npz")["vectors"].astype(np.float64)
    common = table["section"].value_counts().index[:SECTIONS]
    kept = table["section"].isin(common).to_numpy()
    table, vectors = table[kept].reset_index(drop=True), vectors[kept]
    table["text"] = table["text"].str.replace(re.compile(r"(bpo|gh)-(issue-)?\d+"), " ", regex=True)
    places = [np.flatnonzero(table["period"] == period) for period in sorted(table["period"].unique())]
    codes = np.array([list(common).index(name) for name in table["section"]])
    targets = [codes[at] for at in places]
    yield News(name="words", periods=[table.loc[at, ["text"]] for at in places], targets=targets, text="text")
    yield News(name="vectors", periods=[vectors[at] for at in places], targets=targets, text=None)


def _rows(X: Any, chosen: Any) -> Any:
    return X.iloc[chosen] if hasattr(X, "iloc") else X[chosen]


def follow_news(news: News, epsilon: float, seed: int) -> dict[str, Any]:
    """Follow the changelog with a tracker; also return what others make of the labels that it bought."""
    rng = np.random.default_rng((5, seed))
    tracker = Tracker(SoftmaxLoss(classes=SECTIONS), epsilon=epsilon, method="wide", text=news.text, rng=seed)
    tracker.fit_pool(news.periods[0])
    orders = [rng.permutation(len(y)) for y in news.targets]
    tests = [order[: round(TEST_SHARE * len(order))] for order in orders]
    pools = [order[len(test) :] for order, test in zip(orders, tests, strict=True)]
    labels, stated, excess, losses, problems = [], [], [], [], []
    for X, y, pool, test in zip(news.periods, news.targets, pools, tests, strict=True):
        used = [0]

        def draw(count: int, X: Any = X, y: Any = y, pool: Any = pool, used: list[int] = used) -> Any:
            chosen = pool[used[0] : used[0] + count]
            used[0] += count
            return _rows(X, chosen), y[chosen]

        report = tracker.step(draw, pool=len(pool))
        labels.append(report.samples)
        stated.append(report.risk_bound)
        matrix = _matrix(tracker, X)
        problem = Penalised.of(tracker, matrix, np.eye(SECTIONS)[y])
        model = coordinates_of(tracker)
        problems.append((problem.only(test), problem.only(pool), problem.least(test, pool, model)))
        excess.append(problems[-1][0].value(model) - problems[-1][2])
        chances = tracker.predict_proba(_rows(X, test))
        losses.append(-float(np.log(chances[np.arange(len(test)), y[test]]).mean()))
    return {
        "labels": np.array(labels),
        "stated": np.array(stated),
        "excess": np.array(excess),
        "loss": np.array(losses),
        "sklearn": _sklearn_losses(tracker, news, labels, pools, tests),
        "problems": problems,
    }


def _matrix(tracker: Tracker, X: Any) -> Any:
    layout = tracker._reader.layout
    return X if layout is None else layout.matrix(X, "benchmark")


def _sklearn_losses(
    tracker: Tracker, news: News, labels: Sequence[int], pools: Sequence[Any], tests: Sequence[Any]
) -> FloatArray:
    """Return test log losses of logistic regression, (penalties, period or all so far, periods)."""
    if find_spec("sklearn") is None:
        return np.full((1, 2, len(labels)), np.nan)
    from scipy import sparse
    from sklearn.linear_model import LogisticRegression

    matrices = [sparse.csr_matrix(_matrix(tracker, X)) for X in news.periods]
    losses = np.zeros((len(PENALTIES), 2, len(labels)))
    for period, (matrix, y, test) in enumerate(zip(matrices, news.targets, tests, strict=True)):
        for scope, first in enumerate((period, 0)):
            chosen = [pools[place][: labels[place]] for place in range(first, period + 1)]
            X = sparse.vstack([matrices[first + place][one] for place, one in enumerate(chosen)])
            codes = np.concatenate([news.targets[first + place][one] for place, one in enumerate(chosen)])
            for place, strength in enumerate(PENALTIES):
                chances = np.full((len(test), SECTIONS), 1e-6)
                if len(np.unique(codes)) > 1:
                    fitted = LogisticRegression(C=strength, max_iter=300).fit(X, codes)
                    chances[:, fitted.classes_] = np.maximum(fitted.predict_proba(matrix[test]), 1e-6)
                losses[place, scope, period] = -float(np.log(chances[np.arange(len(test)), y[test]]).mean())
    return losses


PENALTIES = (1.0, 10.0, 100.0)


def constant_excess(found: dict[str, Any], size: int, strength: float, first: int) -> FloatArray:
    """Return the excess of buying ``size`` labels in every period after the first, which has ``first``.

    The model of a period is the best for its rows with the penalty, held to the last one as by ``strength`` rows.
    """
    excess, model = [], None
    for period, (tested, problem, least) in enumerate(found["problems"]):
        chosen = slice(0, first if period == 0 else size)
        count, outputs = len(problem.Z[chosen]), SECTIONS - 1
        own = count * np.maximum(problem.penalty, 1e-9)
        held = (0.0 if model is None else strength) * (1.0 / SECTIONS + problem.penalty)
        anchor = np.zeros((len(own), outputs)) if model is None else model * (held / (held + own))[:, None]
        y = problem.chances[chosen].argmax(axis=1).astype(np.float64)
        rows = WideRows(loss=problem.loss, Z=problem.Z[chosen], y=y, scale=problem.scale)
        model = mode(rows, anchor.ravel(), anchor.ravel(), 1.0 / (held + own), 1.0).reshape(-1, outputs)
        excess.append(tested.value(model) - least)
    return np.array(excess)


def best_constant(runs: list[dict[str, Any]], epsilon: float) -> tuple[int, bool]:
    """Return the least constant size with which the target is kept on average, for the best strength, and whether one is."""
    first = int(np.mean([found["labels"][0] for found in runs]))
    for size in SIZES:
        for strength in STRENGTHS:
            excess = np.array([constant_excess(found, size, strength, first) for found in runs])
            if excess[:, JUDGED_AFTER:].mean() <= epsilon:
                return size, True
    return SIZES[-1], False


def news(runs: int, data: Path, names: Sequence[str], *, yardstick: bool = True) -> None:
    """Print what the changelog took, by words and by vectors."""
    print(f"\nchangelog, {SECTIONS} sections, {runs} runs; risks of the periods from the third on, in targets")
    heads = ("stated", "true", "labels", "first", "K", "x K", "loss", "sklearn", "best C", "seconds")
    print(f"{'':16s}{'target':>7s}" + "".join(f"{head:>9s}" for head in heads))
    for one in read_news(data):
        if one.name not in names:
            continue
        for epsilon in TARGETS:
            began = time.process_time()
            found = [follow_news(one, epsilon, seed) for seed in range(runs)]
            seconds = time.process_time() - began
            late = {name: np.array([each[name] for each in found])[:, JUDGED_AFTER:] for name in ("stated", "excess")}
            labels = np.array([each["labels"] for each in found])
            losses = np.array([each["loss"] for each in found])[:, 1:].mean()
            sklearn = np.array([each["sklearn"] for each in found])[:, :, :, 1:].mean(axis=(0, 3)).min(axis=1)
            size, kept = best_constant(found, epsilon) if yardstick else (0, False)
            later = labels[:, JUDGED_AFTER:].mean()
            cells = (
                f"{late['stated'].mean() / epsilon:.2f}",
                f"{late['excess'].mean() / epsilon:.2f}",
                f"{later:.0f}",
                f"{labels[:, 0].mean():.0f}",
                f"{size}" if kept else f">{size}",
                f"{later / size:.2f}" if kept else "-",
                f"{losses:.3f}",
                f"{sklearn[0]:.3f}",
                f"{sklearn.min():.3f}",
                f"{seconds:.0f}",
            )
            print(f"{one.name:16s}{epsilon:7g}" + "".join(f"{cell:>9s}" for cell in cells), flush=True)


EXPONENTS = (0.0, 0.5, 1.0, 1.5, 2.0)
AMOUNTS = tuple(float(10.0**power) for power in np.arange(-2.0, 3.1, 0.5))


def exponents(runs: int, data: Path, count: int = 150) -> None:
    """Print the test log loss of so many labels on vectors, against the best power law and amount in hindsight."""
    one = next(each for each in read_news(data) if each.name == "vectors")
    X, y = np.concatenate(one.periods), np.concatenate(one.targets)
    losses = np.zeros((runs, 1 + len(EXPONENTS) * len(AMOUNTS)))
    for seed in range(runs):
        order = np.random.default_rng((3, seed)).permutation(len(y))
        chosen, test = order[:count], order[count : count + 2500]
        tracker = Tracker(SoftmaxLoss(classes=SECTIONS), epsilon=0.1, rng=seed)
        tracker.fit_pool(X[order[count:]])
        tracker.ask()
        tracker.tell(X[chosen], y[chosen])
        losses[seed, 0] = _log_loss(tracker.predict_proba(X[test]), y[test])
        losses[seed, 1:] = list(_power_laws(tracker, X, y, chosen, test))
    mine, laws = losses[:, 0].mean(), losses[:, 1:].mean(axis=0).reshape(len(EXPONENTS), -1).min(axis=1)
    best = laws.argmin()
    print(
        f"\n{count} labels on vectors, {SECTIONS} sections, {runs} draws: log loss {mine:.3f}; power laws, best amount each:"
    )
    print("  " + ", ".join(f"{power:g}: {loss:.3f}" for power, loss in zip(EXPONENTS, laws, strict=True)))
    print(
        f"  {100.0 * (mine / laws[best] - 1.0):.1f} % above the best in hindsight, exponent {EXPONENTS[best]:g}",
        flush=True,
    )


def _power_laws(tracker: Tracker, X: FloatArray, y: Any, chosen: Any, test: Any) -> Iterator[float]:
    spectrum = tracker.snapshot()[1].wide.spectrum
    loss = SoftmaxLoss(classes=SECTIONS)
    parts = [np.column_stack([np.ones(len(at)), spectrum.scores(X[at])]) for at in (chosen, test)]
    rows = WideRows(loss=loss, Z=parts[0], y=y[chosen].astype(np.float64))
    zero = np.zeros(parts[0].shape[1] * (SECTIONS - 1))
    for exponent in EXPONENTS:
        law = spectrum.variance**exponent
        for amount in AMOUNTS:
            prior = np.append(100.0, amount * law / law.sum())
            model = mode(rows, zero, zero, prior, 1.0).reshape(-1, SECTIONS - 1)
            yield _log_loss(loss.probabilities(parts[1] @ model), y[test])


def _log_loss(chances: FloatArray, y: Any) -> float:
    return -float(np.log(np.maximum(chances[np.arange(len(y)), y], 1e-300)).mean())


def main(options: Sequence[str] = ()) -> None:
    """Print everything, or some."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks wide_classes")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--only", nargs="+", default=["calibration", "words", "vectors", "exponents"])
    parser.add_argument("--worlds", nargs="+", default=[""], help="worlds of calibration whose names begin so")
    parser.add_argument("--no-yardstick", action="store_true")
    given = parser.parse_args(list(options))
    parts: dict[str, Callable[[], None]] = {
        "calibration": lambda: calibration(4 * given.runs, given.worlds),
        "exponents": lambda: exponents(6 * given.runs, given.data),
    }
    for name in given.only:
        if name in parts:
            parts[name]()
    if {"words", "vectors"} & set(given.only):
        news(given.runs, given.data, given.only, yardstick=not given.no_yardstick)


if __name__ == "__main__":
    main()
