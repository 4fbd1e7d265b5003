"""Operators and a sensor of Airflow around the steps of :mod:`driftpace.campaign.jobs`."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from driftpace.campaign import jobs
from driftpace.errors import MissingExtraError

if TYPE_CHECKING or find_spec("airflow") is not None:
    from airflow.sdk import BaseHook, BaseOperator
    from airflow.sdk.bases.sensor import BaseSensorOperator
else:

    class BaseOperator:
        """What says that Airflow is missing when a task is made."""

        def __init__(self, **options: Any) -> None:  # noqa: ARG002
            raise MissingExtraError(f'{type(self).__name__} needs Airflow 3: pip install "driftpace[airflow]".')

    BaseSensorOperator = BaseOperator


class _Step(BaseOperator):
    """The campaign, the period and the store of a task; the fields are templates.

    Parameters
    ----------
    campaign : str
        The name of the campaign, of one model or of segments.
    key : str, default "{{ ds }}"
        The name of the period: the same key is the same period, so that a task that runs again does nothing twice.
    storage : str, optional
        The store; by default that of ``conn_id``, or of the environment variable ``DRIFTPACE_STORAGE``.
    conn_id : str, optional
        A connection of Airflow to the PostgreSQL database, so that its password is in no code.
    executor, address : str, optional
        What works on the segments, such as ``"dask"``, and the address of its cluster; the address is a template.
    **options
        Those of every task, such as ``task_id``.
    """

    template_fields: Sequence[str] = ("campaign", "key", "storage", "address")

    def __init__(
        self,
        *,
        campaign: str,
        key: str = "{{ ds }}",
        storage: str | None = None,
        conn_id: str | None = None,
        executor: str | None = None,
        address: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.campaign, self.key, self.storage, self.conn_id = campaign, key, storage, conn_id
        self.executor, self.address = executor, address

    def where(self) -> dict[str, Any]:
        """Return the key and the store."""
        place = self.storage
        if place is None and self.conn_id is not None:
            place = BaseHook.get_connection(self.conn_id).get_uri().replace("postgres://", "postgresql://", 1)
        return {"key": self.key, "storage": place}

    def work(self) -> dict[str, Any]:
        """Return the key, the store, who does the step, and what works on the segments."""
        return {**self.where(), "who": "airflow", "executor": self.executor, "address": self.address}


class AskOperator(_Step):
    """Ask how many rows a period needs, and write those that are drawn from a pool.

    Parameters
    ----------
    select, out : str, optional
        The pool, and the file for the rows to label; templates.
    **options
        ``campaign``, ``key`` (the period), ``storage`` or ``conn_id`` (the connection that has it), ``executor`` and ``address``
        (what works on the segments), and the options of every task.
    """

    template_fields = (*_Step.template_fields, "select", "out")

    def __init__(self, *, select: str | None = None, out: str | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.select, self.out = select, out

    def execute(self, context: Any) -> dict[str, Any]:  # noqa: ARG002  Airflow passes it
        """Return the order as plain values."""
        return jobs.ask(self.campaign, select=self.select, out=self.out, **self.work())


class TellOperator(_Step):
    """Deliver a file of labelled rows, which counts once.

    Parameters
    ----------
    file : str
        The labelled rows; a template.
    **options
        As for :class:`AskOperator`.
    """

    template_fields = (*_Step.template_fields, "file")

    def __init__(self, *, file: str, **options: Any) -> None:
        super().__init__(**options)
        self.file = file

    def execute(self, context: Any) -> dict[str, Any]:  # noqa: ARG002  Airflow passes it
        """Return the order and the rows that were added."""
        return jobs.tell(self.campaign, self.file, **self.work())


class CloseOperator(_Step):
    """Close a period with the rows received; one that is closed stays as it is. Parameters as for :class:`AskOperator`."""

    def execute(self, context: Any) -> dict[str, Any]:  # noqa: ARG002  Airflow passes it
        """Return the closed order."""
        return jobs.close(self.campaign, **self.work())


class OrderSensor(_Step, BaseSensorOperator):
    """Wait until no rows of a period are missing. Parameters as for :class:`AskOperator`."""

    def poke(self, context: Any) -> bool:  # noqa: ARG002  Airflow passes it
        """Return whether the order is complete."""
        return jobs.is_complete(self.campaign, **self.where())
