"""What is written when something happened to a campaign: its entries, and what follows from them."""

from dataclasses import dataclass, field
from typing import Any

from driftpace.campaign.folded import Folded, to_checkpoint
from driftpace.campaign.summary import summary
from driftpace.storage.store import Change, Entry


@dataclass(slots=True)
class Draft:
    """Entries in the making, behind where the campaign stood. ``at`` is the time of all of them."""

    before: Folded
    at: str
    entries: list[Entry] = field(default_factory=list)
    rows: dict[int, bytes] = field(default_factory=dict)
    drop_rows: list[int] = field(default_factory=list)

    @property
    def next_seq(self) -> int:
        """The number that the next entry will have."""
        return self.before.seq + len(self.entries) + 1

    def add(self, kind: str, body: dict[str, Any], *, key: str | None = None, rows: bytes | None = None) -> None:
        """Add an entry."""
        if rows is not None:
            self.rows[len(self.entries)] = rows
        self.entries.append(Entry(kind=kind, body=body, at=self.at, key=key))

    def drop(self, seqs: tuple[int, ...]) -> None:
        """Let rows go: those of this draft are never written, earlier ones are dropped."""
        for seq in seqs:
            place = seq - self.before.seq - 1
            if place >= 0:
                self.rows.pop(place, None)
            else:
                self.drop_rows.append(seq)

    def change(self, folded: Folded) -> Change:
        """Return what is to be written, when it leads to ``folded``."""
        return Change(
            entries=tuple(self.entries),
            checkpoint=to_checkpoint(folded),
            summary=summary(folded),
            rows=dict(self.rows),
            drop_rows=tuple(self.drop_rows),
        )
