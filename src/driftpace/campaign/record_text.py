"""What a campaign returns as the text that the command line prints, for notebooks and scripts."""

from collections.abc import Sequence

from driftpace.campaign.ledger import Ledger
from driftpace.campaign.log_text import undone_text
from driftpace.campaign.records import Erasure, Order, Receipt, Status, Undone
from driftpace.campaign.text import (
    Line,
    annotator_lines,
    capitalized,
    erasure_lines,
    erasure_sentence,
    lateness_lines,
    order_lines,
    order_sentence,
    receipt_lines,
    receipt_sentence,
    undone_lines,
)
from driftpace.errors import ParameterError
from driftpace.formatting import plural

_LABEL = 10


def render(record: Order | Receipt | Undone | Erasure | Status | Ledger) -> str:
    """Return an order, a receipt, an undo, an erasure, a status or a ledger as plain text.

    Parameters
    ----------
    record : Order, Receipt, Undone, Erasure, Status or Ledger
        What :class:`driftpace.Campaign` returned.

    Returns
    -------
    str
        The text that the command line prints of it.

    Examples
    --------
    >>> from driftpace import Campaign
    >>> definition = {"name": "prices", "target": "price", "features": ["size"], "epsilon": 0.1}
    >>> campaign = Campaign.create(definition, storage="memory://")
    >>> print(render(campaign.ask(key="May")))  # doctest: +ELLIPSIS
    Label 6 rows for period 1 (May).
    Reason     No initial labels yet: 6 rows ...
    """
    if isinstance(record, Order):
        return _page(order_sentence(record), order_lines(record))
    if isinstance(record, Receipt):
        return _page(capitalized(receipt_sentence(record, "")), receipt_lines(record))
    if isinstance(record, Undone):
        what = undone_text(record.kind, rows=record.rows, period=record.period)
        return _page(f"{what}.", undone_lines(record))
    if isinstance(record, Erasure):
        return _page(erasure_sentence(record), erasure_lines(record))
    if isinstance(record, Status):
        return _page(record.todo, _status_lines(record))
    if isinstance(record, Ledger):
        heads, rows = record.table()
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        table = (zip(line, widths, strict=True) for line in (heads, *rows))
        return "\n".join("  ".join(cell.ljust(width) for cell, width in line).rstrip() for line in table)
    raise ParameterError(
        f"must be an order, a receipt, an undo, an erasure, a status or a ledger of a campaign; got {type(record).__name__}.",
        owner="render",
        name="record",
    )


def _status_lines(status: Status) -> list[Line]:
    lines: list[Line] = [("Target", status.target)]
    if status.order is not None:
        lines += order_lines(status.order)
    lines += lateness_lines(status.lateness) + annotator_lines(status.annotators, status.order)
    return [*lines, ("So far", f"{plural(status.period - 1, 'period')} closed, {plural(status.rows, 'row')}")]


def _page(first: str, lines: Sequence[Line]) -> str:
    return "\n".join([first, *(f"{label:<{_LABEL}} {text}".rstrip() for label, text in lines)])
