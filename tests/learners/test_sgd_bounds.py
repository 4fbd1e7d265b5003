"""A learner is paired with the bound that is true for it, and with nothing else."""

import itertools
from typing import Any

import pytest

from driftpace import bounds as b
from driftpace.errors import ParameterError, UnknownConstantError
from driftpace.learners import Sgd
from driftpace.learners.sgd_bounds import FORMS, OUTPUTS, STEPS
from driftpace.records import Constants
from driftpace.schedules import ConstantSteps, GreedySteps, InverseTime
from driftpace.testing import check_bound

ALL = Constants.given(
    m=0.5, M=1.0, L=3.0, A=0.6, B=3.0, sigma=0.7, V=2.0, sigma_star=0.6, G=2.0, noise=0.4, trace=1.5, R2=3.5
)
ALIKE = Constants.given(m=1.0, M=1.0, noise=0.4, trace=2.0)
READS = {
    "second-moment": {"A", "B"},
    "row-smooth": {"L", "sigma_star"},
    "variance": {"sigma", "V"},
    "least-squares": {"noise", "trace", "R2"},
    "gaussian": {"noise", "trace"},
    "bounded": {"G"},
}


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ({}, b.LastIterate),
        ({"shift": 40.0}, b.LastIterate),
        ({"steps": "harmonic", "shift": 30.0}, b.LastIterate),
        ({"steps": "constant"}, b.LastIterate),
        ({"steps": InverseTime(scale=1.0, shift=9.0)}, b.LastIterate),
        ({"steps": "greedy"}, b.Greedy),
        ({"steps": "greedy", "form": "row-smooth", "batch": 4}, b.Greedy),
        ({"batch": 4}, b.LastIterate),
        ({"output": "weighted"}, b.Weighted),
        ({"output": "weighted", "form": "bounded", "shift": 1.0}, b.WeightedBounded),
        ({"output": "uniform", "steps": "constant"}, b.UniformAverage),
        ({"output": "uniform", "steps": "constant", "form": "least-squares"}, b.LeastBound),
        ({"output": "uniform", "steps": "harmonic", "form": "bounded"}, b.LogarithmicAverage),
        ({"output": "tail", "steps": "constant", "form": "least-squares"}, b.AveragedSquares),
        ({"form": "gaussian", "eigenvalues": (1.0, 0.5)}, b.GaussianLeastSquares),
        ({"form": "gaussian", "eigenvalues": (1.0, 0.5), "steps": "greedy"}, b.Greedy),
        ({"form": "gaussian", "eigenvalues": (1.0, 1.0), "steps": "constant", "output": "uniform"}, b.ExactAverage),
    ],
)
def test_the_bound_is_the_one_for_these_steps_and_this_output(words: dict[str, Any], kind: type[Any]) -> None:
    learner = Sgd(**words)
    bound = learner.bound(ALL, features=2)
    assert type(bound) is kind
    schedule = getattr(bound, "schedule", None)
    if schedule is not None:
        assert schedule == learner.schedule(ALL)
    if learner.batch > 1:
        assert getattr(bound, "batch", None) == learner.batch
    check_bound(bound, rate_samples=(2**16, 2**18))


@pytest.mark.parametrize(
    "words",
    [
        {"output": "tail"},
        {"output": "tail", "steps": "constant"},
        {"output": "tail", "steps": "constant", "form": "least-squares", "step": 0.5},
        {"output": "uniform"},
        {"output": "uniform", "steps": "greedy"},
        {"output": "uniform", "steps": "harmonic"},
        {"output": "uniform", "steps": "constant", "step": 5.0},
        {"output": "weighted", "steps": "constant"},
        {"output": "weighted", "steps": "greedy"},
        {"output": "weighted", "shift": 3.0},
        {"output": "weighted", "form": "bounded", "shift": 2.0},
        {"output": "weighted", "batch": 2},
        {"output": "uniform", "steps": "constant", "batch": 2},
        {"steps": GreedySteps(m=1.0, A=1.0, B=1.0)},
        {"steps": ConstantSteps(step=10.0), "form": "row-smooth"},
        {"form": "gaussian"},
        {"form": "gaussian", "eigenvalues": (1.0, 0.5, 0.2)},
    ],
)
def test_where_no_bound_is_true_none_is_given(words: dict[str, Any]) -> None:
    with pytest.raises(ParameterError) as refused:
        Sgd(**words).bound(ALL, features=2)
    sentence = str(refused.value)
    assert type(refused.value) is ParameterError
    assert sentence.endswith(".")
    assert sentence.count(". ") == 0


AVERAGES = {
    *(("inverse-time", "weighted", form, 1) for form in FORMS),
    *(("constant", "uniform", form, 1) for form in FORMS),
    *(("constant", "tail", form, 1) for form in ("least-squares", "gaussian")),
    ("harmonic", "uniform", "bounded", 1),
}


@pytest.mark.parametrize(("steps", "output", "form", "batch"), list(itertools.product(STEPS, OUTPUTS, FORMS, (1, 3))))
def test_every_combination_has_a_bound_or_a_sentence(steps: str, output: str, form: str, batch: int) -> None:
    learner = Sgd(steps=steps, output=output, form=form, batch=batch)
    constants = ALIKE if form == "gaussian" else ALL
    too_long = steps == "harmonic" and form in ("row-smooth", "variance", "least-squares")  # 1/m is past the limit
    if output == "last" and not too_long:
        bound = learner.bound(constants, features=2)
        assert 0.0 <= bound(1.0, 10**5) <= bound(1.0, 100) <= bound(1.0, 0)
    elif (steps, output, form, batch) not in AVERAGES:
        with pytest.raises(ParameterError, match="for which a bound is known"):
            learner.bound(constants, features=2)
    else:
        bound = learner.bound(constants, features=2)
        assert 0.0 <= bound(1.0, 10**5) <= bound(1.0, 100) <= bound(1.0, 0)


@pytest.mark.parametrize("form", sorted(READS))
def test_a_constant_that_is_missing_is_named(form: str) -> None:
    known = {"m": 1.0, "M": 1.0, "A": 1.0, "B": 4.0, "sigma": 1.0, "V": 1.0, "sigma_star": 1.0, "L": 4.0}
    known |= {"G": 2.0, "noise": 1.0, "trace": 2.0, "R2": 4.0}
    for name in sorted(READS[form] | {"m", "M"}):
        less = Constants.given(**{key: value for key, value in known.items() if key != name})
        with pytest.raises(UnknownConstantError, match=rf"Constants\({name}=...\)"):
            Sgd(form=form).bound(less, features=2)
    Sgd(form=form).bound(Constants.given(**{key: known[key] for key in READS[form] | {"m", "M"}}), features=2)


def test_the_least_of_two_true_bounds_decides() -> None:
    bound = Sgd(output="uniform", steps="constant", form="least-squares").bound(ALL, features=2)
    assert isinstance(bound, b.LeastBound)
    for samples in (1, 10, 1000):
        assert bound(1.0, samples) == min(member(1.0, samples) for member in bound.bounds)


def test_a_constant_step_tuned_to_each_form_gains() -> None:
    for form in FORMS:
        constants = ALIKE if form == "gaussian" else ALL
        bound = Sgd(steps="constant", form=form).bound(constants, features=2)
        assert bound(100.0, 50) <= bound(100.0, 1) < bound(100.0, 0)
