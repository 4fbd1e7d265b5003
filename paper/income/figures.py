"""Figures and sensitivity tables of the income experiment."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from driftpace.typing import FloatArray
from paper.income.account import Account
from paper.income.tables import TITLES, Setting
from paper.records import Figure, Role, Sensitivity, Series

Curve = Callable[[FloatArray], FloatArray]
LABELS: dict[str, str] = {
    "paper": "as in the paper",
    "whitened": "as in the paper, whitened",
    "practical": "default method",
}
ROLES: dict[str, Role] = {"paper": "paper", "whitened": "second", "practical": "practical"}
_KEPT: dict[str, tuple[str, Role]] = {
    "whitened": ("up front, as in the paper (whitened)", "third"),
    "practical": ("up front, default method", "other"),
}


def figures_of(account: Account) -> tuple[Figure, ...]:
    """Return the paper's three figures for one table."""
    return (_sizes(account), _drift(account), _losses(account))


def dollar_figure(account: Account) -> Figure:
    """Return the square root of the test loss of each wave, in dollars of 1997."""
    scale = account.dollars

    def roots(losses: FloatArray) -> FloatArray:
        in_dollars: FloatArray = np.sqrt(losses.mean(axis=0)) * scale
        return in_dollars

    curves = _adaptive_and_kept(account, roots)
    least = Series(
        label="best model of the wave", role="truth", x=_waves(account), y=np.sqrt(account.least) * account.dollars
    )
    title, default = TITLES[account.setting.table], account.methods["practical"]
    return Figure(
        key=f"income-{_key(account)}-dollars",
        title=f"Square root of the test loss in dollars of 1997: {title}",
        caption=(
            "A model of dollars, not of their logarithm, fitted in thousands as they stand; the root of the mean test loss of "
            "each wave, with the 1/2 of the loss inside (times 1.414 is the root mean square error), in dollars of 1997."
        ),
        alt=(
            f"Root of the mean over waves: {account.root_loss(default.test_loss).mean():,.0f} for the default method, "
            f"{account.root_loss(default.kept_loss).mean():,.0f} for its up-front model."
        ),
        x_label=_x_label(account),
        y_label="dollars of 1997",
        series=(*curves, least),
        log_y=False,
    )


def _sizes(account: Account) -> Figure:
    x = _waves(account)
    series = []
    for name, bought in account.methods.items():
        low, high = np.quantile(bought.samples, (0.1, 0.9), axis=0)
        series.append(
            Series(
                label=LABELS[name], role=ROLES[name], x=x, y=bought.samples.mean(axis=0), low=low, high=high, steps=True
            )
        )
    series.append(Series(label="rows to be had", role="other", x=x, y=account.pools, steps=True))
    if account.constant is not None:
        flat = np.full(x.size, float(account.constant.size))
        series.append(Series(label="best constant size in hindsight", role="truth", x=x, y=flat))
    shares = {name: bought.saturated(account.pools) for name, bought in account.methods.items()}
    return Figure(
        key=f"income-{_key(account)}-samples",
        title=f"Rows bought in each wave, K_n: {TITLES[account.setting.table]}",
        caption=(
            "Mean over resamplings, with the middle 80 % of them. The paper's rule on standardised features buys all there is in "
            f"{shares['paper']:.0%} of the waves, on whitened features in {shares['whitened']:.0%}, the default method in "
            f"{shares['practical']:.0%}."
        ),
        alt=(
            f"Rows bought from wave 3 on, on average: {late_rows(account, 'paper'):,.0f} by the paper's rule, "
            f"{late_rows(account, 'whitened'):,.0f} with whitened features, {late_rows(account, 'practical'):,.0f} by the "
            "default method."
        ),
        x_label=_x_label(account),
        y_label="samples K_n",
        series=tuple(series),
        paper="Figure: K_n of the income panel (section V-C)",
        log_y=True,
    )


def _drift(account: Account) -> Figure:
    x = _waves(account)
    series = [
        Series(label=LABELS[name], role=ROLES[name], x=x, y=bought.rho.mean(axis=0))
        for name, bought in account.methods.items()
    ]
    series.append(Series(label="change of the best model on all rows", role="truth", x=x, y=account.change, marks=True))
    return Figure(
        key=f"income-{_key(account)}-rho",
        title=f"Estimates of the drift rho: {TITLES[account.setting.table]}",
        caption=(
            "Unit: that of the target (the log of the income) for one standard deviation of a feature; coordinates are "
            "standardised for the first curve, whitened for the others. The default method does not estimate rho but the "
            "distance from its last model to the new best one, which is what it needs, so it may lie above or below the "
            "points."
        ),
        alt=(
            f"At the end the paper's estimate is {account.methods['paper'].rho[:, -1].mean():.2g} and "
            f"{account.methods['whitened'].rho[:, -1].mean():.2g} whitened, the default method's "
            f"{account.methods['practical'].rho[:, -1].mean():.2g}; the best model on all rows moves by "
            f"{np.nanmean(account.change):.2g} per wave."
        ),
        x_label=_x_label(account),
        y_label="distance",
        series=tuple(series),
        paper="Figure: rho estimate of the income panel (section V-C)",
        log_y=True,
    )


def _losses(account: Account) -> Figure:
    curves = _adaptive_and_kept(account, lambda losses: losses.mean(axis=0))
    x = _waves(account)
    paper = account.methods["paper"]
    first = Series(label=LABELS["paper"], role="paper", x=x, y=paper.test_loss.mean(axis=0))
    least = Series(label="best model of the wave", role="truth", x=x, y=account.least)
    practical = account.methods["practical"]
    return Figure(
        key=f"income-{_key(account)}-test-loss",
        title=f"Test loss, adaptive against up front: {TITLES[account.setting.table]}",
        caption=(
            "Mean over resamplings of the loss (with its 1/2, without the penalty) on the fifth of each wave that is held out. "
            "Up front is as many rows in wave 1, as far as it has them, and the model kept. Dashed: the least loss that any "
            "linear model has on all rows of a wave."
        ),
        alt=(
            f"Averaged over waves the default method has {practical.test_loss.mean():.3g}, its up-front model "
            f"{practical.kept_loss.mean():.3g}; in the last wave {practical.test_loss[:, -1].mean():.3g} against "
            f"{practical.kept_loss[:, -1].mean():.3g}."
        ),
        x_label=_x_label(account),
        y_label="test loss",
        series=(first, *curves, least),
        paper="Figure: test losses of the income panel (section V-C)",
    )


def _adaptive_and_kept(account: Account, curve: Curve) -> tuple[Series, ...]:
    x = _waves(account)
    series = []
    for name in ("whitened", "practical"):
        bought = account.methods[name]
        label, role = _KEPT[name]
        series.append(Series(label=LABELS[name], role=ROLES[name], x=x, y=curve(bought.test_loss)))
        series.append(Series(label=label, role=role, x=x, y=curve(bought.kept_loss)))
    return tuple(series)


def late_rows(account: Account, name: str) -> float:
    """Return the rows bought a wave from wave 3 on, where every method has seen a change."""
    return float(account.methods[name].samples[:, 2:].mean())


def _waves(account: Account) -> FloatArray:
    return np.arange(1.0, len(account.waves) + 1.0)


def _x_label(account: Account) -> str:
    return f"wave n (1 is {account.waves[0]}, {len(account.waves)} is {account.waves[-1]})"


def _key(account: Account) -> str:
    return account.setting.table.replace("_", "-")


_COLUMNS = (
    "changed",
    "default: rows per wave",
    "default: excess risk / epsilon",
    "default: test loss / up front",
    "paper whitened: rows per wave",
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
        f"default between {min(rows):.0f} and {max(rows):.0f} per wave, which epsilon decides. As in the paper on standardised "
        f"features never requests fewer than {asked:,.0f} in the last wave, of {base.pools[-1]:,.0f}."
    )
