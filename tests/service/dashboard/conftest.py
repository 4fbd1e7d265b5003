"""A headless browser, and pages that complain about whatever should not happen on them."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from driftpace.service import ServiceLimits
from driftpace.storage import MemoryStore
from driftpace.storage.base import Store
from tests.reference.serving import Serving, serving
from tests.service.dashboard.browsing import PATIENCE, Watched, watched
from tests.service.dashboard.examples import one

QUICK = ServiceLimits(poll_seconds=0.1)
"""What others do appears sooner than it has to, so that nobody waits for it."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium of this machine; where there is none, tests are skipped, but not where everything has to be there (CI)."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        assert os.environ.get("CI") != "true", "no chromium, chromium-browser or google-chrome on PATH"
        pytest.skip("no chromium, chromium-browser or google-chrome on PATH")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        try:
            yield made
        finally:
            made.close()


@pytest.fixture
def shop() -> Iterator[Serving]:
    """A service with one campaign in full swing."""
    store = MemoryStore()
    one(store, periods=4)
    with serving(store, dashboard=True, limits=QUICK) as running:
        yield running


@pytest.fixture
def serve() -> Iterator[Callable[..., Serving]]:
    """Serve stores until the test is over."""
    with ExitStack() as stack:

        def begin(store: Store, **how: Any) -> Serving:
            return stack.enter_context(serving(store, dashboard=True, **{"limits": QUICK, **how}))

        yield begin


@pytest.fixture
def visit(browser: Any, serve: object) -> Iterator[Callable[..., Watched]]:
    """Open pages; when the test is over, none of them may have complained. They are closed before what ``serve`` serves."""
    with ExitStack() as stack:

        def open_page(address: str, **how: Any) -> Watched:
            return stack.enter_context(watched(browser, address, **how))

        yield open_page
