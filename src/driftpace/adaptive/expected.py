"""What is expected of a model before its first rows, where models like it are known."""

from dataclasses import dataclass

import numpy as np

from driftpace.adaptive.bank import Prediction
from driftpace.adaptive.noise import NoiseSums
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ExpectedModel:
    """How near its start a first model is expected, and the noise of its rows.

    ``variances`` are those of a whitened coordinate, (blocks, components), infinite where nothing is expected, and ``shares`` how
    probable they are; ``noise`` are sums over rows that the first ones are added to.
    """

    variances: FloatArray
    shares: FloatArray
    noise: NoiseSums

    def views(self, start: FloatArray, parts: tuple[slice, ...], vague: float) -> tuple[Prediction, ...]:
        """Return what is known of each block before the first rows; ``vague`` is the variance where nothing is expected."""
        count = self.shares.shape[1]
        return tuple(
            Prediction(
                shares=shares.copy(),
                mean=np.tile(start[part], (count, 1)),
                variance=np.where(np.isfinite(variances), variances, vague),
            )
            for part, variances, shares in zip(parts, self.variances, self.shares, strict=True)
        )
