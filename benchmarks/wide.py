"""Thousands of columns: stated and true risk, labels, loss against other fits of the same rows, and speed.

python -m benchmarks wide [--only speed peers calibration]
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np

from driftpace import LogisticLoss, SquaredLoss, Tracker
from driftpace.typing import FloatArray

RUNS = 20
PERIODS = 6
EPSILON = 0.1


@dataclass
class WideWorld:
    """Gaussian rows whose variances fall as k^-decay, and a linear model whose coefficients follow the power of them.

    The model walks: in a period it moves by ``cost`` times epsilon in expected loss. Of ``classes`` the score is a logit.
    """

    columns: int
    decay: float = 1.0
    power: float = 1.0
    cost: float = 0.2
    noise: float = 1.0
    signal: float = 1.0
    classes: bool = False
    rng: np.random.Generator = field(default_factory=np.random.default_rng)

    def __post_init__(self) -> None:
        self.scale = np.sqrt((1.0 + np.arange(self.columns)) ** -self.decay)
        energy = np.square(self.scale) ** self.power
        self.each = np.sqrt(energy / energy.sum())
        self.model = np.sqrt(self.signal) * self.each * self.rng.standard_normal(self.columns)
        self.level = 0.3

    def step(self) -> None:
        """Move to the next period."""
        size = np.sqrt(2.0 * self.cost * EPSILON * (4.0 if self.classes else 1.0))
        self.model = self.model + size * self.each * self.rng.standard_normal(self.columns)
        self.level += size * self.rng.standard_normal()

    def rows(self, count: int) -> FloatArray:
        """Draw rows without labels."""
        drawn = self.rng.standard_normal((count, self.columns), dtype=np.float32)
        return np.asarray(drawn * self.scale.astype(np.float32))

    def draw(self, count: int) -> tuple[FloatArray, FloatArray]:
        """Draw labelled rows."""
        X = self.rows(count)
        scores = self.level + X @ (self.model / self.scale)
        if self.classes:
            return X, np.where(self.rng.random(count) < 1.0 / (1.0 + np.exp(-scores)), 1.0, -1.0)
        return X, scores + self.noise * self.rng.standard_normal(count)


def penalised_excess(tracker: Tracker, world: WideWorld, tested: int = 20_000) -> float:
    """Return the true excess of the penalised loss that the promise of the last report is about.

    For the squared loss by the moments of the world, exactly; for classes by the quadratic at the minimiser on ``tested`` rows.
    """
    _, state = tracker.snapshot()
    wide = state.wide
    assert wide is not None
    assert wide.penalty is not None
    penalty = np.repeat(wide.penalty, wide.sizes.astype(int))
    spectrum = wide.spectrum
    coef = tracker.coef
    if world.classes:
        return _class_excess(tracker, world, penalty, tested)
    basis = np.asarray(spectrum.basis, dtype=np.float64)
    spread = basis * world.scale[:, None]
    shift = -(spectrum.center @ basis)
    count = wide.size
    moments, cross = np.zeros((count, count)), np.zeros(count)
    moments[0, 0], moments[0, 1:], moments[1:, 0] = 1.0, shift, shift
    moments[1:, 1:] = spread.T @ spread + np.outer(shift, shift)
    cross[0] = world.level
    cross[1:] = spread.T @ world.model + shift * world.level
    hessian = moments + np.diag(penalty)
    model = _coordinates(spectrum, coef, tracker.intercept)
    error = model - np.linalg.solve(hessian, cross)
    return 0.5 * float(error @ hessian @ error)


def _coordinates(spectrum: Any, coef: FloatArray, intercept: float) -> FloatArray:
    """Return a model in whitened coordinates, from its coefficients: basis has orthogonal columns of length variance^-1/2."""
    along = np.asarray(spectrum.basis, dtype=np.float64).T @ coef * spectrum.variance
    return np.append(intercept + spectrum.center @ coef, along)


def _class_excess(tracker: Tracker, world: WideWorld, penalty: FloatArray, tested: int) -> float:
    _, state = tracker.snapshot()
    spectrum = state.wide.spectrum
    X = world.rows(tested)
    chance = 1.0 / (1.0 + np.exp(-(world.level + X @ (world.model / world.scale))))
    Z = np.column_stack([np.ones(tested), spectrum.scores(X)])
    model = _coordinates(spectrum, tracker.coef, tracker.intercept)

    def loss(at: FloatArray) -> float:
        scores = Z @ at
        return float(np.mean(np.logaddexp(0.0, scores) - chance * scores)) + 0.5 * float(penalty @ np.square(at))

    best = model.copy()
    for _ in range(6):
        fitted = 1.0 / (1.0 + np.exp(-(Z @ best)))
        gradient = Z.T @ (fitted - chance) / tested + penalty * best
        bend = fitted * (1.0 - fitted)
        hessian = (Z * bend[:, None]).T @ Z / tested + np.diag(penalty)
        best = best - np.linalg.solve(hessian, gradient)
    return loss(model) - loss(best)


def run(world: WideWorld, *, pool: int, epsilon: float, periods: int, seed: int) -> list[tuple[float, float, int]]:
    """Return the stated risk, the true one and the labels of each period."""
    loss = LogisticLoss() if world.classes else SquaredLoss()
    tracker = Tracker(loss, epsilon=epsilon, method="wide", rng=seed)
    if pool:
        tracker.fit_pool(world.rows(pool))
    found = []
    for period in range(periods):
        if period:
            world.step()
        report = tracker.step(world.draw)
        found.append((report.risk_bound, penalised_excess(tracker, world), report.samples))
    return found


CASES = (
    ("50 columns", {"columns": 50}, 4000),
    ("50 columns, no pool", {"columns": 50}, 0),
    ("1,000 columns", {"columns": 1000}, 4000),
    ("1,000 columns, flat", {"columns": 1000, "decay": 0.5, "power": 0.0}, 4000),
    ("1,000 columns, no pool", {"columns": 1000}, 0),
    ("10,000 columns", {"columns": 10_000}, 4000),
    ("200 columns, classes", {"columns": 200, "classes": True, "signal": 4.0}, 4000),
)


def calibration(runs: int = RUNS, cases: Any = CASES) -> None:
    """Print stated and true risks of trackers that choose their labels."""
    print(f"\nstated and true risk, target {EPSILON:g}, {runs} runs of {PERIODS} periods")
    print(f"{'':26s}{'first period':>28s}{'later periods':>28s}")
    print(f"{'':26s}" + 2 * f" {'labels':>7s} {'stated':>6s} {'true':>6s} {'ratio':>5s}")
    for name, kwargs, pool in cases:
        count = max(runs // 4, 3) if kwargs["columns"] > 5000 else runs
        found = np.array(
            [
                run(
                    WideWorld(**kwargs, rng=np.random.default_rng((7, seed))),
                    pool=pool,
                    epsilon=EPSILON,
                    periods=PERIODS,
                    seed=seed,
                )
                for seed in range(count)
            ]
        )
        line = f"{name:26s}"
        for part in (found[:, 0], found[:, 1:].reshape(-1, 3)):
            stated, true, labels = part.mean(axis=0)
            line += f" {labels:7.0f} {stated:6.3f} {true:6.3f} {stated / true:5.2f}"
        print(line, flush=True)


def first_looks(columns: int, rows: int, *, pool: int, runs: int, **world: Any) -> FloatArray:
    """Return the stated and the true risk of first periods of so many rows, one line for each run."""
    found = []
    for seed in range(runs):
        made = WideWorld(columns=columns, **world, rng=np.random.default_rng((11, seed)))
        tracker = Tracker(SquaredLoss(), epsilon=EPSILON, method="wide", rng=seed)
        if pool:
            tracker.fit_pool(made.rows(pool))
        tracker.ask()
        report = tracker.tell(*made.draw(rows))
        assert report is not None
        found.append((report.risk_bound, penalised_excess(tracker, made)))
    return np.array(found)


def speed() -> None:
    """Print the CPU seconds of pools and looks; ``look`` is ask() after 500 rows."""
    from scipy import sparse

    rng = np.random.default_rng(1)
    columns, terms = 100_000, 100
    cells = (rng.random(4500 * terms), rng.integers(0, columns, 4500 * terms), np.arange(0, 4501 * terms, terms))
    texts = sparse.csr_matrix(cells, shape=(4500, columns))
    dense = WideWorld(columns=10_000, rng=rng)
    cases: list[tuple[str, Any, Any]] = [
        ("10,000 columns, dense", dense.rows(3000), lambda: dense.draw(500)),
        ("100,000 columns, sparse", texts[:4000], lambda: (texts[4000:], rng.standard_normal(500))),
    ]
    print("\nCPU seconds: a pool of 3,000 or 4,000 rows once, then 500 rows")
    print(f"{'':26s}{'pool':>8s}{'deliver':>9s}{'first look':>12s}{'later look':>12s}{'close':>8s}")
    for name, pool, draw in cases:
        tracker = Tracker(SquaredLoss(), epsilon=0.05, rng=0)
        times = [_cpu(lambda tracker=tracker, pool=pool: tracker.fit_pool(pool))]
        looks = []
        for _ in range(2):
            tracker.ask()
            X, y = draw()
            deliver = _cpu(lambda tracker=tracker, X=X, y=y: tracker.tell(X, y, final=False))
            looks.append(_cpu(tracker.ask))
            close = _cpu(tracker.tell)
        print(f"{name:26s}{times[0]:8.2f}{deliver:9.2f}{looks[0]:12.2f}{looks[1]:12.2f}{close:8.2f}", flush=True)


def peers(columns: int = 10_000, rows: int = 500, rank: int = 20) -> None:
    """Print CPU seconds and test losses of others on the same labelled rows, with the ratio to the first look of a tracker."""
    from sklearn.linear_model import LogisticRegression, Ridge

    print(
        f"\n{rows} rows of {columns:,} columns: CPU seconds, those over the tracker's look, and the loss on test rows"
    )
    for classes in (False, True):
        world = WideWorld(columns=columns, classes=classes, signal=4.0, rng=np.random.default_rng(2))
        pool, (X, y), (test, expected) = world.rows(3000), world.draw(rows), world.draw(4000)
        tracker = Tracker(LogisticLoss() if classes else SquaredLoss(), epsilon=0.05, rng=0)
        shown = _cpu(lambda tracker=tracker, pool=pool: tracker.fit_pool(pool))
        tracker.ask()
        spent = _cpu(lambda tracker=tracker, X=X, y=y: tracker.tell(X, y, final=False)) + _cpu(tracker.ask)
        tracker.tell()
        scores = {"driftpace, with its risk": (spent, scores_of(tracker, test))}
        found: list[Any] = []
        if classes:
            for strength in (1.0, 0.01):
                model: Any = LogisticRegression(C=strength, max_iter=300)
                spent = _cpu(lambda model=model, X=X, y=y: model.fit(X, y))
                scores[f"scikit-learn, C={strength:g}"] = (spent, model.decision_function(test))
        else:
            for strength in (1.0, 30.0):
                model = Ridge(alpha=strength)
                spent = _cpu(lambda model=model, X=X, y=y: model.fit(X, y))
                scores[f"scikit-learn, alpha={strength:g}"] = (spent, model.predict(test))
        spent = _cpu(
            lambda X=X, y=y, classes=classes, found=found: found.append(low_rank_filter(X, y, rank, classes=classes))
        )
        weights, level = found[0]
        scores[f"low-rank filter, rank {rank}"] = (spent, test @ weights + level)
        if find_spec("laplace"):
            spent = _cpu(
                lambda X=X, y=y, classes=classes, found=found: found.append(laplace_torch(X, y, classes=classes))
            )
            weights, level = found[1]
            scores["laplace-torch, diagonal"] = (spent, test @ weights + level)
        print(f"{'two classes' if classes else 'numbers'}: pool {shown:.2f} s, once")
        look = scores["driftpace, with its risk"][0]
        for name, (seconds, each) in scores.items():
            losses = np.logaddexp(0.0, -expected * each) if classes else 0.5 * np.square(each - expected)
            print(f"  {name:26s}{seconds:8.2f} s {seconds / look:7.2f} x   test loss {losses.mean():.3f}", flush=True)


def scores_of(tracker: Tracker, X: FloatArray) -> FloatArray:
    """Return the scores of rows."""
    return np.asarray(X @ tracker.coef + tracker.intercept)


def low_rank_filter(X: FloatArray, y: FloatArray, rank: int, *, classes: bool, prior: float = 0.05) -> Any:
    """Return the weights and the level of an extended Kalman filter whose precision is diagonal plus low rank, row by row.

    The precision is eta I + W W' with ``rank`` columns W; a row adds a column, and the least direction is dropped.
    """
    rows = np.column_stack([np.asarray(X, dtype=np.float64), np.ones(len(X))])
    mean, eta = np.zeros(rows.shape[1]), 1.0 / prior
    W = np.zeros((rows.shape[1], 0))
    for x, target in zip(rows, y, strict=True):
        score = float(x @ mean)
        chance = 1.0 / (1.0 + np.exp(-score))
        bend = chance * (1.0 - chance) if classes else 1.0
        gap = (0.5 * (target + 1.0) - chance) if classes else target - score
        W = np.column_stack([W, np.sqrt(bend) * x])
        values, turn = np.linalg.eigh(W.T @ W)
        inner = turn @ ((turn.T @ (W.T @ x)) / (eta + values))
        mean = mean + (x - W @ inner) / eta * gap
        if W.shape[1] > rank:
            W = W @ turn[:, 1:]
    return mean[:-1], float(mean[-1])


def laplace_torch(X: FloatArray, y: FloatArray, *, classes: bool, rounds: int = 4) -> Any:
    """Return the weights and the level of a linear layer of torch whose prior precision laplace-torch chooses.

    The layer is fitted to its penalised loss by L-BFGS and the precision by the marginal likelihood of a diagonal Laplace
    approximation, in turn.
    """
    import torch
    from laplace import Laplace

    rows = torch.as_tensor(np.asarray(X, dtype=np.float32))
    if classes:
        targets = torch.as_tensor((np.asarray(y) > 0).astype(np.int64))
    else:
        targets = torch.as_tensor(np.asarray(y, dtype=np.float32))[:, None]
    loss = torch.nn.CrossEntropyLoss(reduction="sum") if classes else torch.nn.MSELoss(reduction="sum")
    layer = torch.nn.Linear(X.shape[1], 2 if classes else 1)
    torch.nn.init.zeros_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(rows, targets), batch_size=len(rows))
    precision = 1.0
    for _ in range(rounds):
        optimizer = torch.optim.LBFGS(layer.parameters(), max_iter=100, line_search_fn="strong_wolfe")

        def closure(optimizer: Any = optimizer, precision: float = precision) -> Any:
            optimizer.zero_grad()
            half = 1.0 if classes else 0.5
            value = half * loss(layer(rows), targets) + 0.5 * precision * layer.weight.square().sum()
            value.backward()
            return value

        optimizer.step(closure)
        around = Laplace(
            layer,
            "classification" if classes else "regression",
            subset_of_weights="all",
            hessian_structure="diag",
            prior_precision=precision,
        )
        around.fit(loader)
        around.optimize_prior_precision(method="marglik", pred_type="glm", link_approx="probit")
        precision = float(around.prior_precision.mean())
    weights, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    if classes:
        return weights[1] - weights[0], float(bias[1] - bias[0])
    return weights[0], float(bias[0])


def _cpu(call: Any) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def main(options: Sequence[str] = ()) -> None:
    """Print everything, or some parts."""
    parts = {"speed": speed, "peers": peers, "calibration": calibration}
    parser = argparse.ArgumentParser(prog="python -m benchmarks wide")
    parser.add_argument("--only", nargs="*", choices=list(parts), default=list(parts))
    for name in parser.parse_args(list(options)).only:
        parts[name]()


if __name__ == "__main__":
    began = time.process_time()
    main()
    print(f"{time.process_time() - began:.0f} CPU seconds")
