"""Where work is done: in this process, in others on this machine, or on a cluster, with the same numbers."""

from typing import TYPE_CHECKING

from driftpace.lazy import lazy

if TYPE_CHECKING:
    from driftpace.executors.choice import ENGINES, open_executor
    from driftpace.executors.dask import DaskExecutor
    from driftpace.executors.local import LocalExecutor, ProcessExecutor
    from driftpace.executors.protocol import Executor
    from driftpace.executors.ray import RayExecutor
    from driftpace.executors.spark import SparkExecutor
    from driftpace.executors.threads import cores, one_thread

__all__ = [
    "ENGINES",
    "DaskExecutor",
    "Executor",
    "LocalExecutor",
    "ProcessExecutor",
    "RayExecutor",
    "SparkExecutor",
    "cores",
    "one_thread",
    "open_executor",
]

_MODULES = {
    "ENGINES": "choice",
    "DaskExecutor": "dask",
    "Executor": "protocol",
    "LocalExecutor": "local",
    "ProcessExecutor": "local",
    "RayExecutor": "ray",
    "SparkExecutor": "spark",
    "cores": "threads",
    "one_thread": "threads",
    "open_executor": "choice",
}

if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, _MODULES)
