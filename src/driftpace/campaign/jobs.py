"""Steps of scheduled jobs: ask, tell, close and wait, for campaigns of one model and of segments alike.

Schedulers run a step again after a failure, and may run it twice. Every step here is named by the key of its period, and run again
it does nothing more: the same order is returned, the same file counts once, and a closed period stays closed. Answers are plain
values, which any scheduler can pass on.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from driftpace.campaign.campaign import Campaign
from driftpace.campaign.fleet.campaign import FleetCampaign, is_fleet
from driftpace.errors import ParameterError, ProtocolError, UnknownCampaignError
from driftpace.executors import open_executor
from driftpace.storage import open_store
from driftpace.tables import write_rows

ENVIRONMENT = "DRIFTPACE_STORAGE"
"""The environment variable that names the store where a job does not."""


def ask(
    campaign: str,
    *,
    key: str,
    storage: str | None = None,
    select: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    who: str = "",
    executor: Any = None,
    address: str | None = None,
) -> dict[str, Any]:
    """Ask how many rows a period needs, and draw them from a pool into a file.

    Parameters
    ----------
    campaign : str
        The name of the campaign.
    key : str
        The name of the period, such as the date of the run.
    storage : str, optional
        The store; by default what ``DRIFTPACE_STORAGE`` says.
    select, out : path, optional
        The pool, and the file to write the drawn rows to, with an empty column for the label. A file that exists is left as it is.
    who : str
        Recorded in the log.
    executor, address : optional
        What works on the segments, and the address of its cluster; see :func:`~driftpace.executors.open_executor`.

    Returns
    -------
    dict
        ``campaign``, ``period``, ``key``, ``samples``, ``received``, ``missing``, ``closed``, and ``file`` with the drawn rows.
    """
    with _opened(storage, campaign, executor, address) as opened:
        order = opened.ask(key=key, who=who)
        written = None
        if select is not None and out is not None and order.missing:
            if not Path(out).exists():
                sample = opened.sample(os.fspath(select), source=Path(select).name, who=who)
                text = Path(out).suffix.lower() in (".csv", ".tsv")
                write_rows(out, sample.rows(as_text=text), empty=[str(opened.definition.target)], owner="ask")
            written = os.fspath(out)
            order = opened.ask(key=key)
        return {**_order(order), "file": written}


def tell(
    campaign: str,
    file: str | os.PathLike[str],
    *,
    key: str,
    storage: str | None = None,
    who: str = "",
    executor: Any = None,
    address: str | None = None,
) -> dict[str, Any]:
    """Deliver a file of labelled rows, which counts once; the period is closed when none are missing.

    Parameters
    ----------
    campaign, key, storage, who, executor, address
        As in :func:`ask`.
    file : path
        The labelled rows.

    Returns
    -------
    dict
        The order, with ``rows`` that were added.
    """
    with _opened(storage, campaign, executor, address) as opened:
        name = Path(file).name
        given: Any = os.fspath(file)
        tell_rows = opened.tell if isinstance(opened, FleetCampaign) else opened.tell_table
        receipt = tell_rows(given, key=key, source=name, who=who)
        return {**_order(receipt.order), "rows": receipt.rows}


def close(
    campaign: str,
    *,
    key: str,
    storage: str | None = None,
    who: str = "",
    executor: Any = None,
    address: str | None = None,
) -> dict[str, Any]:
    """Close a period with the rows received; one that is closed stays as it is.

    Parameters
    ----------
    campaign, key, storage, who, executor, address
        As in :func:`ask`.

    Returns
    -------
    dict
        The order, closed.

    Raises
    ------
    ProtocolError
        If there is no period with that key.
    """
    with _opened(storage, campaign, executor, address) as opened:
        order = _find(opened, key)
        if order is None:
            raise ProtocolError(f"there is no period with the key {key!r}; ask for it first.")
        if not order["closed"]:
            order = _order(opened.tell(final=True, key=key, who=who).order)
        return order


def is_complete(campaign: str, *, key: str, storage: str | None = None) -> bool:
    """Return whether no rows of a period are missing, or it is closed; False before it was asked for.

    Parameters
    ----------
    campaign, key, storage
        As in :func:`ask`.
    """
    with _opened(storage, campaign) as opened:
        order = _find(opened, key)
        return order is not None and (order["closed"] or order["missing"] == 0)


def _find(opened: Campaign | FleetCampaign, key: str) -> dict[str, Any] | None:
    """Return the order of a period, open or closed; None where it was not asked for."""
    current = opened.status().order
    if current is not None and current.key == key:
        return _order(current)
    if opened.store.find(opened.name, "asked", key) is None:
        return None
    return _order(opened.ask(key=key, dry_run=True))


def _order(order: Any) -> dict[str, Any]:
    names = ("campaign", "period", "key", "samples", "received", "missing", "closed")
    return {name: getattr(order, name) for name in names}


@contextmanager
def _opened(
    storage: str | None, name: str, executor: Any = None, address: str | None = None
) -> Iterator[Campaign | FleetCampaign]:
    store = open_store(storage or os.environ.get(ENVIRONMENT, "driftpace.db"), create=False)
    try:
        head = store.head(name)
        if head is None:
            raise UnknownCampaignError(f"there is no campaign named {name!r}{{where}}.", store=store.url)
        if is_fleet(head.summary):
            engine = open_executor(executor, address=address, owner="jobs")
            yield FleetCampaign.open(name, storage=store, executor=engine)
            return
        for option, value in (("executor", executor), ("address", address)):
            if value is not None:
                raise ParameterError(
                    f"must be None for {name!r}, which has no segments; got {value!r:.80}.", owner="jobs", name=option
                )
        yield Campaign.open(name, storage=store)
    finally:
        store.close()
