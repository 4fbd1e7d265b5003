"""What a problem is like: its constants, given by the user or estimated from rows with their uncertainty."""

from driftpace.constants.columns import dependent_columns
from driftpace.constants.given import GivenConstants
from driftpace.constants.pooled import PooledEvidence, PooledState
from driftpace.constants.protocol import Evidence

__all__ = ["Evidence", "GivenConstants", "PooledEvidence", "PooledState", "dependent_columns"]
