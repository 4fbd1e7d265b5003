"""What a problem is like: its constants, given by the user or estimated from rows with their uncertainty."""

from driftpace.constants.columns import dependent_columns
from driftpace.constants.given import GivenConstants
from driftpace.constants.pooled import PooledEstimator, PooledState
from driftpace.constants.protocol import ConstantsEstimator

__all__ = ["ConstantsEstimator", "GivenConstants", "PooledEstimator", "PooledState", "dependent_columns"]
