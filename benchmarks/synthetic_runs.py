"""Many runs on one synthetic population: labels, losses, certificates and status of the default tracker, and an oracle."""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from benchmarks.synthetic_cases import LOSSES, Case
from driftpace import Tracker
from driftpace.backtest.anchored import LEAST, STRENGTHS
from driftpace.backtest.promise import Promise, promise
from driftpace.backtest.yardstick import PILOT_PERIODS, ROWS_PER_COEFFICIENT, find_best_constant
from driftpace.executors import one_thread
from driftpace.records import StepReport, Verdict
from driftpace.synthetic import ShapedClasses, ShapedRegression
from driftpace.synthetic.shaped_regression import RegressionPeriod
from driftpace.typing import FloatArray

LEVEL = 0.95
CAP = 20_000
MOST_EACH = 40  # rows per coefficient that the oracle may buy in a period
ORACLE_RUNS = 60
AnyPopulation = ShapedRegression | ShapedClasses


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseResult:
    """Results of one population. ``oracle`` is the total of the best constant size, NaN where it was not asked for or none keeps.

    ``coverage`` is over run-periods without a failed check, ``coverage_all`` over all with a certificate, ``error`` the
    standard error of the former over runs. ``failed`` and ``warned`` are shares of run-periods with such a verdict at worst,
    ``checks`` names them; ``outcomes`` are shares of outcomes other than a kept promise. ``crashes`` counts runs that raised.
    """

    case: Case
    runs: int
    judged: Promise
    risk: float
    labels: float
    total: float
    oracle: float
    coverage: float
    coverage_all: float
    error: float
    tightness: float
    failed: float
    warned: float
    checks: str
    outcomes: str
    crashes: int
    crash: str

    @property
    def kept(self) -> bool:
        """Whether the promise was kept, by runs that all came to their end."""
        return self.judged.kept and self.crashes == 0

    @property
    def covered(self) -> bool:
        """Whether the certificate covers at its level; a population without certificates that count is not against it."""
        return math.isnan(self.coverage) or self.coverage >= LEVEL


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Run:
    samples: FloatArray
    certificate: FloatArray
    verdict: FloatArray
    coefs: FloatArray
    names: Counter[str]
    outcomes: Counter[str]


def study(item: tuple[Case, int, int]) -> CaseResult:
    """Return the results of a population; ``item`` is (case, runs, periods). It depends on nothing else."""
    case, runs, periods = item
    with one_thread():
        return _study(case, runs, periods)


def _study(case: Case, runs: int, periods: int) -> CaseResult:
    done, risks, crash, crashes = list[_Run](), list[FloatArray](), "", 0
    shared = None if case.loss == "squared" else case.population(0)
    for run in range(runs):
        population = case.population(run) if shared is None else shared
        try:
            followed = _follow(case, population, run, periods)
        except Exception as error:  # a tracker must not raise on honest rows: count it, go on and show it
            crashes, crash = crashes + 1, crash or f"{type(error).__name__}: {error}"
            continue
        done.append(followed)
        if shared is None:
            risks.append(np.array([_risk(case, population, n, followed.coefs[n]) for n in range(periods)]))
    if not done:
        return _nothing(case, runs, crash)
    if shared is not None:
        coefs = np.array([one.coefs for one in done])
        stacked = np.array([_risk(case, shared, n, coefs[:, n]) for n in range(periods)]).T
        risks = list(stacked)
    risk, samples = np.array(risks), np.array([one.samples for one in done])
    certificate, verdict = np.array([one.certificate for one in done]), np.array([one.verdict for one in done])
    known = np.isfinite(certificate)
    counted = known & (verdict < 2)
    within, cells = risk <= certificate, risk.size
    each = [float(hit[count].mean()) for hit, count in zip(within, counted, strict=True) if count.any()]
    names, outcomes = sum((one.names for one in done), Counter()), sum((one.outcomes for one in done), Counter())
    return CaseResult(
        case=case,
        runs=runs,
        judged=promise(risk, case.epsilon),
        risk=float(risk.mean()) / case.epsilon,
        labels=float(samples.mean()),
        total=float(samples.sum(axis=1).mean()),
        oracle=oracle(case, min(runs, ORACLE_RUNS), periods) if case.loss == "squared" else math.nan,
        coverage=float(within[counted].mean()) if counted.any() else math.nan,
        coverage_all=float(within[known].mean()) if known.any() else math.nan,
        error=float(np.std(each, ddof=1)) / math.sqrt(len(each)) if len(each) > 1 else math.nan,
        tightness=float(certificate[counted].mean() / risk[counted].mean()) if counted.any() else math.nan,
        failed=float((verdict == 2).mean()),
        warned=float((verdict == 1).mean()),
        checks=_shares(names, cells),
        outcomes=_shares(outcomes, cells),
        crashes=crashes,
        crash=crash,
    )


def _nothing(case: Case, runs: int, crash: str) -> CaseResult:
    nothing = math.nan
    return CaseResult(
        case=case,
        runs=runs,
        judged=Promise(mean=nothing, periods_above=0, kept=False),
        risk=nothing,
        labels=nothing,
        total=nothing,
        oracle=nothing,
        coverage=nothing,
        coverage_all=nothing,
        error=nothing,
        tightness=nothing,
        failed=nothing,
        warned=nothing,
        checks="",
        outcomes="",
        crashes=runs,
        crash=crash,
    )


def _follow(case: Case, population: AnyPopulation, run: int, periods: int) -> _Run:
    """Run the default tracker on a population."""
    tracker = Tracker(
        LOSSES[case.loss], epsilon=case.epsilon, certificate_level=LEVEL, features=case.features, cap=CAP, rng=run
    )
    reports, coefs = list[StepReport](), []
    for period in range(1, periods + 1):
        now, rows = population.period(period), np.random.default_rng([case.seed, run, period])
        reports.append(tracker.step(lambda samples, now=now, rows=rows: now.draw(samples, rng=rows)))  # type: ignore[misc]
        coefs.append(np.append(tracker.coef, tracker.intercept))
    names: Counter[str] = Counter()
    verdicts = []
    for report in reports:
        marks = {one.name: one.verdict for one in report.assumptions}
        names.update(f"{name} {mark.value}" for name, mark in marks.items() if mark is not Verdict.PASS)
        verdicts.append(2 if Verdict.FAIL in marks.values() else 1 if Verdict.WARN in marks.values() else 0)
    return _Run(
        samples=np.array([report.samples for report in reports], dtype=np.float64),
        certificate=np.array([math.nan if one.certificate is None else one.certificate for one in reports]),
        verdict=np.array(verdicts, dtype=np.float64),
        coefs=np.array(coefs),
        names=names,
        outcomes=Counter(one.outcome.value for one in reports if not one.outcome.promised),
    )


def _risk(case: Case, population: AnyPopulation, n: int, coefs: FloatArray) -> FloatArray:
    """Return the excess risk in period n, counted from 0, of one model or a stack, the intercept last."""
    return np.asarray(population.period(n + 1).excess_risk(LOSSES[case.loss], coefs))


def _shares(counts: Counter[str], cells: int) -> str:
    return ", ".join(f"{name} {100 * count / cells:.0f} %" for name, count in counts.most_common())


def oracle(case: Case, runs: int, periods: int) -> float:
    """Return the total labels of the best constant size with the best constant anchor, in coordinates where H is the identity."""
    size = case.features + 1
    populations = [case.population(run) for run in range(runs)]
    pilot, largest = ROWS_PER_COEFFICIENT * size, MOST_EACH * size

    def risks(constant: int) -> FloatArray:
        models = np.zeros((len(STRENGTHS), runs, size))
        risks_by_strength = np.empty((len(STRENGTHS), runs, periods))
        for n in range(periods):
            now = pilot if n < PILOT_PERIODS else constant
            if now:
                each = [
                    _moments(population, n, now, [case.seed, run, n, 1]) for run, population in enumerate(populations)
                ]
                gram, right = (np.array(part) for part in zip(*each, strict=True))
                models = _anchored(gram, right, models, STRENGTHS if n else np.zeros_like(STRENGTHS))
            truth = np.array([np.append(_regression(population, n).whitened, 0.0) for population in populations])
            risks_by_strength[:, :, n] = 0.5 * np.square(models - truth).sum(axis=2)
        return risks_by_strength

    best = find_best_constant(risks, np.full(periods, case.epsilon), largest)
    return float(PILOT_PERIODS * pilot + (periods - PILOT_PERIODS) * best.size) if best.kept else math.nan


def _regression(population: AnyPopulation, n: int) -> RegressionPeriod:
    now = population.period(n + 1)
    assert isinstance(now, RegressionPeriod)
    return now


def _moments(population: AnyPopulation, n: int, rows: int, seed: list[int]) -> tuple[FloatArray, FloatArray]:
    """Return X'X/k and X'y/k of fresh rows in whitened coordinates, with an intercept last."""
    now = _regression(population, n)
    X, y = now.draw(rows, rng=np.random.default_rng(seed))
    whitened = np.column_stack([X @ now.rows.colour(np.eye(now.features)).T, np.ones(rows)])
    return whitened.T @ whitened / rows, whitened.T @ y / rows


def _anchored(gram: FloatArray, right: FloatArray, anchors: FloatArray, strengths: FloatArray) -> FloatArray:
    """Return (strengths, runs, coefficients): least squares plus strength/2 times the squared distance to each anchor."""
    moved = anchors.copy()
    identity = np.eye(gram.shape[-1])
    for index, strength in enumerate(strengths):
        if np.isfinite(strength):
            system = gram + max(float(strength), LEAST) * identity
            rest = right - np.einsum("rij,rj->ri", gram, anchors[index])
            moved[index] += np.linalg.solve(system, rest[:, :, None])[:, :, 0]
    return moved
