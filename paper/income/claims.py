"""What the paper says of its figures, and whether it holds on these tables."""

from paper.income.account import Account, Bought
from paper.income.tables import TITLES
from paper.records import Claim

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
            says=f"K_n settles down quickly ({title}, practical default)",
            holds=_settles(account, default),
            measured=_settling(account, default),
        ),
        Claim(
            says=f"The test loss is substantially less than up front ({title}, as in the paper, features whitened)",
            holds=beats(white),
            measured=_beating(account, white),
        ),
        Claim(
            says=f"The test loss is substantially less than up front ({title}, practical default)",
            holds=beats(default),
            measured=_beating(account, default),
        ),
    )


def _settles(account: Account, bought: Bought) -> bool:
    """Say whether the mean size is steady from wave 5 at the latest, and is the rule's own and not the pool's."""
    since = bought.settled_from
    return since is not None and since <= QUICKLY and bought.saturated(account.pools) <= SATURATED


def _settling(account: Account, bought: Bought) -> str:
    share = bought.saturated(account.pools)
    if share > SATURATED:
        return (
            f"Saturated: every row of the wave is bought in {share:.0%} of the waves, so K_n shows the size of the survey. The "
            f"rule asks for {bought.wanted[:, 2].mean():,.0f} rows in wave 3 and {bought.wanted[:, -1].mean():,.0f} in the last."
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
    """Say whether a method's test loss is a tenth or more below its twin's, and that by three paired standard errors."""
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
