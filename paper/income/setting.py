"""One way of setting up the income panel: which table, which money, and what the paper leaves open."""

from dataclasses import dataclass
from typing import Any, Literal

TableName = Literal["gss_real", "gss_nominal", "psid7682", "psid7682_real", "extract"]
Money = Literal["log", "dollars"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """Everything that a resampling depends on, beside its number; small, and the same in every process.

    ``money`` says what is predicted: the log of the income, or thousands of dollars as in the paper. The target excess risk is
    ``share`` of Var(y)/2 in the first wave. ``scaling`` says on which rows features get mean 0 and variance 1. With ``people`` the
    test rows of every wave are the same people, who are never bought. ``extract`` is the user's own file, with the names of its
    columns.

    >>> Setting(table="psid7682").share
    0.02
    """

    table: TableName
    money: Money = "log"
    share: float = 0.02
    l2: float = 1e-3
    test_fraction: float = 0.2
    scaling: Literal["first", "pooled"] = "first"
    features: Literal["all", "schooling"] = "all"
    people: bool = False
    seed: int = 0
    extract: tuple[str, tuple[tuple[str, Any], ...]] | None = None
