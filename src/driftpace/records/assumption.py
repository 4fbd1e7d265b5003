"""What a promise rests on, and whether it holds here."""

from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """Whether an assumption holds, as far as the data can tell."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, kw_only=True, slots=True)
class Assumption:
    """One thing a promise rests on, whether it holds, and a sentence about it.

    ``judged`` is False where too little came to judge it: it then passes for want of anything against it.
    """

    name: str
    verdict: Verdict
    sentence: str
    judged: bool = True
