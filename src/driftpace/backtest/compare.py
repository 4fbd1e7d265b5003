"""What accuracy costs: kinds of models on the user's own history, each with its labels per period and its loss."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from driftpace import validation
from driftpace.backtest.compare_result import ComparedModel, ModelComparison
from driftpace.backtest.job import default_loss
from driftpace.backtest.model_runs import (
    HALF_LIVES,
    History,
    ModelRun,
    SplitHistory,
    frozen_run,
    head_run,
    linear_run,
    reference_run,
    refit_run,
)
from driftpace.backtest.population import find_population
from driftpace.backtest.table import Panel, read_table
from driftpace.errors import DataError, MissingExtraError, ParameterError
from driftpace.executors import one_thread
from driftpace.losses import LinearLoss, VectorLoss, loss_spec
from driftpace.losses.softmax import helmert
from driftpace.models import ModelAdapter, adapt
from driftpace.progress import Progress
from driftpace.typing import FloatArray

_OWNER = "compare_models"

KINDS = ("linear", "head", "trees")
"""The kinds of models: a linear one, a head on trees, and trees that are fitted again."""

LIBRARIES = ("lightgbm", "xgboost", "catboost", "sklearn")
"""The libraries of trees, each a name for trees of it; the first that is installed is the default."""

SHARES = (0.02, 0.05, 0.1)
"""The targets by default, as shares of the loss of the reference."""

FIRST = 0.2
"""The share of the periods that train the trees, by default."""

MEASURED = 8
"""The most periods in which trees that are fitted again are measured."""

MOST_SIZES = 6
LEAST_SIZE = 20
LEAST_ROWS = 30
TREES = 100


def compare_models(  # noqa: PLR0913  public API
    frame: Any,
    *,
    period: str | None = None,
    target: str | None = None,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    model: Any = None,
    models: Sequence[str] = KINDS,
    epsilon: Sequence[float] | None = None,
    first: float = FIRST,
    runs: int = 2,
    test_fraction: float = 1.0 / 3.0,
    seed: int = 0,
    progress: bool | None = None,
    sheet: str | int | None = None,
) -> ModelComparison:
    """Compare kinds of models on a labelled table: what does each level of accuracy cost in labels?

    The first periods train the trees. Over the others each kind buys labels as it would have done, and is measured on rows that it
    never sees: a linear model and a head on the trees at several targets, the head with re-training whenever it is advised, and
    trees that are fitted again on everything, at several constant sizes.

    Parameters
    ----------
    frame : path, bytes, mapping, frame or Table
        Anything that :func:`driftpace.tables.read_columns` reads, or a bundled table.
    period, target, features, exclude, sheet
        As in :func:`driftpace.backtest`.
    model : object, optional
        A fitted model of trees whose settings the trees take, or the path of a file of one, as
        :func:`~driftpace.models.read_model` reads; its columns must be those after encoding. It is trained anew on the first
        periods, since it may have seen the others. By default LightGBM where it is installed, else XGBoost, CatBoost, or
        scikit-learn's HistGradientBoosting.
    models : sequence of {"linear", "head", "trees", "lightgbm", "xgboost", "catboost", "sklearn"}
        The kinds to compare. The name of a library is ``"trees"`` of it, on which the head is too.
    epsilon : sequence of float, optional
        The targets, in units of the loss. By default 2, 5 and 10 % of the loss of the reference.
    first : float
        The share of the periods that train the trees.
    runs : int
        How many times to replay the table.
    test_fraction : float
        Share of the rows of a period that are test rows.
    seed : int
        The same seed gives the same numbers.
    progress : bool, optional
        Show a progress bar; by default on a terminal.

    Returns
    -------
    ModelComparison

    Raises
    ------
    ParameterError, DataError, MissingExtraError

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2.0, 2.0, 1200)
    >>> table = {"month": np.repeat(np.arange(6), 200), "x": x, "y": np.sin(2.0 * x) + 0.3 * rng.normal(size=1200)}
    >>> found = compare_models(table, period="month", target="y", models=["linear"], epsilon=[0.05], runs=1)
    >>> [each.kind for each in found.models]
    ['reference', 'frozen', 'linear']
    """
    settings = CompareSettings(
        models=read_kinds(models, _OWNER),
        library=library_of(models, _OWNER),
        epsilon=None if epsilon is None else tuple(float(each) for each in epsilon),
        first=first,
        runs=runs,
        test_fraction=test_fraction,
        seed=seed,
    )
    panel = read_table(
        frame, period=period, target=target, features=features, exclude=exclude, sheet=sheet, owner=_OWNER
    )
    return compare_panel(panel, settings, model=model, progress=progress)


@dataclass(frozen=True, kw_only=True, slots=True)
class CompareSettings:
    """How models are compared; the fields are parameters of :func:`compare_models`."""

    models: tuple[str, ...]
    epsilon: tuple[float, ...] | None
    first: float
    runs: int
    test_fraction: float
    seed: int
    library: str | None = None

    def __post_init__(self) -> None:
        validation.count(_OWNER, least=1, runs=self.runs)
        validation.count(_OWNER, least=0, seed=self.seed)
        validation.fraction(_OWNER, test_fraction=self.test_fraction, first=self.first)
        for each in self.epsilon or ():
            validation.positive(_OWNER, epsilon=each)


def compare_panel(
    panel: Panel, settings: CompareSettings, *, model: Any = None, progress: bool | None = None
) -> ModelComparison:
    """Compare kinds of models on a panel."""
    began = time.perf_counter()
    history = _history(panel, settings.first)
    learner = _learner(panel, model, settings.library)
    with one_thread(), Progress(progress) as bar:
        base = learner(*history.first_rows())
        splits = [
            SplitHistory.of(history, test_fraction=settings.test_fraction, seed=settings.seed, run=run)
            for run in range(settings.runs)
        ]
        comparison = _Comparison(splits=splits, base=base, bar=bar)
        found = comparison.models(settings)
    return ModelComparison(
        table=panel.name,
        target=panel.target,
        loss=loss_spec(history.loss).metric,
        learner=_name(base),
        first=history.first,
        periods=panel.periods[history.first :],
        rows=int(np.median(splits[0].pools)),
        runs=settings.runs,
        seed=settings.seed,
        models=tuple(found),
        notes=tuple(panel.notes),
        seconds=time.perf_counter() - began,
    )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Comparison:
    """The runs of a comparison, and its progress bar."""

    splits: Sequence[SplitHistory]
    base: ModelAdapter
    bar: Progress

    @property
    def places(self) -> list[int]:
        """The places at which losses are compared, spread evenly; never the first, in which every kind starts."""
        count = len(self.splits[0].splits)
        spread = np.linspace(min(1, count - 1), count - 1, min(MEASURED, count)).round().astype(int)
        return sorted(set(spread.tolist()))

    def models(self, settings: CompareSettings) -> list[ComparedModel]:
        """Return every model, the reference first."""
        reference = self._model(
            "reference", "every row labelled", lambda split: reference_run(split, self.base, self.places)
        )
        found = [reference, self._model("frozen", "as trained", lambda split: frozen_run(split, self.base))]
        targets = settings.epsilon or tuple(float(f"{share * reference.loss:.2g}") for share in SHARES)
        if "linear" in settings.models:
            best = _best_linear(self.splits, self.places)
            found += [self._tracked("linear", each, best) for each in targets]
        if "head" in settings.models:
            found += [self._tracked("head", each, reference.loss) for each in targets]
        if "trees" in settings.models:
            found += [self._trees(size) for size in sizes(int(np.median(self.splits[0].pools)))]
        return found

    def _tracked(self, kind: str, epsilon: float, best: float) -> ComparedModel:
        """Return a linear model or a head at a target."""

        def run(split: SplitHistory) -> ModelRun:
            return linear_run(split, epsilon) if kind == "linear" else head_run(split, self.base, epsilon)

        return self._model(kind, f"target {epsilon:g}", run, epsilon, best)

    def _trees(self, size: int) -> ComparedModel:
        """Return trees fitted again at a constant size, at the half-life that is best over all runs."""
        return min((self._fitted_again(size, life) for life in HALF_LIVES), key=lambda one: one.loss)

    def _fitted_again(self, size: int, half_life: float) -> ComparedModel:
        def run(split: SplitHistory) -> ModelRun:
            labels = np.full(len(split.splits), float(size))
            return refit_run(split, self.base, labels, half_life=half_life, places=self.places)

        return self._model("trees", f"{size} a period, half-life {half_life:g}", run)

    def _model(
        self,
        kind: str,
        detail: str,
        run: Callable[[SplitHistory], ModelRun],
        epsilon: float | None = None,
        best: float | None = None,
    ) -> ComparedModel:
        made = [run(split) for split in self.bar.over(self.splits, f"{kind}, {detail}", total=len(self.splits))]
        losses = np.array([each.losses[self.places].mean() for each in made])
        return ComparedModel(
            kind=kind,
            detail=detail,
            labels=float(np.mean([each.labels.mean() for each in made])),
            loss=float(losses.mean()),
            error=float(losses.std(ddof=1) / np.sqrt(len(losses))) if len(losses) > 1 else None,
            epsilon=epsilon,
            excess=None if best is None else float(losses.mean()) - best,
            retrained=float(np.mean([len(each.retrained) for each in made])) if kind == "head" else None,
        )


def sizes(most: int) -> list[int]:
    """Return constant sizes up to all rows of a period, each twice to four times the one before.

    >>> sizes(1000)
    [20, 44, 96, 209, 457, 1000]
    """
    least = min(LEAST_SIZE, most)
    count = min(MOST_SIZES, max(2, int(np.log2(max(most / least, 1.0))) + 1))
    return sorted({round(each) for each in np.geomspace(least, most, count)})


def _best_linear(splits: Sequence[SplitHistory], places: Sequence[int]) -> float:
    """Return the mean loss of the best linear model of each period, fitted to all of its rows, on the test rows."""
    history, losses = splits[0].history, []
    for place in places:
        period = history.first + place
        X, y = history.columns[period], history.y[period]
        coef = find_population(str(period), history.loss, X, y).best
        scores = np.column_stack([X, np.ones(len(y))]) @ score_matrix(coef, history.loss)
        losses += [split.test_loss(place, scores[split.splits[place].test]) for split in splits]
    return float(np.mean(losses))


def score_matrix(coef: FloatArray, loss: LinearLoss | VectorLoss) -> FloatArray:
    """Return coefficients as a matrix from columns to scores, those of classes where there are several."""
    if isinstance(loss, VectorLoss):
        return np.asarray(coef.reshape(-1, loss.outputs) @ helmert(loss.outputs + 1).T)
    return coef[:, None]


def read_kinds(models: Sequence[str], owner: str) -> tuple[str, ...]:
    """Return the kinds of models to compare, in their order; a library stands for trees.

    >>> read_kinds(["lightgbm", "linear"], "example")
    ('linear', 'trees')
    """
    if isinstance(models, str) or not len(models):
        raise ParameterError(
            f"must be a list of {', '.join((*KINDS, *LIBRARIES))}; got {models!r}.", owner=owner, name="models"
        )
    for each in models:
        validation.choice(owner, (*KINDS, *LIBRARIES), models=each)
    kinds = {"trees" if each in LIBRARIES else each for each in models}
    return tuple(kind for kind in KINDS if kind in kinds)


def library_of(models: Sequence[str], owner: str) -> str | None:
    """Return the library that is named among kinds of models; None where there is none."""
    named = [each for each in dict.fromkeys(models) if each in LIBRARIES]
    if len(named) > 1:
        raise ParameterError(
            f"must name one library of trees, on which the head is too; got {' and '.join(named)}.",
            owner=owner,
            name="models",
        )
    return named[0] if named else None


def _history(panel: Panel, share: float) -> History:
    count = len(panel.periods)
    first = max(round(share * count), 1)
    if count - first < 2:
        raise DataError(
            f"must have at least two periods after the {first} that train the trees; got {count}.",
            owner=_OWNER,
            name="period",
        )
    for label, y in zip(panel.periods, panel.y, strict=True):
        if len(y) < LEAST_ROWS:
            raise DataError(
                f"must have at least {LEAST_ROWS} rows in each period; period {label} has {len(y)}.",
                owner=_OWNER,
                name="period",
            )
    loss = default_loss(panel)
    assert isinstance(loss, LinearLoss | VectorLoss)
    targets = tuple(np.maximum(y, 0.0) for y in panel.y) if panel.task == "classification" else panel.y
    return History(X=panel.X, y=targets, columns=panel.X, loss=loss, first=first)


def _learner(panel: Panel, model: Any, library: str | None) -> Callable[[FloatArray, FloatArray], ModelAdapter]:
    """Return what trains the first trees: the user's model again, else the library that is named or the first installed."""
    if model is not None:
        given = _given_model(model)
        if library is not None and _library_of(given) != library:
            raise ParameterError(
                f"must be a model of {library}, which models names; got {_name(given)}.", owner=_OWNER, name="model"
            )
        if given.task != panel.task:
            raise ParameterError(
                f"must predict the target, {panel.task}; got a model for {given.task}.", owner=_OWNER, name="model"
            )
        if given.features not in (None, len(panel.features)):
            raise ParameterError(
                f"must take the {len(panel.features)} columns {', '.join(panel.features[:8])}; got a model of {given.features}.",
                owner=_OWNER,
                name="model",
            )
        return given.refit
    found = library or next((each for each in LIBRARIES if find_spec(each) is not None), None)
    if found is None:
        raise MissingExtraError(
            'comparing models needs a library of trees: pip install "driftpace[sklearn]", '
            "or the extra lightgbm, xgboost or catboost."
        )
    if find_spec(found) is None:
        raise MissingExtraError(
            f'compare_models(models=[..., "{found}"]) needs {found}: pip install "driftpace[{found}]".'
        )
    train = {"lightgbm": _lightgbm, "xgboost": _xgboost, "catboost": _catboost, "sklearn": _sklearn}[found]
    return lambda X, y: train(panel, X, y)


def _given_model(model: Any) -> ModelAdapter:
    """Return the user's model, read where it is the path of a file; refuse one that cannot be trained anew."""
    try:
        given = adapt(model)
    except (DataError, ParameterError) as error:
        raise ParameterError(error.problem, owner=_OWNER, name="model") from None
    if not given.trainable:
        raise ParameterError(
            f"must be a model that driftpace can train anew; got {_name(given)}.", owner=_OWNER, name="model"
        )
    return given


def _lightgbm(panel: Panel, X: FloatArray, y: FloatArray) -> ModelAdapter:
    import lightgbm

    objective = {"regression": "regression", "classification": "binary", "multiclass": "multiclass"}[panel.task]
    params = {
        "objective": objective,
        "num_leaves": 15,
        "learning_rate": 0.08,
        "num_threads": 1,
        "verbosity": -1,
        "seed": 0,
    }
    if panel.task == "multiclass":
        params["num_class"] = len(panel.classes or ())
    return adapt(lightgbm.train(params, lightgbm.Dataset(X, label=y), num_boost_round=TREES))


def _xgboost(panel: Panel, X: FloatArray, y: FloatArray) -> ModelAdapter:
    import xgboost

    objective = {"regression": "reg:squarederror", "classification": "binary:logistic", "multiclass": "multi:softprob"}
    params = {"objective": objective[panel.task], "max_depth": 4, "eta": 0.08, "nthread": 1, "verbosity": 0, "seed": 0}
    if panel.task == "multiclass":
        params["num_class"] = len(panel.classes or ())
    return adapt(xgboost.train(params, xgboost.DMatrix(X, label=y), num_boost_round=TREES))


def _catboost(panel: Panel, X: FloatArray, y: FloatArray) -> ModelAdapter:
    import catboost

    kind = catboost.CatBoostRegressor if panel.task == "regression" else catboost.CatBoostClassifier
    settings = {"iterations": TREES, "depth": 4, "learning_rate": 0.08, "thread_count": 1, "random_seed": 0}
    return adapt(kind(**settings, verbose=0, allow_writing_files=False).fit(X, y))


def _sklearn(panel: Panel, X: FloatArray, y: FloatArray) -> ModelAdapter:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingRegressor if panel.task == "regression" else HistGradientBoostingClassifier
    return adapt(
        kind(max_iter=TREES, max_leaf_nodes=15, learning_rate=0.08, early_stopping=False, random_state=0).fit(X, y)
    )


def _library_of(base: ModelAdapter) -> str:
    return type(base).__name__.removesuffix("Adapter").lower()


def _name(base: ModelAdapter) -> str:
    names = {"lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost"}
    return names.get(_library_of(base), type(base.model).__name__)
