"""What ``driftpace reproduce`` prints: of each experiment the answer, the numbers and the claims; then where the files are."""

import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

from driftpace.cli.output import Stopwatch
from paper import Claim, Finding
from paper.drawing import to_json
from paper.drawing.grouping import grouped
from paper.drawing.words import measured, plural, typeset

FEW = 8  # claims; of more only those that do not hold are told, the page has them all
WIDTH = 100  # letters of a line where it is not a terminal that has a width
_HEADS = ("", "the paper", "as in the paper", "by default")


def tell(findings: Sequence[Finding], out: Path, form: str, stopwatch: Stopwatch) -> None:
    """Print the findings; in a form for machines, stdout carries nothing else and the rest goes to stderr."""
    if form == "json":
        print(to_json(findings))
        print(f"Page: {out / 'index.html'}\n{stopwatch.sentence()}", file=sys.stderr)
        return
    show = _show if sys.stdout.isatty() else _plain
    for finding in findings:
        show(finding)
    for name, text in written(findings, out):
        print(f"{name:<8} {text}")
    print(stopwatch.sentence())


def rows(finding: Finding) -> list[tuple[str, ...]]:
    """Return the numbers side by side, as words; numbers of one kind stand below its name."""
    found: list[tuple[str, ...]] = []
    for head, group in grouped(finding.comparisons):
        found += [(typeset(head), "", "", "")] if head else []
        for each in group:
            cells = (each.paper or "–", measured(each.as_in_paper), measured(each.practical))
            found.append((f"{'  ' if head else ''}{typeset(each.what)}", *(typeset(cell) for cell in cells)))
    return found


def told(finding: Finding) -> list[Claim]:
    """Return the claims that are worth a line."""
    return [claim for claim in finding.claims if not claim.holds or len(finding.claims) <= FEW]


def count(finding: Finding) -> str:
    """Say how many claims hold, where not all are told."""
    if len(told(finding)) == len(finding.claims):
        return ""
    held = sum(claim.holds for claim in finding.claims)
    return f"{held} of {plural(len(finding.claims), 'claim')} hold{'; not these:' if told(finding) else '.'}"


def said(claim: Claim) -> str:
    """Return the claim, and where it does not hold the numbers that decide it; those of the others are on the page."""
    text = typeset(claim.says)
    return text if claim.holds else f"{text.rstrip('.')}: {typeset(claim.measured)}"


def written(findings: Sequence[Finding], out: Path) -> list[tuple[str, str]]:
    """Return what lies where, each with the word it is about."""
    figures = plural(sum(len(finding.figures) for finding in findings), "figure")
    return [
        ("Page", str(out / "index.html")),
        ("Figures", f"{out / 'figures'} ({figures}, each as PNG and SVG)"),
        ("Numbers", f"{out / 'data'}, {out / 'findings.json'}"),
    ]


def _plain(finding: Finding) -> None:
    print(f"{typeset(finding.title)} ({finding.name})\n")
    print(fill(typeset(finding.answer), WIDTH))
    lines = [_HEADS, *rows(finding)]
    if len(lines) > 1:
        widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADS))]
        print()
        for line in lines:
            first, *others = zip(line, widths, strict=True)
            print("  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]).rstrip())
    print(f"\n{count(finding)}" if count(finding) else "")
    for claim in told(finding):
        before = "holds     " if claim.holds else "does not  "
        text = said(claim)
        print(fill(text, WIDTH, initial_indent=before, subsequent_indent=" " * len(before)))
    print()


def _show(finding: Finding) -> None:
    """Print with lines and colours, as wide as the terminal is."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    console.print(Text(f"{typeset(finding.title)} ", style="bold") + Text(f"({finding.name})", style="dim"))
    console.print(Text(typeset(finding.answer)))
    if finding.comparisons:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for place, head in enumerate(_HEADS):
            table.add_column(head, justify="right" if place else "left", overflow="fold")
        for row in rows(finding):
            table.add_row(*(Text(cell) for cell in row))
        console.print(table)
    claims = Table.grid(padding=(0, 2))
    if count(finding):
        console.print(Text(count(finding)))
    for claim in told(finding):
        sign = Text("✓ holds", style="green") if claim.holds else Text("✗ does not", style="red")
        claims.add_row(sign, Text(said(claim)))
    console.print(claims)
    console.print()
