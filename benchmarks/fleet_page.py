"""The page of a fleet campaign in a real browser: to load, sort, filter and search it, and to open a segment.

python -m benchmarks fleet_page [--segments 10 10000] [--store PLACE --campaign NAME] [--pictures FOLDER]

The server is a process of its own and so is Chromium, on the same machine; playwright drives it.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.real_tables import markdown
from driftpace import FleetCampaign

REPEATS = 7
HEADS = ("segments", "load", "server", "kB", "elements", "sort", "filter", "search", "segment")
LEGEND = """
- load: from the click until all is loaded, median of 7, in ms; server: until the answer has arrived; kB: the page as it is sent.
- sort, filter, segment: the page that the link leads to, loaded; search: from the last key until the table is the new one, of which
  180 ms are waited for more keys.
"""
SERVE = """
import os, sys
sys.stderr = open(os.devnull, "w")
from driftpace.service import run
run(sys.argv[1], port=0, on_listening=lambda store, url: print(f"serves at {url} now", flush=True))
"""
SEARCHED = """text => new Promise(done => {
  const table = document.getElementById("segments"), field = document.getElementById("search"), from = performance.now();
  new MutationObserver(() => done(performance.now() - from)).observe(table, {childList: true, subtree: true});
  field.value = text;
  field.dispatchEvent(new Event("input", {bubbles: true}));
})"""
TIMES = """() => {
  const seen = performance.getEntriesByType("navigation")[0];
  return [seen.loadEventEnd, seen.responseEnd, seen.encodedBodySize];
}"""


def build(place: str, count: int) -> str:
    """Make a campaign with so many segments, one closed period and an open one; return its name."""
    rng = np.random.default_rng(0)
    names = [f"store-{number:05d}" for number in range(count)]
    definition = {"name": f"stores{count}", "segment": "store", "target": "sales", "epsilon": 0.1, "seed": 0}
    campaign = FleetCampaign.create(definition, storage=place, segments=names)
    campaign.ask(key="2026-W01")
    shops = np.repeat(names, 12)
    price = rng.standard_normal(len(shops))
    campaign.tell({"store": shops, "price": price, "sales": 3.0 - price + rng.standard_normal(len(shops))}, final=True)
    campaign.ask(key="2026-W02")
    return str(definition["name"])


@contextmanager
def serving(place: str) -> Iterator[str]:
    """Serve a store in a process of its own, and yield its address."""
    process = subprocess.Popen([sys.executable, "-c", SERVE, place], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split()[2]
    finally:
        process.terminate()
        process.wait()


def measured(page: Any, address: str) -> tuple[float, float, float]:
    """Load a page and return the milliseconds until all was loaded and until the answer was there, and its bytes."""
    page.goto(address, wait_until="load")
    load, server, size = page.evaluate(TIMES)
    return load, server, size


def median(action: Callable[[], float]) -> float:
    """Return the median of several actions."""
    return float(np.median([action() for _ in range(REPEATS)]))


def look(page: Any, address: str, campaign: str) -> list[str]:
    """Return a row of the table."""
    home = f"{address}/campaigns/{campaign}"
    measured(page, home)
    loads = np.array([measured(page, home) for _ in range(REPEATS)])
    load, server, size = np.median(loads, axis=0)
    count = page.locator(".facts dd").first.inner_text()
    elements = page.locator("*").count()
    other = median(lambda: measured(page, f"{home}?sort=risk&order=descending")[0])
    page.goto(home)
    name = page.locator("#segment-table tbody th").first.inner_text()
    chip = page.locator("nav.chips a").last.get_attribute("href")
    filtered = median(lambda: measured(page, f"{home}{chip}")[0])
    segment = median(lambda: measured(page, f"{home}/segments/{name}")[0])
    page.goto(home)
    words = iter([f"{number}" for number in range(1, REPEATS + 1)])
    searched = median(lambda: float(page.evaluate(SEARCHED, next(words))))
    return [
        *(count, f"{load:.0f}", f"{server:.0f}", f"{size / 1e3:.0f}", f"{elements:,}"),
        *(f"{one:.0f}" for one in (other, filtered, searched, segment)),
    ]


def pictures(page: Any, address: str, campaign: str, folder: Path) -> None:
    """Write pictures of the page, of the sorted table and of a segment, wide and narrow."""
    home = f"{address}/campaigns/{campaign}"
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(home)
        name = page.locator("#segment-table tbody th").first.inner_text()
        for what, at in (("fleet", home), ("sorted", f"{home}?sort=risk"), ("segment", f"{home}/segments/{name}")):
            page.goto(at)
            page.screenshot(path=folder / f"{what}-{width}.png", full_page=True)


def main(arguments: Sequence[str] = ()) -> None:
    """Print a table."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(prog="python -m benchmarks fleet_page")
    parser.add_argument("--segments", type=int, nargs="+", default=[10, 10_000])
    parser.add_argument("--store")
    parser.add_argument("--campaign")
    parser.add_argument("--pictures", type=Path)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        place = given.store or str(Path(folder) / "fleets.db")
        names = [given.campaign] if given.campaign else [build(place, count) for count in given.segments]
        with serving(place) as address, sync_playwright() as playwright:
            began = time.perf_counter()
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page()
            page.set_default_timeout(600_000)
            print(markdown(HEADS, [look(page, address, name) for name in names]))
            if given.pictures:
                pictures(page, address, names[-1], given.pictures)
            browser.close()
    print(LEGEND)
    print(f"Took {time.perf_counter() - began:.0f} s.")


if __name__ == "__main__":
    main()
