"""The service under load on loopback: ask, tell and status, on SQLite and PostgreSQL, against the bare framework in the same run.

The server is a process of its own and the clients together are another; on two cores they share the machine, and so do the bare
framework and its clients.
"""

import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import numpy as np

from driftpace.campaign import Campaign
from driftpace.storage import open_store
from driftpace.storage.base import Change, Store

CLIENTS = (1, 32, 256)
WRITERS = 16
ROWS, FEATURES = 200, 20
SECONDS = 4.0
MANY = 10_000

SERVE = """
import os, sys
sys.stderr = open(os.devnull, "w")
from driftpace.service import run
run(sys.argv[1], port=0, dashboard=False, on_listening=lambda store, url: print(f"serves at {url} now", flush=True))
"""
BARE = """
import socket, sys, uvicorn
from fastapi import FastAPI, Request
app = FastAPI()
@app.get("/{name}")
async def status(name: str): return {"name": name}
@app.post("/{name}")
async def tell(name: str, request: Request): return {"rows": len((await request.json())["y"])}
listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
listening.bind(("127.0.0.1", 0))
listening.listen(128)
print("serves at http://127.0.0.1:%d now" % listening.getsockname()[1], flush=True)
config = uvicorn.Config(app, http="h11", ws="none", loop="asyncio", lifespan="off", log_level="warning", access_log=False)
uvicorn.Server(config).run(sockets=[listening])
"""

Call = Callable[[http.client.HTTPConnection, int, int], list[tuple[str, float]]]


def main() -> None:
    print(f"\nService on loopback: {ROWS} rows x {FEATURES} features a delivery, about {SECONDS:.0f} s for each line")
    print(
        "ask and tell take turns, each client on a campaign of its own; a rate is of the time that went into that request; "
        "again: asking for an order that is open; same: three rows for the one campaign of all clients"
    )
    print(
        f"{'store':12} {'clients':>7} {'what':8} {'requests/s':>10} {'p50 ms':>8} {'p95 ms':>8} {'p99 ms':>8} {'of bare':>8}"
    )
    bare: dict[tuple[str, int], float] = {}
    with serving(BARE, "") as port:
        for clients in CLIENTS:
            for what, call in (("status", _bare_status), ("tell", _bare_tell)):
                bare[what, clients] = show("bare", clients, load(port, clients, call, SECONDS / 2), {})[what]
    with stores() as places:
        for name, place in places:
            store = open_store(place)
            begin(store, max(CLIENTS))
            store.close()
            with serving(SERVE, place) as port:
                load(port, 4, _period, 1.0)  # compile
                for clients in CLIENTS:
                    show(name, clients, load(port, clients, _status, SECONDS / 2), bare)
                    show(name, clients, load(port, clients, _again, SECONDS / 2), bare)
                    show(name, clients, load(port, clients, _period, SECONDS), bare)
                for writers in (1, WRITERS):
                    show(name, writers, load(port, writers, _small, SECONDS), {})
    long_period()
    quick = "/dev/shm" if Path("/dev/shm").is_dir() else None  # writing them is not what is measured
    with tempfile.TemporaryDirectory(dir=quick) as folder:
        many("SQLite", str(Path(folder) / "many.db"))


def show(
    store: str, clients: int, seen: dict[str, list[float]], bare: dict[tuple[str, int], float]
) -> dict[str, float]:
    """Print a line for each thing that was done, and return how often a second."""
    rates = {}
    for what, times in sorted(seen.items()):
        spent = times.pop()
        rates[what] = len(times) / spent
        p50, p95, p99 = 1e3 * np.quantile(times, (0.5, 0.95, 0.99))
        of = f"{rates[what] / bare[what, clients]:8.2f}" if (what, clients) in bare else f"{'':8}"
        print(f"{store:12} {clients:7} {what:8} {rates[what]:10.0f} {p50:8.1f} {p95:8.1f} {p99:8.1f} {of}")
    return rates


def load(port: int, clients: int, call: Call, seconds: float) -> dict[str, list[float]]:
    """Return the seconds of each request by what it was, and last those of all of them together."""
    seen: dict[str, list[float]] = {}
    failures: list[str] = []
    lock = threading.Lock()
    begun = time.perf_counter()

    def client(number: int) -> None:
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        mine: list[tuple[str, float]] = []
        try:
            turn = 0
            while time.perf_counter() - begun < seconds and turn < 20_000:
                mine += call(line, number, turn)
                turn += 1
        except Exception as error:
            failures.append(repr(error))
        finally:
            line.close()
        with lock:
            for what, took in mine:
                seen.setdefault(what, []).append(took)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[:3]
    total = time.perf_counter() - begun
    shares = {what: sum(times) for what, times in seen.items()}
    return {what: [*times, total * shares[what] / sum(shares.values())] for what, times in seen.items()}


def send(line: http.client.HTTPConnection, method: str, path: str, body: bytes | None = None) -> float:
    """Return the seconds that a request took."""
    began = time.perf_counter()
    line.request(method, path, body, {"Content-Type": "application/json"} if body is not None else {})
    answer = line.getresponse()
    body = answer.read()
    took = time.perf_counter() - began
    assert answer.status == 200, (answer.status, body[:200])
    return took


def _deliveries() -> list[bytes]:
    rng = np.random.default_rng(0)
    made = []
    for _ in range(16):
        X = rng.normal(size=(ROWS, FEATURES))
        y = X @ np.linspace(-1.0, 1.0, FEATURES) + rng.normal(size=ROWS)
        made.append(json.dumps({"X": X.round(6).tolist(), "y": y.round(6).tolist()}).encode())
    return made


BODIES = _deliveries()
DELIVERED = count()
DELIVERIES = (100, 400, 800, 1_200, 1_600)


def _status(line: http.client.HTTPConnection, number: int, turn: int) -> list[tuple[str, float]]:
    del turn
    return [("status", send(line, "GET", f"/api/campaigns/load-{number:02d}"))]


def _again(line: http.client.HTTPConnection, number: int, turn: int) -> list[tuple[str, float]]:
    """Ask for a period that is open: the same order again, and only the first time there is anything to decide."""
    del turn
    return [("again", send(line, "POST", f"/api/campaigns/load-{number:02d}/orders", b"{}"))]


def _period(line: http.client.HTTPConnection, number: int, turn: int) -> list[tuple[str, float]]:
    """Ask for a period, and close it with a delivery; again and again, each client its own campaign."""
    place = f"/api/campaigns/load-{number:02d}"
    asked = send(line, "POST", f"{place}/orders", b"{}")
    delivered = send(line, "POST", f"{place}/deliveries?final=true&again=true", BODIES[turn % len(BODIES)])
    return [("ask", asked), ("tell", delivered)]


def _small(line: http.client.HTTPConnection, number: int, turn: int) -> list[tuple[str, float]]:
    """Deliver three new rows to the one campaign of all clients, which stays open."""
    del number, turn
    rows = np.random.default_rng(next(DELIVERED)).normal(size=(3, FEATURES + 1)).round(6)
    body = json.dumps({"X": rows[:, 1:].tolist(), "y": rows[:, 0].tolist()}).encode()
    return [("same", send(line, "POST", "/api/campaigns/crowded/deliveries?final=false", body))]


def _bare_status(line: http.client.HTTPConnection, number: int, turn: int) -> list[tuple[str, float]]:
    del turn
    return [("status", send(line, "GET", f"/load-{number:02d}"))]


def _bare_tell(line: http.client.HTTPConnection, number: int, turn: int) -> list[tuple[str, float]]:
    return [("tell", send(line, "POST", f"/load-{number:02d}", BODIES[turn % len(BODIES)]))]


def long_period() -> None:
    """Print the processor time of deliveries to a period that has many already, on a handle in use and on one just opened."""
    print("SQLite, by the library: processor ms of a delivery of three rows after others in the same period")
    rng = np.random.default_rng(0)

    def tell(campaign: Campaign) -> float:
        began = time.process_time()
        campaign.tell(rng.normal(size=(3, FEATURES)), rng.normal(size=3), final=False)
        return 1e3 * (time.process_time() - began)

    with tempfile.TemporaryDirectory() as folder:
        store = open_store(str(Path(folder) / "long.db"))
        begin(store, 0)
        campaign = Campaign.open("crowded", storage=store)
        spent: list[float] = []
        for before in DELIVERIES:
            spent += [tell(campaign) for _ in range(before - len(spent))]
            other = open_store(store.url)
            fresh = tell(Campaign.open("crowded", storage=other))
            other.close()
            print(f"  after {before:5,}: {np.median(spent[-50:]):6.1f}, the first of a fresh handle {fresh:6.1f}")
        store.close()


def many(name: str, place: str) -> None:
    """Fill a store with campaigns, and print how long a list and a status take."""
    store = open_store(place)
    began = time.perf_counter()
    fill(store, MANY)
    took = time.perf_counter() - began
    store.close()
    print(f"{name}: {MANY:,} campaigns written in {took:.0f} s")
    with serving(SERVE, place) as port:
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        asked = {
            "list, first page": ["/api/campaigns"],
            "list, any page": [f"/api/campaigns?after=many-{at:05d}" for at in range(0, MANY, 199)],
            "list, search": [f"/api/campaigns?search=any-0{at:02d}" for at in range(50)],
            "status, not seen before": [f"/api/campaigns/many-{at:05d}" for at in range(0, MANY, 97)],
            "metrics": ["/metrics"],
        }
        for what, paths in asked.items():
            times = [
                send(line, "GET", path) for path in (paths * 20 if len(paths) == 1 and what != "metrics" else paths)
            ]
            p50, p99 = 1e3 * np.quantile(times, (0.5, 0.99))
            print(f"  {what:26} p50 {p50:7.1f} ms, p99 {p99:7.1f} ms")
        line.close()


def begin(store: Store, campaigns: int) -> None:
    """Begin the campaigns that clients work on."""
    for number in range(campaigns):
        Campaign.create({"name": f"load-{number:02d}", "target": "y", "epsilon": 0.1, "seed": number}, storage=store)
    Campaign.create({"name": "crowded", "target": "y", "epsilon": 1e-4, "seed": 0}, storage=store).ask()


def fill(store: Store, campaigns: int) -> None:
    """Write so many campaigns that are alike but for their name."""
    Campaign.create({"name": "to-copy", "target": "y", "epsilon": 0.1, "seed": 0}, storage=store)
    (first,), head, saved = store.entries("to-copy"), store.head("to-copy"), store.checkpoint("to-copy")
    assert head is not None
    assert saved is not None
    text = zlib.decompress(saved[1])
    for number in range(campaigns):
        name = f"many-{number:05d}"
        checkpoint = zlib.compress(text.replace(b"to-copy", name.encode()), 1)
        store.create(name, Change(entries=[first], checkpoint=checkpoint, summary=head.summary))


@contextmanager
def stores() -> Iterator[list[tuple[str, str]]]:
    """Yield the stores that there are: SQLite, and PostgreSQL where it is installed."""
    from tests.reference.postgres import Server, binaries

    programs = binaries()
    server = None if programs is None else Server(programs)
    with tempfile.TemporaryDirectory() as folder:
        places = [("SQLite", str(Path(folder) / "load.db"))]
        if server is None:
            print("PostgreSQL is left out: no server is installed.")
        else:
            server.execute("CREATE DATABASE load")
            places.append(("PostgreSQL", server.url("load")))
        try:
            yield places
        finally:
            if server is not None:
                server.remove()


@contextmanager
def serving(program: str, place: str) -> Iterator[int]:
    """Run a server in a process of its own, and yield its port."""
    process = subprocess.Popen([sys.executable, "-c", program, place], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield int(line.split("127.0.0.1:")[-1].split()[0])
    finally:
        process.terminate()
        process.wait(30)
        if process.stdout is not None:
            process.stdout.close()


if __name__ == "__main__":
    main()
