"""Constants of a problem, given by the user or estimated from rows with their uncertainty."""

from driftpace.constants.estimator import ConstantsEstimator, GivenConstants, PooledEstimator, PooledState
from driftpace.constants.moments import dependent_columns

__all__ = ["ConstantsEstimator", "GivenConstants", "PooledEstimator", "PooledState", "dependent_columns"]
