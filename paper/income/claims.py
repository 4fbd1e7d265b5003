"""Numbers, claims and text of the income experiment."""

import math

import numpy as np

from driftpace.typing import FloatArray
from paper.income.account import Account, Bought
from paper.income.tables import TITLES
from paper.records import Claim, Comparison, Measured
from paper.runs import measured

PAPER_DOLLARS = {"adaptive": "$1153 +- 352", "up front": "$2805 +- 424"}
PAPER_RATIO = 1153.0 / 2805.0
_OVER = "standard error over resamplings"


def comparisons_of(account: Account) -> tuple[Comparison, ...]:
    """Return what one table gives, where the paper has figures without numbers."""
    title, pools = TITLES[account.setting.table], account.pools
    standard, white, default = (account.methods[name] for name in ("paper", "whitened", "practical"))
    wanted, rows, late = standard.wanted[:, -1].mean(), pools[-1], len(account.waves) - 2
    return (
        Comparison(
            what=f"{title}: rows per wave from wave 3 on, features standardised",
            paper=None,
            as_in_paper=_late(standard),
            practical=_late(default),
            note=(
                f"As in the paper is saturated in {standard.saturated(pools):.0%} of the waves: in the last it requests "
                f"{wanted:,.0f} rows where {rows:,.0f} are available, because its bound grows with the condition number."
            ),
        ),
        Comparison(
            what=f"{title}: rows per wave from wave 3 on, features whitened",
            paper=None,
            as_in_paper=_late(white),
            practical=None,
            note=(
                f"With the constants of the first wave, where m = M. Saturated in {white.saturated(pools):.0%} of the waves. "
                "The default method whitens by itself."
            ),
        ),
        Comparison(
            what=f"{title}: drift at the end, whitened",
            paper=None,
            as_in_paper=_at_the_end(white.rho),
            practical=_at_the_end(default.rho),
            note=(
                f"The best model on all rows moves by {_root_mean_square(account.change):.3f} per wave (root mean square), of "
                f"which {account.change_beyond_chance:.3f} is more than waves of this size move by chance. The default method "
                "measures the distance from its last model to the new best one."
            ),
        ),
        Comparison(
            what=f"{title}: mean excess risk over the target",
            paper=None,
            as_in_paper=_share(white.excess_risk / account.epsilon),
            practical=_share(default.excess_risk / account.epsilon),
            note=(
                f"Whitened; {_mean(standard, account):.2f} standardised. The target is {account.epsilon:.4g}; below 1 it is "
                f"met on average. Above it by two standard errors are {white.waves_above(account.epsilon)} of {late} waves as "
                f"in the paper, {default.waves_above(account.epsilon)} by default."
            ),
        ),
        Comparison(
            what=f"{title}: test loss over that of up front",
            paper="'substantially less'",
            as_in_paper=_ratio(white),
            practical=_ratio(default),
            note=(
                f"Whitened; {standard.ratio:.3f} standardised. Losses {white.test_loss.mean():.4g} against "
                f"{white.kept_loss.mean():.4g}, and by default {default.test_loss.mean():.4g} against "
                f"{default.kept_loss.mean():.4g}. Up front has at most the {pools[0]:,.0f} rows of wave 1."
            ),
        ),
        *_hindsight(account),
    )


def dollar_comparisons(account: Account) -> tuple[Comparison, ...]:
    """Return the square roots of the mean test loss in dollars of 1997, as the paper's comment has them."""
    title = TITLES[account.setting.table]
    white, default = account.methods["whitened"], account.methods["practical"]
    pairs = {
        "adaptive": (white.test_loss, default.test_loss),
        "up front": (white.kept_loss, default.kept_loss),
    }
    least = math.sqrt(float((account.least * np.square(account.dollars)).mean()))
    rows = [
        Comparison(
            what=f"{title}: root of the mean test loss, {which}",
            paper=f"{PAPER_DOLLARS[which]} (1997; a comment in its source)",
            as_in_paper=_dollars(account, paper),
            practical=_dollars(account, ours),
            note=f"The best model of each wave leaves ${least:,.0f}.",
        )
        for which, (paper, ours) in pairs.items()
    ]
    ratios = Comparison(
        what=f"{title}: adaptive over up front, in dollars",
        paper=f"{PAPER_RATIO:.2f} (1153/2805)",
        as_in_paper=_of_runs(account.root_loss(white.test_loss) / account.root_loss(white.kept_loss)),
        practical=_of_runs(account.root_loss(default.test_loss) / account.root_loss(default.kept_loss)),
        note="The people, the years and the wages differ: of the three rows only this one can be compared.",
    )
    return (*rows, ratios)


def _hindsight(account: Account) -> tuple[Comparison, ...]:
    best = account.constant
    if best is None:
        return ()
    title = TITLES[account.setting.table]
    labels = {name: bought.samples.sum(axis=1) / best.labels for name, bought in account.methods.items()}
    kept = "" if best.kept else " (no constant size meets the target, so this is the whole pool)"
    return (
        Comparison(
            what=f"{title}: labels over those of the best constant size in hindsight",
            paper=None,
            as_in_paper=_of_runs(labels["whitened"]),
            practical=_of_runs(labels["practical"]),
            note=(
                f"Best constant size: {best.size} per wave after two waves of ten rows per coefficient, "
                f"{best.labels:,} in all{kept}. Whitened; standardised {labels['paper'].mean():.2f}."
            ),
        ),
    )


def _late(bought: Bought) -> Measured:
    return _of_runs(bought.samples[:, 2:].mean(axis=1), unit="rows")


def _at_the_end(rho: FloatArray) -> Measured:
    return _of_runs(rho[:, -1])


def _share(values: FloatArray) -> Measured:
    return _of_runs(values.mean(axis=1))


def _mean(bought: Bought, account: Account) -> float:
    return float(bought.excess_risk.mean() / account.epsilon)


def _ratio(bought: Bought) -> Measured:
    """Return the ratio of mean losses, resampling by resampling, since both are measured on the same test rows."""
    return _of_runs(bought.test_loss.mean(axis=1) / bought.kept_loss.mean(axis=1))


def _of_runs(values: FloatArray, unit: str = "") -> Measured:
    return measured(values, unit=unit, note=_OVER)


def _dollars(account: Account, losses: FloatArray) -> Measured:
    roots = account.root_loss(losses)
    waves = np.sqrt(losses.mean(axis=0)) * account.dollars
    note = (
        f"{_OVER}; standard deviation over waves {waves.std(ddof=1):,.0f}. The 1/2 of the loss is inside; the root mean "
        f"square error is {math.sqrt(2.0) * roots.mean():,.0f}"
    )
    return measured(roots, unit="dollars of 1997", note=note)


def _root_mean_square(values: FloatArray) -> float:
    return math.sqrt(float(np.nanmean(np.square(values))))


QUICKLY = 5  # waves
SUBSTANTIALLY = 0.10  # of the test loss of up front
CLEARLY = 3.0  # paired standard errors
SATURATED = 0.5  # of the waves: then the size is the pool's, and says nothing of the rule


def claims_of(account: Account) -> tuple[Claim, ...]:
    """Return the paper's two sentences, judged for each method on one table."""
    title = TITLES[account.setting.table]
    white, default = account.methods["whitened"], account.methods["practical"]
    return (
        Claim(
            says=f"K_n settles down quickly ({title}, as in the paper, features standardised)",
            holds=_settles(account, account.methods["paper"]),
            measured=_settling(account, account.methods["paper"]),
        ),
        Claim(
            says=f"K_n settles down quickly ({title}, as in the paper, features whitened)",
            holds=_settles(account, white),
            measured=_settling(account, white),
        ),
        Claim(
            says=f"K_n settles down quickly ({title}, default method)",
            holds=_settles(account, default),
            measured=_settling(account, default),
        ),
        Claim(
            says=f"The test loss is substantially less than up front ({title}, as in the paper, features whitened)",
            holds=beats(white),
            measured=_beating(account, white),
        ),
        Claim(
            says=f"The test loss is substantially less than up front ({title}, default method)",
            holds=beats(default),
            measured=_beating(account, default),
        ),
    )


def _settles(account: Account, bought: Bought) -> bool:
    """Return whether the mean size is steady from wave 5 at the latest, and is the rule's own and not the pool's."""
    since = bought.settled_from
    return since is not None and since <= QUICKLY and bought.saturated(account.pools) <= SATURATED


def _settling(account: Account, bought: Bought) -> str:
    share = bought.saturated(account.pools)
    if share > SATURATED:
        return (
            f"Saturated: every row of the wave is bought in {share:.0%} of the waves, so K_n shows the size of the survey. The "
            f"rule requests {bought.wanted[:, 2].mean():,.0f} rows in wave 3 and {bought.wanted[:, -1].mean():,.0f} in the last."
        )
    sizes = bought.samples.mean(axis=0)
    since = bought.settled_from
    steady = (
        f"from wave {since} on its mean stays within a factor of two of its median"
        if since is not None
        else "its mean leaves a factor of two around its median to the end"
    )
    return f"{sizes[0]:.0f}, {sizes[1]:.0f}, {sizes[2]:.0f} rows in the first three waves, {sizes[-1]:.0f} in the last; {steady}."


def beats(bought: Bought) -> bool:
    """Return whether a method's test loss is a tenth or more below up front, by three paired standard errors."""
    gap, error = bought.gap.mean, bought.gap.error
    return gap > CLEARLY * error and bought.ratio <= 1.0 - SUBSTANTIALLY


def _beating(account: Account, bought: Bought) -> str:
    gap, error = bought.gap.mean, bought.gap.error
    since = bought.better_from
    when = (
        f"larger by two paired standard errors in every wave from {since} ({account.waves[since - 1]}) on"
        if since is not None
        else "not larger by two paired standard errors in the last wave"
    )
    last = float(bought.kept_loss[:, -1].mean() / bought.test_loss[:, -1].mean())
    return (
        f"Up front loses {gap:.4g} +- {error:.2g} more (paired, {account.runs} resamplings), {1.0 - bought.ratio:.1%} of its test "
        f"loss; {when}; {last:.2f} times as much in the last wave. Substantially is taken to mean a tenth."
    )
