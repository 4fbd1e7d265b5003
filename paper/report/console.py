"""Findings printed to a terminal: the answer, the numbers and the claims of each experiment, and where the files are."""

import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

from paper import Claim, Finding
from paper.report import to_json
from paper.report.text import grouped, measured, plural, typeset

FEW = 8  # claims; of more than these only the ones that do not hold are printed, the page lists them all
WIDTH = 100  # characters of a line when not at a terminal
_HEADS = ("", "the paper", "as in the paper", "by default")


def print_findings(findings: Sequence[Finding], out: Path, form: str, seconds: float) -> None:
    """Print the findings; as JSON, stdout carries nothing else and the rest goes to stderr."""
    if form == "json":
        print(to_json(findings))
        print(f"Page: {out / 'index.html'}\nTook {seconds:.1f} s.", file=sys.stderr)
        return
    show = _show if sys.stdout.isatty() else _plain
    for finding in findings:
        show(finding)
    for name, text in output_files(findings, out):
        print(f"{name:<8} {text}")
    print(f"Took {seconds:.1f} s.")


def rows(finding: Finding) -> list[tuple[str, ...]]:
    """Return the table of numbers as text; related numbers are grouped under a heading."""
    table: list[tuple[str, ...]] = []
    for head, group in grouped(finding.comparisons):
        table += [(typeset(head), "", "", "")] if head else []
        for each in group:
            cells = (each.paper or "–", measured(each.as_in_paper), measured(each.practical))
            table.append((f"{'  ' if head else ''}{typeset(each.what)}", *(typeset(cell) for cell in cells)))
    return table


def claims_to_print(finding: Finding) -> list[Claim]:
    """Return all claims where they are few, else those that do not hold."""
    return [claim for claim in finding.claims if not claim.holds or len(finding.claims) <= FEW]


def count(finding: Finding) -> str:
    """Return how many claims hold, where not all are printed."""
    if len(claims_to_print(finding)) == len(finding.claims):
        return ""
    held = sum(claim.holds for claim in finding.claims)
    return f"{held} of {plural(len(finding.claims), 'claim')} hold{'; not these:' if claims_to_print(finding) else '.'}"


def claim_text(claim: Claim) -> str:
    """Return the claim, with the deciding numbers where it does not hold."""
    text = typeset(claim.says)
    return text if claim.holds else f"{text.rstrip('.')}: {typeset(claim.measured)}"


def output_files(findings: Sequence[Finding], out: Path) -> list[tuple[str, str]]:
    """Return the files by kind."""
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
    for claim in claims_to_print(finding):
        before = "holds     " if claim.holds else "does not  "
        text = claim_text(claim)
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
    for claim in claims_to_print(finding):
        sign = Text("✓ holds", style="green") if claim.holds else Text("✗ does not", style="red")
        claims.add_row(sign, Text(claim_text(claim)))
    console.print(claims)
    console.print()
