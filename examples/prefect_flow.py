"""A flow of Prefect: ask for a period, and deliver and close it when its labels are there. Run it every week with its key."""

from pathlib import Path
from typing import Any

from prefect import flow, task

from driftpace.campaign import jobs

ask = task(jobs.ask, name="ask", retries=3, retry_delay_seconds=30)
tell = task(jobs.tell, name="tell", retries=3, retry_delay_seconds=30)
close = task(jobs.close, name="close", retries=3, retry_delay_seconds=30)


@flow(name="driftpace period")
def period(campaign: str, key: str, pool: str, folder: str = ".", storage: str | None = None) -> dict[str, Any]:
    """Draw the rows of a period into ``tasks-KEY.csv``; where ``labels-KEY.csv`` is there, deliver it and close the period."""
    place = Path(folder)
    order = ask(campaign, key=key, storage=storage, select=pool, out=str(place / f"tasks-{key}.csv"))
    labels = place / f"labels-{key}.csv"
    if labels.exists():
        tell(campaign, str(labels), key=key, storage=storage)
        order = close(campaign, key=key, storage=storage)
    return dict(order)
