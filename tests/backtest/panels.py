"""Small panels whose truth is known."""

import numpy as np

from driftpace.backtest import Panel
from driftpace.typing import FloatArray


def panel_of(X: list[FloatArray], y: list[FloatArray], name: str = "made up") -> Panel:
    features = X[0].shape[1]
    return Panel(
        name=name,
        target="y",
        features=tuple(f"x{column}" for column in range(features)),
        periods=tuple(str(2001 + period) for period in range(len(X))),
        X=tuple(X),
        y=tuple(y),
        mean=np.zeros(features),
        scale=np.ones(features),
        notes=("Made up.",),
    )


def drifting_panel(
    *, periods: int = 6, rows: int = 60, features: int = 2, step: float = 0.2, noise: float = 0.5, seed: int = 0
) -> Panel:
    """Return linear regression whose coefficients walk by ``step`` a period."""
    rng = np.random.default_rng([seed, 77])
    coef, X, y = rng.normal(size=features), [], []
    for _ in range(periods):
        coef = coef + step * rng.normal(size=features) / np.sqrt(features)
        X.append(rng.normal(size=(rows, features)))
        y.append(X[-1] @ coef + 1.0 + noise * rng.normal(size=rows))
    return panel_of(X, y)


def classes_panel(*, periods: int = 5, rows: int = 80, seed: int = 0) -> Panel:
    """Return two classes, 0 and 1, whose odds turn slowly."""
    rng = np.random.default_rng([seed, 78])
    X, y = [], []
    for period in range(periods):
        angle = 0.2 * period
        X.append(rng.normal(size=(rows, 2)))
        odds = X[-1] @ np.array([np.cos(angle), np.sin(angle)]) * 2.0
        y.append((rng.random(rows) < 1.0 / (1.0 + np.exp(-odds))).astype(np.float64))
    return panel_of(X, y)
