"""The engine of many runs: its stream of normals, the same bits on any threads, the tracker's own numbers, the exact means."""

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

from driftpace import Ball, SquaredLoss, Tracker
from driftpace.drift import Direct, Drift, MeanChange, RootMargin
from driftpace.errors import ParameterError
from paper.montecarlo import Courses, RegressionStudy
from paper.montecarlo.kernels import stream

Z = 4.9  # about one false alarm in a million for each number that is looked at


def words(key: tuple[int, int], place: int, index: int, count: int) -> np.ndarray:
    out = np.zeros((count, 2), dtype=np.uint64)
    stream.fill_words(out, *(np.uint64(word) for word in (*key, place, index)))
    return out


def normals(key: tuple[int, int], place: int, index: int, count: int) -> np.ndarray:
    out = np.zeros((count, 2))
    stream.fill_normals(out, *(np.uint64(word) for word in (*key, place, index)))
    return out


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0), (0, 0), (0xF167B032C3B480BD, 0xE91F9FEE4B7A6FB5)),
        ((2**64 - 1,) * 2, (2**64 - 1,) * 2, (0xCCDEC5C917A874B1, 0x4DF53ABCA26CEB01)),
        (
            (0x243F6A8885A308D3, 0x13198A2E03707344),
            (0xA4093822299F31D0, 0x082EFA98EC4E6C89),
            (0xC3AAC71561042993, 0x3FE7AE8801AFF316),
        ),
    ],
)
def test_the_published_answers_of_threefry(
    counter: tuple[int, int], key: tuple[int, int], expected: tuple[int, int]
) -> None:
    """The known answers that its authors published for Threefry-2x64 with 13 rounds."""
    assert tuple(int(word) for word in words(key, *counter, 1)[0]) == expected


def test_normals_are_those_of_box_and_muller(seed: int) -> None:
    """Against the library's logarithm, sine and cosine, for the same words."""
    a, b = words((seed, 3), 5, 0, 20_000).T
    u = (2**52 - (a >> np.uint64(12)).astype(np.float64)) * 2.0**-52
    angle = ((b >> np.uint64(12)).astype(np.float64) * 2.0**-52 - 0.5) * (math.pi / 2.0)
    swapped, turned = (b & np.uint64(1)).astype(bool), (b & np.uint64(2)).astype(bool)
    radius = np.where(turned, -1.0, 1.0) * np.sqrt(-2.0 * np.log(u))
    first = radius * np.where(swapped, np.sin(angle), np.cos(angle))
    second = radius * np.where(swapped, np.cos(angle), np.sin(angle))
    drawn = normals((seed, 3), 5, 0, 20_000)
    np.testing.assert_allclose(drawn, np.column_stack([first, second]), rtol=5e-14, atol=1e-15)


@pytest.mark.statistical
def test_normals_are_normal(seed: int) -> None:
    """Moments up to the sixth, Kolmogorov and Smirnov, and beside NumPy's; each within Z standard errors or p > 1e-6."""
    drawn = normals((seed, 0), 1, 0, 100_000).ravel()
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (5, 0, 945), (6, 15, 10_170)):
        assert abs((drawn**power).mean() - mean) < Z * math.sqrt(variance / drawn.size)
    assert stats.kstest(drawn, "norm").pvalue > 1e-6
    assert stats.kstest(1.001 * drawn + 0.03, "norm").pvalue < 1e-6  # the control: a shift of 0.03 is seen
    assert stats.ks_2samp(drawn, np.random.default_rng(seed).standard_normal(100_000)).pvalue > 1e-6


@pytest.mark.statistical
def test_words_are_even_in_every_bit(seed: int) -> None:
    """Each of 128 bits is one half of the time set, and differs from its neighbour's half of the time, within Z."""
    drawn = words((seed, 11), 2, 0, 50_000)
    bits = np.unpackbits(drawn.view(np.uint8), axis=1).astype(np.float64)
    limit = Z * 0.5 / math.sqrt(len(bits))
    assert (abs(bits.mean(axis=0) - 0.5) < limit).all()
    assert (abs((bits[1:] != bits[:-1]).mean(axis=0) - 0.5) < limit).all()


@pytest.mark.statistical
def test_streams_do_not_know_of_each_other(seed: int) -> None:
    """Neighbouring runs, seeds, places and indices, and the two of a pair: correlations (of squares too) within Z/sqrt(count)."""
    count = 100_000
    base = normals((seed, 4), 7, 0, count + 1)
    others = {
        "run": normals((seed, 5), 7, 0, count),
        "seed": normals((seed + 1, 4), 7, 0, count),
        "seed and run exchanged": normals((4, seed), 7, 0, count) if seed != 4 else normals((5, seed), 7, 0, count),
        "place": normals((seed, 4), 8, 0, count),
        "index": base[1:],
        "pair": base[:count, ::-1],
    }
    for name, other in others.items():
        for transform in (lambda x: x, np.square):
            for column in range(2):
                result = np.corrcoef(transform(base[:count, column]), transform(other[:, column]))[0, 1]
                assert abs(result) < Z / math.sqrt(count), name
    across = np.array([normals((seed, run), 1, 0, 1)[0, 0] for run in range(2_000)])  # the first normal of each run
    assert abs(np.corrcoef(across[1:], across[:-1])[0, 1]) < Z / math.sqrt(across.size)
    assert stats.kstest(across, "norm").pvalue > 1e-6


def same(one: Courses, other: Courses) -> bool:
    names = ("risk", "samples", "rho", "coef", "truth")
    return all(np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True) for name in names)


STUDIES = {
    "as in theory 6.1": RegressionStudy(),
    "weighted": RegressionStudy(output="weighted", noise=0.5),
    "three features": RegressionStudy(features=3, variance=2.0, path="line"),
    "fixed sizes": RegressionStudy(periods=4, first_samples=(31, 7, 1, 2)),
}


@pytest.mark.parametrize("name", STUDIES)
def test_threads_and_blocks_change_no_bit(name: str, seed: int) -> None:
    study = STUDIES[name]
    expected = study.run(150, seed=seed, threads=1, block=150)
    for threads, block in ((1, 7), (2, 32), (3, 50), (2, 128), (3, 1)):
        assert same(study.run(150, seed=seed, threads=threads, block=block), expected)
    later = study.run(40, seed=seed, first_run=70, threads=2, block=13)
    assert np.array_equal(later.coef, expected.coef[70:110])
    assert not np.array_equal(study.run(1, seed=seed + 1).coef, expected.coef[:1])


class ConstantMargin:
    """t_n = 1, whatever n."""

    account: ClassVar[str] = "one"

    def upper(self, combined: Any) -> float:
        return float(combined.value) + 1.0


def tracked(study: RegressionStudy, run: int, seed: int) -> Courses:
    """Return the course of Tracker.as_in_paper on the rows of an engine's run."""
    margin: Any = RootMargin(scale=study.margin) if study.margin_shape == "falling" else ConstantMargin()
    drift = None if study.given_rho is not None else Drift(one_step=Direct(), combine=MeanChange(), margin=margin)
    tracker = Tracker.as_in_paper(
        SquaredLoss(),
        epsilon=study.epsilon,
        domain=Ball(radius=0.5 * study.diameter),
        constants=study.constants,
        rho=study.given_rho,
        drift=drift,
        learner=study.learner,
        first_samples=study.first_samples,
        features=study.features,
        rng=run,
    )
    truth = study.run(1, seed=seed, first_run=run).truth
    risk, samples, rho, coef = [], [], [], []
    for n in range(1, study.periods + 1):
        best = truth[0, n - 1]
        wanted = tracker.ask().samples
        X, y = study.rows(run, n, wanted, seed=seed, truth=best)
        order = np.random.default_rng((run, n)).permutation(wanted)  # in which the tracker visits rows
        given_X, given_y = np.empty_like(X), np.empty_like(y)
        given_X[order], given_y[order] = X, y
        report = tracker.tell(given_X, given_y) if wanted else tracker.tell()
        assert report is not None
        risk.append(0.5 * study.variance * float(((tracker.coef - best) ** 2).sum()))
        samples.append(report.samples)
        rho.append(math.nan if report.rho is None else report.rho)
        coef.append(tracker.coef)
    return Courses(
        risk=np.array([risk]),
        samples=np.array([samples]),
        rho=np.array([rho]),
        coef=np.array([coef]),
        truth=truth,
    )


COMPARED = {
    **STUDIES,
    "straight line": RegressionStudy(path="line"),
    "drift given": RegressionStudy(given_rho=1.0, first_samples=(400,)),
    "drift given, far too small": RegressionStudy(given_rho=0.05, first_samples=(400,)),
    "slow drift, some periods without rows": RegressionStudy(rho=0.02, noise=0.01, epsilon=0.3, margin=0.0),
    "no margin": RegressionStudy(margin=0.0),
    "constant margin": RegressionStudy(margin_shape="constant"),
    "sizes from the diameter": RegressionStudy(first_samples=(), diameter=60.0),
    "one first size": RegressionStudy(first_samples=(9,), diameter=60.0),
    "noisy": RegressionStudy(noise=1.5, variance=0.5, epsilon=0.2),
    "one feature": RegressionStudy(features=1),
    "six features": RegressionStudy(features=6, noise=0.02),
}


@pytest.mark.parametrize("name", COMPARED)
def test_the_engine_is_the_tracker(name: str, seed: int) -> None:
    """Fed the very rows that the engine drew, the tracker asks for the same samples and finds the same models."""
    study = COMPARED[name]
    courses = study.run(40, seed=seed)
    for run in (0, 17, 39):
        expected = tracked(study, run, seed)
        assert courses.samples[run].tolist() == expected.samples[0].tolist()
        for result, wanted in (
            (courses.coef[run], expected.coef[0]),
            (courses.rho[run], expected.rho[0]),
            (courses.risk[run], expected.risk[0]),
        ):
            np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=1e-9)
    if name.startswith("slow"):
        assert (courses.samples == 0).any()


@pytest.mark.statistical
@pytest.mark.parametrize(("features", "variance", "samples"), [(2, 1.0, 12), (2, 2.0, 5), (3, 0.5, 9), (5, 1.0, 30)])
def test_the_mean_risk_is_the_exact_recursion(features: int, variance: float, samples: int, seed: int) -> None:
    """On a walk E||e_n||^2 = a_K (E||e_{n-1}||^2 + rho^2) + s_K, with equality (theory 1.1g): each period within Z of it."""
    study = RegressionStudy(
        features=features, variance=variance, rho=0.7, periods=12, first_samples=(samples,) * 12, noise=0.3
    )
    runs = 4_000
    risk = study.run(runs, seed=seed).risk
    factors = study.bound.factors(samples)
    assert factors is not None
    expected, squared = [], 0.0
    for n in range(study.periods):
        value = factors.alpha * (squared + (study.rho**2 if n else 0.0)) + factors.beta
        squared = 2.0 * value / variance
        expected.append(value)
    error = risk.std(axis=0, ddof=1) / math.sqrt(runs)
    assert (abs(risk.mean(axis=0) - expected) < Z * error).all()
    other = replace(study, noise=0.36).run(runs, seed=seed).risk  # the control: a fifth more noise is seen
    assert (abs(other.mean(axis=0) - expected) > Z * error).any()


def test_the_truth_moves_by_rho(seed: int) -> None:
    walk = RegressionStudy(rho=0.3, features=3, periods=6).run(50, seed=seed).truth
    assert (walk[:, 0] == 0.0).all()
    np.testing.assert_allclose(np.linalg.norm(np.diff(walk, axis=1), axis=2), 0.3, rtol=1e-12)
    line = RegressionStudy(rho=0.3, path="line", periods=6).run(50, seed=seed).truth
    np.testing.assert_allclose(line, np.arange(6)[:, None] * line[:, 1:2], atol=1e-12)
    assert len(np.unique(line[:, 1, 0])) == 50


@pytest.mark.statistical
def test_directions_are_even(seed: int) -> None:
    """The angle of a step is uniform (p > 1e-6), and neighbouring steps are at every angle to each other."""
    steps = np.diff(RegressionStudy(periods=3, first_samples=(1, 1, 1)).run(20_000, seed=seed).truth, axis=1)
    turn = np.arctan2(steps[:, :, 1], steps[:, :, 0])
    for angle in (turn[:, 0], turn[:, 1], (turn[:, 1] - turn[:, 0] + math.pi) % (2.0 * math.pi) - math.pi):
        assert stats.kstest(angle, stats.uniform(-math.pi, 2.0 * math.pi).cdf).pvalue > 1e-6


def test_rows_can_be_had_in_parts() -> None:
    study = RegressionStudy(features=3)
    X, y = study.rows(5, 2, 9, seed=1, truth=[1.0, 2.0, 3.0])
    parts = [study.rows(5, 2, count, seed=1, truth=[1.0, 2.0, 3.0], first=first) for first, count in ((0, 4), (4, 5))]
    assert np.array_equal(np.vstack([part[0] for part in parts]), X)
    np.testing.assert_allclose(np.concatenate([part[1] for part in parts]), y, rtol=1e-12)
    assert study.rows(5, 2, 0, seed=1, truth=[1.0, 2.0, 3.0])[0].shape == (0, 3)


def test_one_run_and_one_period_have_no_spread() -> None:
    courses = RegressionStudy(periods=1).run(1, seed=0)
    assert courses.runs == 1
    assert math.isnan(courses.mean_risk_error)
    assert math.isnan(courses.spread_over_periods)
    assert math.isnan(courses.rho[0, 0])
    assert courses.samples.tolist() == [[50]]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"features": 0}, r"RegressionStudy\(features=...\) must be a whole number of at least 1; got 0"),
        ({"periods": 0}, r"RegressionStudy\(periods=...\) must be a whole number of at least 1; got 0"),
        ({"rho": -1.0}, r"RegressionStudy\(rho=...\) must be zero or more, and finite; got -1.0"),
        ({"noise": math.nan}, r"RegressionStudy\(noise=...\) must be zero or more, and finite; got nan"),
        ({"variance": 0.0}, r"RegressionStudy\(variance=...\) must be positive and finite; got 0.0"),
        ({"epsilon": 0.0}, r"RegressionStudy\(epsilon=...\) must be positive and finite; got 0.0"),
        ({"diameter": math.inf}, r"RegressionStudy\(diameter=...\) must be positive and finite; got inf"),
        ({"path": "circle"}, r"RegressionStudy\(path=...\) must be one of 'walk', 'line'; got 'circle'"),
        ({"margin": -0.5}, r"RegressionStudy\(margin=...\) must be zero or more, and finite; got -0.5"),
        (
            {"margin_shape": "log"},
            r"RegressionStudy\(margin_shape=...\) must be one of 'falling', 'constant'; got 'log'",
        ),
        ({"output": "tail"}, r"RegressionStudy\(output=...\) must be one of 'last', 'weighted'; got 'tail'"),
        ({"given_rho": -1.0}, r"RegressionStudy\(given_rho=...\) must be zero or more, and finite; got -1.0"),
        (
            {"first_samples": (50, 0)},
            r"RegressionStudy\(first_samples=...\) must be a tuple of whole numbers of at least 1",
        ),
    ],
)
def test_settings_that_cannot_be_are_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        RegressionStudy(**changes)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"runs": 0}, r"RegressionStudy.run\(runs=...\) must be a whole number of at least 1; got 0"),
        ({"runs": 2.5}, r"RegressionStudy.run\(runs=...\) must be a whole number of at least 1; got 2.5"),
        ({"seed": -1}, r"RegressionStudy.run\(seed=...\) must be a whole number of at least 0; got -1"),
        ({"seed": 2**63}, r"RegressionStudy.run\(seed=...\) must be below 2\^63; got 9223372036854775808"),
        ({"first_run": -3}, r"RegressionStudy.run\(first_run=...\) must be a whole number of at least 0; got -3"),
        ({"threads": 0}, r"RegressionStudy.run\(threads=...\) must be a whole number of at least 1; got 0"),
        ({"block": 0}, r"RegressionStudy.run\(block=...\) must be a whole number of at least 1; got 0"),
    ],
)
def test_runs_that_cannot_be_are_refused(asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        RegressionStudy().run(**{"runs": 2, "seed": 0, **asked})


def test_a_target_out_of_reach_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"RegressionStudy\(epsilon=...\) must be within reach of 1000000 samples"):
        RegressionStudy(noise=10.0, epsilon=1e-9).run(2, seed=0)


def test_rows_that_cannot_be_are_refused() -> None:
    study = RegressionStudy()
    with pytest.raises(ParameterError, match=r"RegressionStudy.rows\(truth=...\) must be a finite vector of length 2"):
        study.rows(0, 1, 3, seed=0, truth=[1.0])
    with pytest.raises(
        ParameterError, match=r"RegressionStudy.rows\(period=...\) must be a whole number of at least 1"
    ):
        study.rows(0, 0, 3, seed=0, truth=[1.0, 0.0])
