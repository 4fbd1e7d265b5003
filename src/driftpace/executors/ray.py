"""Work on a Ray cluster."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from driftpace.errors import ExecutorError, MissingExtraError
from driftpace.executors.protocol import RETRIES, RetryingExecutor, call_packed
from driftpace.executors.threads import cores

AHEAD = 4
"""So many items for each core of the cluster are sent before the first answer; the others wait here."""


class RayExecutor(RetryingExecutor):
    """Work on a Ray cluster, which sends work again whose worker died.

    Parameters
    ----------
    address : str, optional
        The address of a cluster, such as ``"ray://10.0.0.1:10001"`` or ``"auto"``. By default the one that Ray is connected to, or
        else a new one on this machine.
    workers : int, optional
        The cores of a new one; by default all of this machine.

    Raises
    ------
    MissingExtraError
        If Ray is not installed.
    """

    name = "ray"

    def __init__(self, *, address: str | None = None, workers: int | None = None) -> None:
        try:
            import ray  # noqa: F401
        except ImportError as error:
            raise MissingExtraError('executor="ray" needs Ray: pip install "driftpace[ray]".') from error
        self._address, self._workers = address, workers

    def _connect(self) -> None:
        import ray

        if ray.is_initialized():
            return
        given: dict[str, Any] = {"logging_level": "WARNING", "log_to_driver": False}
        if self._address is None:
            given |= {"num_cpus": cores() if self._workers is None else self._workers, "include_dashboard": False}
        try:
            ray.init(address=self._address, **given)
        except (ConnectionError, ValueError) as error:
            raise ExecutorError(f"the Ray cluster at {self._address} cannot be reached: {error}") from error

    def _answers(self, function: Callable[[Any], Any], items: Sequence[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
        import ray
        from ray import cloudpickle

        self._connect()
        remote = ray.remote(max_retries=RETRIES)(call_packed)
        ahead = AHEAD * max(int(ray.cluster_resources().get("CPU", 1)), 1)
        waiting, running = iter(items), {}

        def send(count: int) -> None:
            for place, item in islice(waiting, count):
                running[remote.remote(cloudpickle.dumps((function, item)))] = place

        send(ahead)
        while running:
            done, _ = ray.wait(list(running), num_returns=1)
            answer = pickle.loads(ray.get(done[0]))
            place = running.pop(done[0])
            send(1)
            yield place, answer

    def _losses(self) -> tuple[type[BaseException], ...]:
        from ray.exceptions import RayError

        return (RayError,)  # exceptions of the function are answers

    def __repr__(self) -> str:
        return f"RayExecutor({self._address or 'local'!r})"
