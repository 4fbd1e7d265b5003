"""The registry of losses: their names in files and on the command line, and what other layers need to know about each.

A new loss is one module with a subclass of :class:`~driftpace.losses.LinearLoss` and one entry here (or one call of
:func:`register_loss`): campaign files, the command line, REST, backtests and predictions ask the registry. The built-in
classes are named by module and loaded on first use, so that listing the names does not import NumPy.
"""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from driftpace.errors import ParameterError

if TYPE_CHECKING:
    from driftpace.losses.linear import LinearLoss
    from driftpace.losses.protocol import Loss
    from driftpace.losses.vector import VectorLoss
    from driftpace.typing import FloatArray

Task = Literal["regression", "classification", "multiclass"]
TASKS: tuple[Task, ...] = ("regression", "classification", "multiclass")

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,99}")

_CLASSIFICATION_L2 = 1e-3
"""Without a penalty, classes that a hyperplane separates have no minimiser."""

_COUNTS_L2 = 1e-4
"""Without a penalty, a category whose counts are all zero has no minimiser."""

_REGISTRY = ("get_loss", "loss_spec", "unregister_loss")

_CALL = re.compile(r"\s*([A-Za-z][A-Za-z0-9_-]*)\s*\((.*)\)\s*")


@dataclass(frozen=True, kw_only=True, slots=True)
class LossSpec:
    """Describe a loss to the layers that offer it by name.

    Parameters
    ----------
    name : str
        The name in campaign files, REST bodies and on the command line.
    implementation : type[LinearLoss], type[VectorLoss] or str
        The class, or ``"module:Class"`` to import it on first use.
    task : {"regression", "classification", "multiclass"}
        What the loss predicts: numbers, one of two classes, or one of any number of classes.
    description : str
        The method in words, as in "by least squares".
    metric : str
        What a value of the loss measures, as in "log loss".
    default_l2 : float, default 0.0
        The penalty of a campaign or backtest that gives none.
    parameters : tuple of str, default ()
        What the class takes besides ``l2``.

    Examples
    --------
    >>> spec = loss_spec("huber")
    >>> spec.task, spec.description, spec.parameters
    ('regression', 'Huber regression', ('threshold',))
    >>> spec.make(threshold=0.5)
    HuberLoss(l2=0.0, unpenalised=0, threshold=0.5)
    """

    name: str
    implementation: "type[LinearLoss] | type[VectorLoss] | str"
    task: Task
    description: str
    metric: str
    default_l2: float = 0.0
    parameters: tuple[str, ...] = ()

    @property
    def takes_exposure(self) -> bool:
        """Whether targets may be totals over an exposure."""
        return getattr(self.loss_class, "takes_exposure", False)

    @property
    def loss_class(self) -> "type[LinearLoss] | type[VectorLoss]":
        """The class, imported if need be."""
        if isinstance(self.implementation, str):
            module, _, name = self.implementation.partition(":")
            loaded: type[LinearLoss] | type[VectorLoss] = getattr(import_module(module), name)
            return loaded
        return self.implementation

    def make(self, *, l2: float | None = None, **parameters: Any) -> "LinearLoss | VectorLoss":
        """Return the loss.

        Parameters
        ----------
        l2 : float, optional
            The weight of the penalty (l2/2)||w||^2; ``default_l2`` when not given.
        **parameters
            Those named in ``parameters``.

        Raises
        ------
        ParameterError
            If a parameter is unknown or outside what is allowed.
        """
        for name in parameters:
            if name not in self.parameters:
                allowed = ", ".join(repr(known) for known in ("l2", *self.parameters))
                problem = f"must be a parameter of the loss {self.name!r} ({allowed}); {_hint(name, self.parameters)}"
                raise ParameterError(problem, owner="get_loss", name=name)
        return self.loss_class(l2=self.default_l2 if l2 is None else l2, **parameters)

    def predictions(self, scores: "FloatArray") -> "FloatArray":
        """Return the predictions that linear scores x'w stand for: numbers, or -1 and 1."""
        return self.loss_class().link(scores)

    def probabilities(self, scores: "FloatArray") -> "FloatArray | None":
        """Return the probabilities of the second class; None where the loss does not estimate them."""
        return self.loss_class().probabilities(scores)


_BUILT_IN = (
    LossSpec(
        name="squared",
        implementation="driftpace.losses.squared:SquaredLoss",
        task="regression",
        description="least squares",
        metric="half the mean squared error",
    ),
    LossSpec(
        name="huber",
        implementation="driftpace.losses.huber:HuberLoss",
        task="regression",
        description="Huber regression",
        metric="mean Huber loss",
        parameters=("threshold",),
    ),
    LossSpec(
        name="poisson",
        implementation="driftpace.losses.poisson:PoissonLoss",
        task="regression",
        description="Poisson regression",
        metric="half the mean Poisson deviance",
        default_l2=_COUNTS_L2,
    ),
    LossSpec(
        name="gamma",
        implementation="driftpace.losses.gamma:GammaLoss",
        task="regression",
        description="gamma regression",
        metric="half the mean gamma deviance",
    ),
    LossSpec(
        name="tweedie",
        implementation="driftpace.losses.tweedie:TweedieLoss",
        task="regression",
        description="Tweedie regression",
        metric="half the mean Tweedie deviance",
        default_l2=_COUNTS_L2,
        parameters=("power",),
    ),
    LossSpec(
        name="quantile",
        implementation="driftpace.losses.quantile:QuantileLoss",
        task="regression",
        description="quantile regression",
        metric="mean pinball loss",
        parameters=("tau", "bandwidth"),
    ),
    LossSpec(
        name="logistic",
        implementation="driftpace.losses.logistic:LogisticLoss",
        task="classification",
        description="logistic regression",
        metric="log loss",
        default_l2=_CLASSIFICATION_L2,
    ),
    LossSpec(
        name="hinge",
        implementation="driftpace.losses.hinge:SmoothedHinge",
        task="classification",
        description="a linear classifier with squared hinge loss",
        metric="half the mean squared hinge loss",
        default_l2=_CLASSIFICATION_L2,
    ),
    LossSpec(
        name="softmax",
        implementation="driftpace.losses.softmax:SoftmaxLoss",
        task="multiclass",
        description="multinomial logistic regression",
        metric="log loss",
        default_l2=_CLASSIFICATION_L2,
        parameters=("classes",),
    ),
)

_specs: dict[str, LossSpec] = {spec.name: spec for spec in _BUILT_IN}


def register_loss(spec: LossSpec) -> LossSpec:
    """Make a loss available by name in campaigns, backtests, the service and the command line of this process.

    Parameters
    ----------
    spec : LossSpec
        The entry.

    Returns
    -------
    LossSpec
        The same entry.

    Raises
    ------
    ParameterError
        If the name is taken, the task is unknown, or the class is not a LinearLoss or VectorLoss.

    Examples
    --------
    >>> from driftpace.losses import SquaredLoss
    >>> class Centred(SquaredLoss):
    ...     pass
    >>> spec = LossSpec(
    ...     name="centred", implementation=Centred, task="regression", description="least squares", metric="squared error"
    ... )
    >>> register_loss(spec).name, loss_names("regression")
    ('centred', ('squared', 'huber', 'poisson', 'gamma', 'tweedie', 'quantile', 'centred'))
    >>> unregister_loss("centred")
    """
    name: object = spec.name
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        problem = f"must be up to 100 letters, digits, dashes and underscores, a letter first; got {name!r:.120}."
        raise ParameterError(problem, owner="register_loss", name="name")
    if spec.name in _specs:
        raise ParameterError(f"must be free; {spec.name!r} is registered.", owner="register_loss", name="name")
    if spec.task not in TASKS:
        allowed = ", ".join(repr(task) for task in TASKS)
        raise ParameterError(f"must be one of {allowed}; got {spec.task!r}.", owner="register_loss", name="task")
    from driftpace.losses.linear import LinearLoss
    from driftpace.losses.vector import VectorLoss

    implementation: object = spec.loss_class
    if not (isinstance(implementation, type) and issubclass(implementation, LinearLoss | VectorLoss)):
        problem = f"must be a subclass of LinearLoss or VectorLoss; got {implementation!r}."
        raise ParameterError(problem, owner="register_loss", name="implementation")
    _specs[spec.name] = spec
    return spec


def unregister_loss(name: str) -> None:
    """Remove a loss that was registered; the built-in ones stay.

    Parameters
    ----------
    name : str
        Its name.
    """
    if _named(name, "unregister_loss") in _BUILT_IN:
        raise ParameterError(f"must not be a built-in loss; got {name!r}.", owner="unregister_loss", name="name")
    del _specs[name]


def parse_loss(name: str, owner: str = "get_loss") -> "tuple[LossSpec, dict[str, float]]":
    """Return the entry and the parameters of a loss such as ``"huber"``, ``"quantile(0.9)"`` or ``"quantile(tau=0.9)"``.

    Parameters
    ----------
    name : str
        A name, with parameters in parentheses or without any.
    owner : str
        What was called, for messages.

    Raises
    ------
    ParameterError
        If there is no such loss, or a parameter is not a number.

    Examples
    --------
    >>> parse_loss("quantile(0.9)")[1]
    {'tau': 0.9}
    """
    call = _CALL.fullmatch(name) if isinstance(name, str) else None
    word = name if call is None else call[1]
    if owner not in _REGISTRY:
        from driftpace import validation

        validation.choice(owner, loss_names(), loss=word)
    spec = _named(word, owner)
    parameters: dict[str, float] = {}
    for place, given in enumerate(call[2].split(",") if call is not None and call[2].strip() else ()):
        key, equals, value = given.rpartition("=")
        key = key.strip() if equals else (spec.parameters[place] if place < len(spec.parameters) else "")
        try:
            number = float(value)
        except ValueError:
            number = None
        if number is None or key not in spec.parameters or key in parameters:
            form = ", ".join(f"{known}=NUMBER" for known in spec.parameters)
            allowed = f"{spec.name!r} or {f'{spec.name}({form})'!r}" if form else f"{spec.name!r} without parameters"
            raise ParameterError(f"must be {allowed}; got {name!r:.120}.", owner=owner, name="loss")
        parameters[key] = number
    return spec, parameters


def get_loss(name: str, *, l2: float | None = None, **parameters: Any) -> "LinearLoss | VectorLoss":
    """Return the loss of that name.

    Parameters
    ----------
    name : str
        One of :func:`loss_names`, with parameters in parentheses or without any: ``"quantile(0.9)"``.
    l2 : float, optional
        The weight of the penalty (l2/2)||w||^2; that of the registry when not given.
    **parameters
        What else the loss takes, such as the ``threshold`` of the Huber loss.

    Returns
    -------
    LinearLoss

    Raises
    ------
    ParameterError
        If there is no such loss, or a parameter is unknown or outside what is allowed.

    Examples
    --------
    >>> get_loss("logistic")
    LogisticLoss(l2=0.001, unpenalised=0)
    >>> get_loss("quantile(0.9)").tau
    0.9
    >>> get_loss("logistics")
    Traceback (most recent call last):
        ...
    driftpace.errors.ParameterError: get_loss(name=...) must be the name of a loss; did you mean 'logistic'?
    """
    spec, given = parse_loss(name)
    return spec.make(l2=l2, **(given | parameters))


def loss_names(task: Task | None = None) -> tuple[str, ...]:
    """Return the names of the losses, the default of each task first.

    Parameters
    ----------
    task : {"regression", "classification", "multiclass"}, optional
        Only those of one task.

    Examples
    --------
    >>> loss_names()
    ('squared', 'huber', 'poisson', 'gamma', 'tweedie', 'quantile', 'logistic', 'hinge', 'softmax')
    >>> loss_names("classification")
    ('logistic', 'hinge')
    """
    return tuple(spec.name for spec in _specs.values() if task in (None, spec.task))


def loss_spec(loss: "str | Loss | type[Loss]") -> LossSpec:
    """Return the entry of a loss.

    Parameters
    ----------
    loss : str, Loss or type
        A name, a loss, or its class.

    Raises
    ------
    ParameterError
        If it is not registered.

    Examples
    --------
    >>> from driftpace.losses import LogisticLoss
    >>> loss_spec(LogisticLoss(l2=0.1)).metric
    'log loss'
    """
    if isinstance(loss, str):
        return parse_loss(loss, "loss_spec")[0]
    kind = loss if isinstance(loss, type) else type(loss)
    spec = find_loss_spec(kind)
    if spec is None:
        raise ParameterError(f"must be a registered loss; got {kind.__name__}.", owner="loss_spec", name="loss")
    return spec


def find_loss_spec(kind: type) -> LossSpec | None:
    """Return the entry of exactly that class, or None: a subclass may have another gradient."""
    return next((spec for spec in _specs.values() if spec.loss_class is kind), None)


def classifies(loss: "str | Loss") -> bool:
    """Return whether a loss is one for two classes.

    Parameters
    ----------
    loss : str or Loss
        A registered name, or any loss: one for two classes encodes 0 and 1 as -1 and 1.

    Examples
    --------
    >>> from driftpace.losses import SquaredLoss
    >>> classifies("logistic"), classifies(SquaredLoss())
    (True, False)
    """
    if isinstance(loss, str):
        return loss_spec(loss).task == "classification"
    import numpy as np

    from driftpace.errors import DataError

    try:
        encoded = loss.encode(np.array([0.0, 1.0]))
    except DataError:  # such as amounts, which are above zero
        return False
    return np.array_equal(encoded, [-1.0, 1.0])


def _named(name: str, owner: str) -> LossSpec:
    if not isinstance(name, str) or name not in _specs:
        raise ParameterError(f"must be the name of a loss; {_hint(name, loss_names())}", owner=owner, name="name")
    return _specs[name]


def _hint(name: object, known: tuple[str, ...]) -> str:
    near = get_close_matches(str(name), known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"got {name!r}."
