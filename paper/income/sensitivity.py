"""How the income panel answers to what the paper leaves open: one thing changed at a time, fewer resamplings."""

from dataclasses import replace

from paper.income.account import Account
from paper.income.figures import late_rows
from paper.income.setting import Setting
from paper.income.tables import TITLES
from paper.records import Sensitivity

_COLUMNS = (
    "changed",
    "default: rows a wave",
    "default: excess risk / epsilon",
    "default: test loss / up front",
    "paper whitened: rows a wave",
    "paper whitened: excess risk / epsilon",
    "paper whitened: test loss / up front",
    "paper standardised: rows asked for",
)


def variations(base: Setting) -> dict[str, Setting]:
    """Return settings in which one thing differs from ``base``, by what it is.

    >>> list(variations(Setting(table="psid7682")))
    ['epsilon 1 %', 'epsilon 5 %', 'epsilon 10 %', 'test people never bought']
    """
    targets = {f"epsilon {100 * share:.0f} %": replace(base, share=share) for share in (0.01, 0.05, 0.10)}
    if base.table == "psid7682":
        return {**targets, "test people never bought": replace(base, people=True)}
    return {
        **targets,
        "lambda 0": replace(base, l2=0.0),
        "lambda 0.1": replace(base, l2=0.1),
        "schooling and experience only": replace(base, features="schooling"),
        "scaled on all waves": replace(base, scaling="pooled"),
        "10 % test rows": replace(base, test_fraction=0.1),
        "40 % test rows": replace(base, test_fraction=0.4),
    }


def sensitivity_of(base: Account, varied: dict[str, Account]) -> Sensitivity:
    """Return the table of one table's variations, the setting of the figures first."""
    table = base.setting.table
    first = f"as in the figures ({base.runs} resamplings)"
    runs = next(iter(varied.values())).runs
    return Sensitivity(
        title=f"{TITLES[table]}: one thing changed at a time, {runs} resamplings each",
        columns=_COLUMNS,
        rows=tuple(_row(name, account) for name, account in {first: base, **varied}.items()),
        reading=_reading(base, varied),
    )


def _row(name: str, account: Account) -> tuple[str, ...]:
    default, white = account.methods["practical"], account.methods["whitened"]
    full = white.saturated(account.pools)
    return (
        name,
        f"{late_rows(account, 'practical'):.0f}",
        f"{default.excess_risk.mean() / account.epsilon:.2f}",
        f"{default.ratio:.3f}",
        f"{late_rows(account, 'whitened'):.0f}" + (f" ({full:.0%} saturated)" if full >= 0.005 else ""),
        f"{white.excess_risk.mean() / account.epsilon:.2f}",
        f"{white.ratio:.3f}",
        f"{account.methods['paper'].wanted[:, -1].mean():,.0f}",
    )


def _reading(base: Account, varied: dict[str, Account]) -> str:
    ratios = [account.methods["practical"].ratio for account in varied.values()]
    rows = [late_rows(account, "practical") for account in varied.values()]
    asked = min(account.methods["paper"].wanted[:, -1].mean() for account in varied.values())
    return (
        f"The ratio to up front lies between {min(ratios):.2f} and {max(ratios):.2f} whatever is changed; the rows bought by "
        f"default between {min(rows):.0f} and {max(rows):.0f} a wave, which epsilon decides. As in the paper on standardised "
        f"features never asks for fewer than {asked:,.0f} in the last wave, of {base.pools[-1]:,.0f}."
    )
