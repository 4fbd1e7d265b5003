"""retrainopt on a table: a plan of the first periods decides how often to fit afresh, and on how many rows.

Its planner minimises weighted losses plus training costs over a history whose rows are all labelled; its online policy then
repeats the interval and the size that were best there. It has no target, so what a label costs in units of the loss stands in.
"""

from importlib import import_module
from typing import Any

import numpy as np

from driftpace.backtest.anchored import fit_fresh
from driftpace.backtest.job import Job, SplitRows
from driftpace.backtest.metrics import RunMetrics, measure
from driftpace.typing import FloatArray

PRICES = tuple(np.geomspace(1e-6, 1e-2, 9).tolist())
CHOICES = (3, 5, 8, 12, 20)  # rows per coefficient that a fit may have
HISTORY = 5  # one period in five is history
LEAST_HISTORY = 3


def retrainopt(job: Job, rows: tuple[SplitRows, ...], price: float) -> RunMetrics:
    """Measure its Base policy at a price of a label; in its history every candidate is bought and the largest fit is used."""
    api = import_module("retrainopt")
    history = max(len(rows) // HISTORY, LEAST_HISTORY)
    choices = tuple(each * job.coefficients for each in CHOICES)
    timeline, models = _timeline(rows, choices[-1]), _models(job, rows)
    config = api.PlannerConfig(n_choices=choices)

    def cost(*, n_samples: int, **_: Any) -> float:
        return price * n_samples

    learned = api.collect_online_training_data(timeline, models, config, history_steps=history, training_cost_fn=cost)
    policy = api.BaseOnlinePolicy.from_plan(learned.plan)
    coefs, samples = np.zeros((len(rows), job.coefficients)), np.zeros(len(rows))
    for period in range(history):
        samples[period] = timeline.train_size(period)
        coefs[period] = models.fit(timeline.get_train_block(period), step=period)
    last = history - 1
    controller = api.OnlineController(
        timeline,
        models,
        policy,
        config,
        initial_model=coefs[last],
        initial_reference_loss=models.evaluate(coefs[last], timeline.get_eval_block(last), step=last),
        start_step=history,
        initial_trained_at=last,
        training_cost_fn=cost,
    )
    for period in range(history, len(rows)):
        decision = controller.step().decision
        samples[period] = decision.n_samples or 0
        coefs[period] = controller.current_model
    return measure(rows, coefs, samples)


def _timeline(rows: tuple[SplitRows, ...], most: int) -> Any:
    """Return the run as its kind of timeline: pools in their order, ``most`` rows of each, and the test rows to evaluate on."""
    api = import_module("retrainopt")

    class Timeline(api.TimelineDataset):  # type: ignore[misc, name-defined]
        @property
        def num_steps(self) -> int:
            return len(rows)

        def get_train_block(self, step: int) -> tuple[FloatArray, FloatArray]:
            return rows[step].bought(0, self.train_size(step))

        def get_eval_block(self, step: int) -> tuple[FloatArray, FloatArray]:
            return rows[step].test()

        def train_size(self, step: int) -> int:
            return min(most, rows[step].pool)

        def sample_train_block(self, step: int, n_samples: int, *, seed: int) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
            return rows[step].bought(0, min(n_samples, self.train_size(step)))

    return Timeline()


def _models(job: Job, rows: tuple[SplitRows, ...]) -> Any:
    """Return fresh fits as its kind of model."""
    api = import_module("retrainopt")

    class Models(api.ModelAdapter):  # type: ignore[misc, name-defined]
        def fit(self, train_data: tuple[FloatArray, FloatArray], *, step: int, **_: int) -> FloatArray:
            return fit_fresh(rows[step].population.loss, *train_data, job.scale)

        def evaluate(self, model: FloatArray, eval_data: tuple[FloatArray, FloatArray], *, step: int) -> float:
            return float(rows[step].population.loss.value(model, *eval_data))

    return Models()
