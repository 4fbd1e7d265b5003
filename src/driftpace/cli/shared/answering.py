"""How a command that did something answers: in words, or as one JSON object that says whether anything was written."""

from collections.abc import Mapping, Sequence
from typing import Any

from driftpace.cli.shared.options import Form
from driftpace.cli.shared.printing import Line, print_answer, print_json, print_note

NOTHING = "Nothing was written."


def print_done(
    form: Form,
    first: str,
    values: Mapping[str, Any],
    *,
    lines: Sequence[Line] = (),
    notes: Sequence[Line] = (),
    dry_run: bool = False,
) -> None:
    """Print what was done, or what a dry run would do.

    For people that is ``first`` with ``lines`` and ``notes`` below; for machines ``values`` with ``dry_run``, and stdout carries
    nothing else: notes, which ``values`` do not hold, go to stderr.

    >>> print_done(Form.JSON, "churn: is gone.", {"name": "churn"}, dry_run=True)
    {"name":"churn","dry_run":true}
    """
    if form is Form.JSON:
        print_json({**values, "dry_run": dry_run})
        for name, text in notes:
            print_note(f"{name} {text}")
    else:
        print_answer(first, [*notes, *lines])
    if dry_run:
        print_note(NOTHING)
