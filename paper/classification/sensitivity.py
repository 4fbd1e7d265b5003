"""How the outcome answers to what the paper leaves open."""

import math
from collections.abc import Mapping

from paper.classification.gathered import Gathered
from paper.classification.setting import Setting
from paper.records import Sensitivity

_ANGLE = math.pi / 25.0
CHANGED: Mapping[str, Setting] = {
    "as chosen": Setting(epsilon=0.1),
    "m global, 0.1": Setting(epsilon=0.1, curvature="global"),
    "sigma^2 = 0.25": Setting(epsilon=0.1, variance=0.25),
    "sigma^2 = 1": Setting(epsilon=0.1, variance=1.0),
    "angle pi/50": Setting(epsilon=0.1, angle=0.5 * _ANGLE),
    "angle 2 pi/25": Setting(epsilon=0.1, angle=2.0 * _ANGLE),
    "no turn at all": Setting(epsilon=0.1, angle=0.0),
    "d = 5": Setting(epsilon=0.1, features=5),
    "d = 20": Setting(epsilon=0.1, features=20),
    "K_1 = K_2 = 50": Setting(epsilon=0.1, first=50),
    "K_1 = K_2 = 200": Setting(epsilon=0.1, first=200),
    "epsilon = 0.01": Setting(epsilon=0.01),
    "epsilon = 0.01, m global": Setting(epsilon=0.01, curvature="global"),
    "epsilon = 0.001": Setting(epsilon=0.001),
    "T_n = 10,000 test rows": Setting(epsilon=0.1, tested=10_000),
}
"""What is changed, one thing at a time; "no turn at all" is the control, where up front is the right thing to do."""


def sensitivity(found: Mapping[str, Gathered]) -> Sensitivity:
    """Return the table, from the runs of each setting of :data:`CHANGED`."""
    local, everywhere = found["as chosen"], found["m global, 0.1"]
    times = everywhere.samples.mean() / local.samples.mean()
    return Sensitivity(
        title="As in the paper, one thing changed at a time",
        columns=(
            "changed",
            "rho",
            "its estimate, n = 25",
            "K_25",
            "rows in all",
            "excess risk",
            "loss lead, mean",
            "since",
            "AUC lead, mean",
            "since (AUC)",
        ),
        rows=tuple(_row(what, gathered) for what, gathered in found.items()),
        reading=(
            f"Following is ahead in loss from some period on {_where(found)}. How large the lead is, the world decides: "
            "how far and how fast it turns. What the method's own constants move is the price: the m that is proven "
            f"everywhere asks for {times:.0f} times the rows, and a smaller epsilon or more features for more, but a "
            "faster world hardly, because the start that is allowed for, sqrt(2 epsilon/m), is much longer than rho."
        ),
    )


def _where(found: Mapping[str, Gathered]) -> str:
    """Return for which settings following ends ahead, in words; where nothing turns it is not meant to."""
    never = [what for what, gathered in found.items() if gathered.loss_lead.since is None]
    return f"with every choice but: {', '.join(never)}" if never else "with every choice"


def _row(what: str, gathered: Gathered) -> tuple[str, ...]:
    return (
        what,
        f"{gathered.rho:.4f}",
        f"{gathered.rho_estimate[:, -1].mean():.3f}",
        f"{gathered.samples[:, -1].mean():.0f}",
        f"{gathered.samples.sum(axis=1).mean():,.0f}",
        f"{gathered.excess.mean():.5f}",
        f"{gathered.loss_lead.overall.value:.3f}",
        _since(gathered.loss_lead.since),
        f"{gathered.auc_lead.overall.value:.3f}",
        _since(gathered.auc_lead.since),
    )


def _since(period: int | None) -> str:
    return "never" if period is None else f"n = {period}"
