"""Assumptions as the page shows them: what each verdict looks like, and how many there are of each."""

from collections.abc import Sequence
from dataclasses import dataclass

from driftpace.records import Assumption

_LOOKS = {
    "fail": ("✗", "fails", "fail"),
    "warn": ("!", "careful", "need care"),
    "pass": ("✓", "holds", "hold"),
    "open": ("–", "open", "are not judged yet"),
}
"""The worst first: its sign, its word, and how several of it are counted."""
_ONE = {"warn": "needs care", "open": "is not judged yet"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Assumed:
    """One assumption; ``look`` is its verdict, or "open" where too few rows came to judge."""

    name: str
    sentence: str
    look: str

    @property
    def sign(self) -> str:
        """The verdict as a sign."""
        return _LOOKS[self.look][0]

    @property
    def words(self) -> str:
        """The verdict in a word."""
        return _LOOKS[self.look][1]


def assumed(held: Sequence[Assumption]) -> tuple[Assumed, ...]:
    """Return assumptions for the page, the worst first.

    >>> from driftpace.records import Verdict
    >>> few = Assumption(name="tails", verdict=Verdict.PASS, sentence="None came.", judged=False)
    >>> assumed([few])[0].words
    'open'
    """
    found = [Assumed(name=one.name, sentence=one.sentence, look=_look(one)) for one in held]
    order = list(_LOOKS)
    return tuple(sorted(found, key=lambda one: order.index(one.look)))


def tally(held: Sequence[Assumed]) -> str:
    """Return how many hold and how many do not.

    >>> tally([Assumed(name=name, sentence="", look=look) for name, look in (("a", "warn"), ("b", "pass"), ("c", "pass"))])
    '1 needs care, 2 hold'
    """
    looks = [one.look for one in held]
    counts = [(look, looks.count(look)) for look in _LOOKS]
    return ", ".join(
        f"{count} {_ONE.get(look, _LOOKS[look][1]) if count == 1 else _LOOKS[look][2]}"
        for look, count in counts
        if count
    )


def _look(one: Assumption) -> str:
    return one.verdict.value if one.judged else "open"
