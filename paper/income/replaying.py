"""All settings at once: their resamplings spread over the processes, and put together again."""

from collections.abc import Sequence

from paper.asked import Asked, mapped
from paper.income.account import Account
from paper.income.resampling import Constant, Hindsight, Resampling, work
from paper.income.setting import Setting

_SHARE_OF_RUNS = 4  # one resampling in four where a setting is only varied


def replayed(
    asked: Asked, searched: Sequence[Setting], others: Sequence[Setting] = (), varied: Sequence[Setting] = ()
) -> dict[Setting, Account]:
    """Return the account of every setting.

    For those in ``searched`` the best constant size in hindsight is sought too; those in ``varied`` get fewer resamplings.
    """
    fewer = max(2, asked.runs // _SHARE_OF_RUNS)
    runs = {**dict.fromkeys([*searched, *others], asked.runs), **dict.fromkeys(varied, fewer)}
    searches = [Hindsight(setting=setting, runs=asked.runs) for setting in searched]
    walks = [Resampling(setting=setting, run=run) for setting, count in runs.items() for run in range(count)]
    items: list[Resampling | Hindsight] = [*searches, *walks]
    found = mapped(asked, work, items, "income panel")
    best = {search.setting: one for search, one in zip(searches, found, strict=False) if isinstance(one, Constant)}
    accounts, at = {}, len(searches)
    for setting, count in runs.items():
        mine = [one for one in found[at : at + count] if isinstance(one, dict)]
        accounts[setting], at = Account.of(setting, mine, best.get(setting)), at + count
    return accounts
