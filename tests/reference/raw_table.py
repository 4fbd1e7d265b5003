"""Visits to shops as a system exports them: dates as text, missing cells, 300 stores and an id."""

import csv
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np

HEADER = ("customer", "visited", "store", "channel", "age", "score", "spend")
STORES = 300
MONTHS = ("2025-10", "2025-11", "2025-12")
Row = dict[str, str]


def visits(rows: int = 900) -> dict[str, list[Row]]:
    """Return the visits of each month, with what was spent."""
    rng = np.random.default_rng(20)
    shift = rng.normal(size=STORES)
    channels = {"web": 0.0, "phone": 0.7, "shop": -0.5}
    table: dict[str, list[Row]] = {}
    for place, month in enumerate(MONTHS):
        table[month] = []
        for row in range(rows):
            age, score, channel = rng.normal(40.0, 12.0), rng.normal(), str(rng.choice(list(channels)))
            store = int(rng.integers(5)) if row % 2 else row // 2 % STORES
            spend = 10.0 + (1.0 + 0.1 * place) * (age - 40.0) / 12.0 + 0.6 * score + channels[channel] + shift[store]
            day = date.fromisoformat(f"{month}-{rng.integers(1, 29):02d}")
            lost = rng.random(3)
            cells = (
                f"C{10_000 * place + row:06d}",
                day.strftime("%d %b %Y"),
                f"store {store:03d}",
                "" if lost[0] < 0.08 else channel,
                "NA" if lost[1] < 0.1 else f"{age:.1f}",
                "" if lost[2] < 0.03 else f"{score:.3f}",
                f"{spend + rng.normal():.2f}",
            )
            table[month].append(dict(zip(HEADER, cells, strict=True)))
    return table


def write_rows(path: Path | str, rows: Sequence[Row], *, labelled: bool = True) -> None:
    """Write rows as CSV, with or without the target."""
    names = HEADER if labelled else HEADER[:-1]
    with Path(path).open("w", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def read_rows(path: Path | str) -> list[Row]:
    """Return the rows of a CSV file."""
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def label(rows: Sequence[Row], table: dict[str, list[Row]], only: int | None = None) -> list[Row]:
    """Return drawn rows with the target of the first so many; the others have none."""
    truth = {row["customer"]: row["spend"] for month in table.values() for row in month}
    return [
        {**row, "spend": truth[row["customer"]] if only is None or place < only else ""}
        for place, row in enumerate(rows)
    ]


def missing(rows: Sequence[Row]) -> dict[str, int]:
    """Return how many cells of each column are missing, where any is."""
    counts = {name: sum(row[name] in ("", "NA") for row in rows) for name in ("channel", "age", "score")}
    return {name: count for name, count in counts.items() if count}


def as_columns(rows: Sequence[Row]) -> dict[str, list[str | None]]:
    """Return rows as columns by name, None where a cell is missing."""
    return {name: [row[name] if row[name] not in ("", "NA") else None for row in rows] for name in HEADER}
