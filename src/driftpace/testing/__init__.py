"""Public checks: what the built-in parts pass, a user's own part can be held to as well."""

from driftpace.testing.bounds import check_bound

__all__ = ["check_bound"]
