"""Assets of Dagster, partitioned by week: the rows to label, and the closed period, which needs their labels."""

import os
from pathlib import Path
from typing import Any

import dagster as dg

from driftpace.campaign import jobs

WEEKS = dg.WeeklyPartitionsDefinition(start_date="2025-01-06", day_offset=1)  # Mondays


class Labels(dg.ConfigurableResource):
    """The campaign, its store, its pool, and the folder in which files are exchanged."""

    campaign: str
    storage: str
    pool: str
    folder: str

    def file(self, kind: str, key: str) -> str:
        """Return the file of a period."""
        return os.fspath(Path(self.folder) / f"{kind}-{key}.csv")


@dg.asset(partitions_def=WEEKS)
def tasks(context: dg.AssetExecutionContext, labels: Labels) -> dg.MaterializeResult[None]:
    """Draw the rows to label in a week."""
    key = context.partition_key
    order = jobs.ask(
        labels.campaign, key=key, storage=labels.storage, select=labels.pool, out=labels.file("tasks", key)
    )
    return dg.MaterializeResult(metadata=_metadata(order))


@dg.asset(partitions_def=WEEKS, deps=[tasks])
def closed_period(context: dg.AssetExecutionContext, labels: Labels) -> dg.MaterializeResult[None]:
    """Deliver the labels of a week, and close its period."""
    key = context.partition_key
    jobs.tell(labels.campaign, labels.file("labels", key), key=key, storage=labels.storage)
    return dg.MaterializeResult(metadata=_metadata(jobs.close(labels.campaign, key=key, storage=labels.storage)))


def _metadata(order: dict[str, Any]) -> dict[str, Any]:
    return {name: order[name] for name in ("period", "samples", "received", "missing")}
