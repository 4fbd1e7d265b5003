"""The finding of the income panel."""

from dataclasses import replace

from paper.income.account import Account, replayed
from paper.income.claims import SATURATED, claims_of, comparisons_of, dollar_comparisons
from paper.income.figures import dollar_figure, figures_of, late_rows, sensitivity_of, variations
from paper.income.study import OPEN, jobs
from paper.income.tables import TITLES, Setting, TableName, dollars_of_1997, load_table, own_extract, panel_of
from paper.records import Finding
from paper.runs import RunSettings

_VARIED: tuple[TableName, ...] = ("gss_nominal", "psid7682")


def find(asked: RunSettings) -> Finding:
    """Replay every table, ``asked.runs`` resamplings each, and the user's own extract of the PSID where there is one.

    For each wave of a table the methods buy rows of people as if the interviews were still to be made: as in the paper, by
    single-pass SGD sized by its bound with the direct estimate of the drift, and by the default method. Each is compared with a
    model that buys as much in the first wave and is kept (section V-C; theory 6.3).
    """
    extract = own_extract(asked)
    names: list[TableName] = ["gss_real", "gss_nominal", "psid7682"]
    logs = [Setting(table=name, seed=asked.seed) for name in names]
    dollars = [replace(setting, money="dollars") for setting in logs]
    dollars.append(Setting(table="psid7682_real", money="dollars", seed=asked.seed))
    if extract is not None:
        own = Setting(table="extract", seed=asked.seed, extract=extract)
        logs.append(own)
        dollars.append(replace(own, money="dollars"))
        jobs(own)  # what cannot be read or replayed is refused before anything is computed
        dollars_of_1997(own, panel_of(own))
    varied = {setting: variations(setting) for setting in logs if setting.table in _VARIED}
    fewer = [one for found in varied.values() for one in found.values()]
    accounts = replayed(asked, logs, dollars, fewer)
    in_logs = [accounts[setting] for setting in logs]
    in_dollars = [accounts[setting] for setting in dollars]
    return Finding(
        name="income",
        title="Income panel: how many interviews are enough?",
        question=(
            "A survey asks people about their income every year, and a linear model predicts it from schooling, "
            "experience and other answers. Suppose the survey were run again, and each year only as many people were "
            "interviewed as a target excess risk needs: how many would that be, and how much better is it than "
            "interviewing as many in the first year and keeping that model?"
        ),
        answer=_answer(in_logs),
        runs=asked.runs,
        seed=asked.seed,
        figures=(
            *(figure for account in in_logs for figure in figures_of(account)),
            *(dollar_figure(account) for account in in_dollars),
        ),
        comparisons=(
            *(row for account in in_logs for row in comparisons_of(account)),
            *(row for account in in_dollars for row in dollar_comparisons(account)),
        ),
        constants=OPEN,
        sensitivity=tuple(
            sensitivity_of(accounts[base], {what: accounts[one] for what, one in found.items()})
            for base, found in varied.items()
        ),
        claims=tuple(claim for account in in_logs for claim in claims_of(account)),
        notes=_notes(in_logs, in_dollars),
    )


def _answer(accounts: list[Account]) -> str:
    parts, missed, saturated, usable = [], [], [], []
    for account in accounts:
        title, pools = TITLES[account.setting.table], account.pools
        default = account.methods["practical"]
        parts.append(
            f"{title}: {late_rows(account, 'practical'):.0f} of {pools.mean():.0f} rows per wave, test loss "
            f"{1.0 - default.ratio:.0%} below up front"
        )
        if default.excess_risk.mean() > account.epsilon:
            missed.append(title)
        saturated.append(account.methods["paper"].saturated(pools))
        if account.methods["whitened"].saturated(pools) <= SATURATED:
            usable.append(title)
    held = f"misses the target on {' and on '.join(missed)}" if missed else "meets the target on average on every table"
    share = "every wave" if min(saturated) == 1.0 else f"{min(saturated):.0%} to {max(saturated):.0%} of the waves"
    where = f"can be used on: {'; '.join(usable)}" if usable else "is saturated as well"
    return (
        f"The default method {held} with a part of the survey ({'; '.join(parts)}). The gain over interviewing once "
        f"depends on the drift. The paper's own rule buys every row in {share}, since its bound grows with the "
        f"condition number of the features; with features whitened it {where}."
    )


def _notes(logs: list[Account], dollars: list[Account]) -> tuple[str, ...]:
    notes = []
    for account in logs:
        paper, white = account.methods["paper"], account.methods["whitened"]
        title = TITLES[account.setting.table]
        notes.append(
            f"{title}: the paper's rule is saturated in {paper.saturated(account.pools):.0%} of the waves on standardised "
            f"features and in {white.saturated(account.pools):.0%} on whitened ones; where it is, its curve is that of all "
            "rows, not of a rule."
        )
        notes.append(
            f"{title}: up front has {white.kept_rows.mean():,.0f} rows (wave 1 has no more) where the default buys "
            f"{account.methods['practical'].samples.sum(axis=1).mean():,.0f} in all. The best model of all rows of wave 1, "
            f"kept, would have a mean excess risk of {account.first_kept:.3g}; up front has "
            f"{account.methods['practical'].kept_excess.mean():.3g}, and the target is {account.epsilon:.3g}."
        )
        notes += [f"{title}: {said}" for said in load_table(account.setting).notes]
    notes.append(
        "PSID 1976-1982: the same 595 people are in every wave, so rows of different waves are dependent, and people tested on in "
        "one wave may have been bought in another. The sensitivity table has a row in which test people are never bought."
    )
    notes.append(
        "PSID 1976-1982: the extract does not say in which unit wages are; about 790 in nominal dollars looks like cents per "
        "hour. Its amounts 'in dollars' are that number in prices of 1997, by the consumer prices of the year of the wave."
    )
    notes += [_in_dollars(account) for account in dollars]
    left = float(dollars[0].root_loss(dollars[0].least[None, :])[0])
    notes.append(
        "The paper's $1153 is implausibly small for the prediction error of one person's yearly income: the best linear model of "
        f"each wave of the General Social Survey leaves ${left:,.0f}, in the same money and with the same 1/2."
    )
    notes.append(
        "Standard errors are over resamplings of the same tables: they measure the uncertainty for these people, not for others."
    )
    return tuple(notes)


def _in_dollars(account: Account) -> str:
    """Describe how a target fixed in the money of the first wave fares in dollars."""
    default, white = account.methods["practical"], account.methods["whitened"]
    return (
        f"{TITLES[account.setting.table]}, fitted in dollars: the target is {account.setting.share:.0%} of Var(y)/2 in the "
        f"first wave and stays there while incomes grow. The default buys every row in {default.saturated(account.pools):.0%} "
        f"of the waves and has {default.excess_risk.mean() / account.epsilon:.2g} times the target; the paper's rule, "
        f"whitened, goes by the noise of the first wave, buys every row in {white.saturated(account.pools):.0%} and has "
        f"{white.excess_risk.mean() / account.epsilon:.2g} times."
    )
