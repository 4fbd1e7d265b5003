"""Fixtures that every test may use."""

import os

import numpy as np
import pytest
from hypothesis import settings

from tests.reference.postgres import own_postgres_server, postgres_server, postgres_url

__all__ = ["own_postgres_server", "postgres_server", "postgres_url"]

# The first call compiles, so there is no deadline; the same examples every time, others with DRIFTPACE_TEST_SEED (make seeds).
settings.register_profile("driftpace", deadline=None, derandomize="DRIFTPACE_TEST_SEED" not in os.environ)
settings.load_profile("driftpace")


@pytest.fixture
def seed() -> int:
    """The seed of statistical tests: any is meant to pass; DRIFTPACE_TEST_SEED chooses another."""
    return int(os.environ.get("DRIFTPACE_TEST_SEED", "0"))


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    """A generator made from the seed."""
    return np.random.default_rng(seed)
