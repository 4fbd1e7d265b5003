"""What a problem is like: its constants, given by the user or estimated from rows with their uncertainty."""

from driftpace.evidence.columns import dependent_columns
from driftpace.evidence.given import GivenConstants
from driftpace.evidence.pooled import PooledEvidence, PooledState
from driftpace.evidence.protocol import Evidence

__all__ = ["Evidence", "GivenConstants", "PooledEvidence", "PooledState", "dependent_columns"]
