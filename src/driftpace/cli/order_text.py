"""Print orders."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from driftpace.campaign.text import order_lines, order_sentence
from driftpace.cli.output import NOTHING_WRITTEN, Form, print_answer, print_json, print_note

if TYPE_CHECKING:
    from driftpace.campaign.records import Order
    from driftpace.cli.output import Line


def print_order(order: "Order", form: Form, *, dry_run: bool, prefix: str = "", notes: Iterable["Line"] = ()) -> None:
    """Print an order; in JSON, notes go to stderr."""
    if form is Form.JSON:
        from driftpace.campaign.serialization import order_json

        print_json(order_json(order))
        for label, text in notes:
            print_note(f"{label}: {text}")
    else:
        print_answer(f"{order.campaign}: {prefix}{order_sentence(order)}", [*order_lines(order), *notes])
    if dry_run:
        print_note(NOTHING_WRITTEN)
