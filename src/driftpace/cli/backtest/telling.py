"""What the command prints: what was asked, what it cost, what it would have cost otherwise, where the report is."""

import csv
import io
import sys
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path

from driftpace.backtest import BacktestResult, render, summary, to_json
from driftpace.backtest.report import words
from driftpace.backtest.report.facts import judge, labels
from driftpace.backtest.tables import SummaryRow
from driftpace.cli.shared.spending import Spending


def tell(result: BacktestResult, written: Mapping[str, Path], form: str, spending: Spending) -> None:
    """Print the result; in a form for machines, stdout carries nothing else and the rest goes to stderr."""
    if form == "table":
        print(
            f"{opening(result, written)}\n\n{render(result)}\n{careful(result)}{noted(result)}\n{spending.sentence()}"
        )
        return
    print(to_json(result) if form == "json" else as_csv(result))
    for what, path in written.items():
        print(f"{what.capitalize()}: {path}", file=sys.stderr)
    print(f"{noted(result).lstrip()}{spending.sentence()}", file=sys.stderr)


def opening(result: BacktestResult, written: Mapping[str, Path]) -> str:
    """Return the answer in a few lines."""
    own = result.strategies[0]
    found = judge(own, result.epsilon, result.confidence)
    total = labels(own)
    periods = len(result.periods)
    lines = [
        ("Asked", f"{words.asked(result)}, in {result.table} ({words.plural(periods, 'period')})"),
        ("Cost", f"{words.bill(result, total)}, {words.number(total / periods)} a period"),
        ("Otherwise", words.otherwise(result).replace("; ", "\n" + " " * 11)),
        ("Promise", f"{words.KEPT if found.kept else words.BROKEN}: {words.verdict(found)}"),
    ]
    if result.choices is not None:
        lines.append(("Chosen", words.chosen(result.choices)))
    lines += [(what.capitalize(), str(written[what])) for what in ("report", "numbers") if what in written]
    return "\n".join(f"{name:<10} {text}" for name, text in lines)


def careful(result: BacktestResult) -> str:
    """Return a line for each assumption that did not hold everywhere, and nothing when all did."""
    heads = {"bad": "Fails", "warn": "Careful"}
    lines = []
    for each, often in result.assumptions:
        tone, said = words.standing(each, often)
        if tone in heads:
            lines.append((tone, f"{heads[tone]}: {each.name} ({said}): {each.sentence}"))
    lines.sort(key=lambda line: list(heads).index(line[0]))
    return "".join(f"\n{text}" for _, text in lines) + ("\n" if lines else "")


def noted(result: BacktestResult) -> str:
    """Return a line for each thing that was done to the table: rows and columns left out, the order of the periods."""
    return "".join(f"\nNote: {note}" for note in result.notes) + ("\n" if result.notes else "")


def as_csv(result: BacktestResult) -> str:
    """Return one line for each strategy, with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(SummaryRow)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in summary(result))
    return text.getvalue().rstrip("\n")
