"""Words that a campaign does not list: which listed one they count as, said at its beginning or later, and which rows had any."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from driftpace.campaign.definition import Definition, check_others
from driftpace.campaign.folded import Folded
from driftpace.campaign.records import CountedAs
from driftpace.campaign.writing import Draft
from driftpace.errors import ParameterError

_OWNER = "Campaign.amend"
SHOWN = 5
"""So many of the words are named; the log is no place for a column of free text."""
LONGEST = 80
"""Characters of each."""

Unlisted = Mapping[str, Sequence[str | None]]
"""For each column of words that has one for all others, what each row holds instead of a listed one; None where it is listed."""


def amended(folded: Folded, others: Mapping[str, str]) -> Folded:
    """Let any other word of a column count as one that is listed, from now on; what was told stays as it was."""
    definition = folded.definition
    return replace(folded, definition=replace(definition, others={**definition.others, **others}))


def amend(folded: Folded, draft: Draft, others: object, *, reason: str, who: str) -> Folded:
    """Amend the campaign; where all of it holds already, nothing is written."""
    given = check_others(_OWNER, others, folded.definition.categories)
    if not given:
        raise ParameterError("must name one column at least; got none.", owner=_OWNER, name="others")
    after = amended(folded, given)
    if after.definition == folded.definition:
        return folded
    draft.add("amended", {"period": folded.state.period, "others": given, "reason": reason, "who": who})
    return after


def counted_as(
    definition: Definition, unlisted: Unlisted, *, ids: Sequence[Any] | None = None, told: Collection[str] | None = None
) -> tuple[CountedAs, ...]:
    """Return which rows hold a word that counts as another; only those whose id was ``told``, where rows have one.

    >>> definition = Definition.of({"name": "a", "epsilon": 1, "categories": {"city": ["Rome", "Milan"]},
    ...     "others": {"city": "Milan"}})
    >>> [one.sentence for one in counted_as(definition, {"city": ["Bari", None, "Bari"]})]
    ['2 rows with another city than those listed (Bari) count as Milan']
    """
    found = []
    for column, held in unlisted.items():
        if ids is not None and told is not None:
            held = [word for one, word in zip(ids, held, strict=True) if str(one) in told]
        words = [word for word in held if word is not None]
        if words:
            different = tuple(dict.fromkeys(words))
            shown = tuple(word.encode("utf-8", "replace").decode()[:LONGEST] for word in different[:SHOWN])
            found.append(
                CountedAs(
                    column=column, word=definition.others[column], rows=len(words), words=len(different), found=shown
                )
            )
    return tuple(found)
