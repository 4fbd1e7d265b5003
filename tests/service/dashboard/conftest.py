"""A headless browser, example services, and pages whose errors fail the test."""

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
from tests.service.dashboard.browser import PATIENCE, Watched, watched
from tests.service.dashboard.examples import one

QUICK = ServiceLimits(poll_seconds=0.1)
"""Short polling interval, so that changes of other writers appear soon."""


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """One Chromium for the package; without one the tests are skipped, except on CI."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        assert os.environ.get("CI") != "true", "no chromium, chromium-browser or google-chrome on PATH"
        pytest.skip("no chromium, chromium-browser or google-chrome on PATH")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield chromium
        finally:
            chromium.close()


@pytest.fixture
def shop() -> Iterator[Serving]:
    """A service with one running campaign."""
    store = MemoryStore()
    one(store, periods=4)
    with serving(store, dashboard=True, limits=QUICK) as running:
        yield running


@pytest.fixture
def serve() -> Iterator[Callable[..., Serving]]:
    """Serve stores until the test ends."""
    with ExitStack() as stack:

        def start(store: Store, **options: Any) -> Serving:
            return stack.enter_context(serving(store, dashboard=True, **{"limits": QUICK, **options}))

        yield start


@pytest.fixture
def visit(browser: Any, serve: object) -> Iterator[Callable[..., Watched]]:
    """Open pages, which are closed before the services of ``serve``; an error on any of them fails the test."""
    with ExitStack() as stack:

        def open_page(address: str, **options: Any) -> Watched:
            return stack.enter_context(watched(browser, address, **options))

        yield open_page
