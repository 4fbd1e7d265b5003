"""The columns of the ledger for what was measured from labels: one definition, the same in tables, frames and files."""

import csv
import io
from dataclasses import replace

from driftpace.campaign.ledger import Ledger, ledger_columns
from tests.reference.audits import AUDIT, ledger_row


def test_measured_excess_and_its_mean_are_columns_for_people() -> None:
    headings, (cells,) = Ledger([ledger_row()]).table()
    shown = dict(zip(headings, cells, strict=True))
    assert shown["measured excess"] == "0.031 ± 0.021"
    assert shown["measured mean"] == "0.027 ± 0.004"
    assert shown["outcome"].startswith("the rows delivered show a larger excess loss")


def test_files_have_every_number_of_the_audit() -> None:
    (line,) = csv.DictReader(io.StringIO(Ledger([ledger_row()]).to_csv()))
    wanted = {
        "measured": AUDIT.measured,
        "measured_error": AUDIT.error,
        "measured_mean": AUDIT.mean,
        "measured_mean_error": AUDIT.mean_error,
        "promised_mean": AUDIT.promised,
        "measured_periods": AUDIT.periods,
        "aim": AUDIT.aim,
    }
    assert {name: float(line[name]) for name in wanted} == wanted
    assert line["outcome"] == "unsupported"


def test_a_period_that_was_not_measured_has_no_value() -> None:
    alone = replace(AUDIT, measured=None, error=None)
    ledger = Ledger([ledger_row(1, None), ledger_row(2, alone)])
    columns = ledger.columns()
    assert columns["measured_mean"] == [None, AUDIT.mean]
    assert "measured" not in columns  # no period has a value
    assert not any(column.key == "measured_mean" for column in ledger_columns([ledger_row(1, None)]))
