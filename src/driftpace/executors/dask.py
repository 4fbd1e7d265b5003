"""Work on a Dask cluster."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from driftpace.errors import ExecutorError, MissingExtraError
from driftpace.executors.protocol import RETRIES, RetryingExecutor, call_packed

AHEAD = 4
"""So many items for each thread of the cluster are sent before the first answer; the others wait here."""


class DaskExecutor(RetryingExecutor):
    """Work on a Dask cluster, which sends work again whose worker died.

    Parameters
    ----------
    client : distributed.Client, optional
        A client. By default the one that is open, or else a new one.
    address : str, optional
        The address of a scheduler, such as ``"tcp://10.0.0.1:8786"``; without it a new client starts a cluster on this machine.
    workers : int, optional
        The number of processes of a new cluster; by default that of the cores.

    Raises
    ------
    MissingExtraError
        If distributed is not installed.
    """

    name = "dask"

    def __init__(self, client: Any = None, *, address: str | None = None, workers: int | None = None) -> None:
        try:
            import distributed  # noqa: F401
        except ImportError as error:
            raise MissingExtraError('executor="dask" needs distributed: pip install "driftpace[dask]".') from error
        self._client, self._address, self._workers = client, address, workers

    @property
    def client(self) -> Any:
        """The client, opened when it is first used."""
        if self._client is None:
            self._client = self._opened()
        return self._client

    def _opened(self) -> Any:
        from distributed import Client

        if self._address is not None:
            try:
                return Client(self._address, set_as_default=False)
            except (OSError, ValueError) as error:
                raise ExecutorError(f"the Dask scheduler at {self._address} cannot be reached: {error}") from error
        try:
            return Client.current()
        except ValueError:  # none is open
            return Client(n_workers=self._workers, threads_per_worker=1, dashboard_address=None, set_as_default=False)

    def _answers(self, function: Callable[[Any], Any], items: Sequence[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
        import cloudpickle
        from distributed import as_completed

        client, waiting = self.client, iter(items)
        threads = sum(client.nthreads().values())
        places: dict[str, int] = {}

        def sent(count: int) -> list[Any]:
            futures = []
            for place, item in islice(waiting, count):
                payload = cloudpickle.dumps((function, item))
                futures.append(client.submit(call_packed, payload, pure=False, retries=RETRIES))
                places[futures[-1].key] = place
            return futures

        if not items:
            return
        running = as_completed(sent(AHEAD * max(threads, 1)), loop=client.loop)
        for future in running:
            answer = pickle.loads(future.result())
            place = places.pop(future.key)
            running.update(sent(1))
            yield place, answer

    def _losses(self) -> tuple[type[BaseException], ...]:
        from concurrent.futures import CancelledError

        from distributed import KilledWorker
        from distributed.comm import CommClosedError

        return (KilledWorker, CommClosedError, CancelledError)

    def __repr__(self) -> str:
        return (
            f"DaskExecutor({self._address or 'local'!r})" if self._client is None else f"DaskExecutor({self._client!r})"
        )
