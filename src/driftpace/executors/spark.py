"""Work on a Spark cluster."""

import os
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from driftpace.errors import MissingExtraError
from driftpace.executors.protocol import RetryingExecutor, call_packed

WAVE = 200_000_000
"""Items of so many bytes are sent together, and their answers received together: a driver refuses more than a gigabyte."""

_SCHEMA = "place long, payload binary"


class SparkExecutor(RetryingExecutor):
    """Work on a Spark cluster: items travel as the rows of a data frame, each in a task of its own.

    Parameters
    ----------
    session : pyspark.sql.SparkSession, optional
        A session. By default the active one, or else a new one.
    address : str, optional
        The master of a new session, such as ``"spark://10.0.0.1:7077"``, or a Spark Connect server, ``"sc://10.0.0.1:15002"``; by
        default this machine.
    workers : int, optional
        The cores of a new session on this machine; by default all.

    Raises
    ------
    MissingExtraError
        If PySpark is not installed.
    """

    name = "spark"

    def __init__(self, session: Any = None, *, address: str | None = None, workers: int | None = None) -> None:
        try:
            import pyspark  # noqa: F401
        except ImportError as error:
            raise MissingExtraError('executor="spark" needs PySpark: pip install "driftpace[spark]".') from error
        self._session, self._address, self._workers = session, address, workers

    @property
    def session(self) -> Any:
        """The session, opened when it is first used."""
        if self._session is None:
            self._session = self._opened()
        return self._session

    def _opened(self) -> Any:
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession()
        if active is not None and self._address is None:
            return active
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.appName("driftpace")
        if self._address is not None and self._address.startswith("sc://"):
            return builder.remote(self._address).getOrCreate()
        here = f"local[{self._workers or '*'}]"
        return builder.master(self._address or here).config("spark.ui.enabled", "false").getOrCreate()

    def _answers(self, function: Callable[[Any], Any], items: Sequence[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
        from pyspark import cloudpickle

        wave: list[tuple[int, bytearray]] = []
        size = 0
        for place, item in items:
            payload = bytearray(cloudpickle.dumps((function, item)))
            if wave and size + len(payload) > WAVE:
                yield from self._wave(wave)
                wave, size = [], 0
            wave.append((place, payload))
            size += len(payload)
        if wave:
            yield from self._wave(wave)

    def _wave(self, wave: list[tuple[int, bytearray]]) -> Iterator[tuple[int, Any]]:
        frame = self.session.createDataFrame(wave, _SCHEMA).repartitionByRange(len(wave), "place")
        for place, payload in frame.mapInArrow(_work, _SCHEMA).collect():
            yield place, pickle.loads(payload)

    def _losses(self) -> tuple[type[BaseException], ...]:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        return (Py4JError, PySparkException)  # exceptions of the function are answers

    def __repr__(self) -> str:
        return f"SparkExecutor({self._address or 'local'!r})"


def _work(batches: Iterator[Any]) -> Iterator[Any]:
    """Work on batches of rows with packed items."""
    import pyarrow as pa

    for batch in batches:
        for place, payload in zip(batch.column(0), batch.column(1), strict=True):
            answer = call_packed(payload.as_py())
            yield pa.RecordBatch.from_arrays(
                [pa.array([place.as_py()], pa.int64()), pa.array([answer], pa.binary())], names=["place", "payload"]
            )
