"""The executor of a name, an address, or an object of an engine."""

from typing import Any

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.executors.protocol import Executor

ENGINES = ("local", "processes", "dask", "ray", "spark")
"""The names of engines."""


def open_executor(
    executor: Any = None, *, address: str | None = None, workers: int | None = None, owner: str = "open_executor"
) -> Executor:
    """Return the executor of a name, or of an object of an engine.

    Parameters
    ----------
    executor : str or object, optional
        ``"local"`` for this process, the default; ``"processes"`` for others on this machine, by joblib; ``"dask"``, ``"ray"`` or
        ``"spark"`` for a cluster; a ``distributed.Client`` or a ``SparkSession``; or any object with ``map(function, items)``.
    address : str, optional
        The address of a cluster; without it one is started on this machine, unless the program is connected to one.
    workers : int, optional
        The number of processes that are started here; by default that of the cores.
    owner : str, optional
        The function that errors name.

    Returns
    -------
    Executor

    Raises
    ------
    ParameterError
        If it is none of these.
    MissingExtraError
        If the library of the engine is not installed.

    Examples
    --------
    >>> list(open_executor("local").map(abs, [-1, 2]))
    [1, 2]
    """
    if workers is not None:
        validation.count(owner, least=1, workers=workers)
    clusters = ("dask", "ray", "spark")
    if address is not None and executor not in clusters:
        raise ParameterError(
            f"must be None unless executor is one of {', '.join(map(repr, clusters))}; got {address!r:.80}.",
            owner=owner,
            name="address",
        )
    if executor is None or isinstance(executor, str):
        return _of_name(executor or "local", address, workers, owner)
    package = type(executor).__module__.partition(".")[0]
    if package == "distributed" and hasattr(executor, "submit"):
        from driftpace.executors.dask import DaskExecutor

        return DaskExecutor(executor)
    if package == "pyspark" and hasattr(executor, "createDataFrame"):
        from driftpace.executors.spark import SparkExecutor

        return SparkExecutor(executor)
    if not callable(getattr(executor, "map", None)):
        raise ParameterError(
            f"must be {_names()}, or have a method map(function, items); got {executor!r:.80}.",
            owner=owner,
            name="executor",
        )
    return executor  # type: ignore[no-any-return]


def _of_name(name: str, address: str | None, workers: int | None, owner: str) -> Executor:
    if name == "local":
        from driftpace.executors.local import LocalExecutor

        return LocalExecutor()
    if name == "processes":
        from driftpace.executors.local import ProcessExecutor

        return ProcessExecutor(workers=workers)
    if name == "dask":
        from driftpace.executors.dask import DaskExecutor

        return DaskExecutor(address=address, workers=workers)
    if name == "ray":
        from driftpace.executors.ray import RayExecutor

        return RayExecutor(address=address, workers=workers)
    if name == "spark":
        from driftpace.executors.spark import SparkExecutor

        return SparkExecutor(address=address, workers=workers)
    raise ParameterError(
        f"must be {_names()}, or have a method map(function, items); got {name!r:.80}.", owner=owner, name="executor"
    )


def _names() -> str:
    return f"one of {', '.join(map(repr, ENGINES))}"
