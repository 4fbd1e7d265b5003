"""The walk in docs/service.md is run with the real curl, and prints what the page says it prints."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from driftpace.service.app import create_app
from driftpace.storage import MemoryStore
from driftpace.storage.base import Store
from tests.reference.serving import serving
from tests.reference.walks import DOCS, check, steps

PAGE = "service.md"


def labelled(rng: np.random.Generator, count: int, first: int) -> bytes:
    """Return so many customers, and who of them left."""
    age, visits = rng.integers(18, 80, count), rng.integers(0, 10, count)
    left = rng.random(count) < 1.0 / (1.0 + np.exp(0.05 * (age - 45) + 0.4 * (visits - 4)))
    told = zip(range(first, first + count), age, visits, left, strict=True)
    lines = [f"{one},{years},{often},{'yes' if gone else 'no'}" for one, years, often, gone in told]
    return "\n".join(["customer,age,visits,churned", *lines, ""]).encode()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_commands_in_the_documentation_run(store: Store, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    first = 1000
    with serving(store) as running:
        place = "/api/campaigns/churn"
        for command, wanted in steps(PAGE):
            if command.startswith("label"):
                while (order := running.client.get(f"{place}/orders/current")).status_code == 200:
                    rows = labelled(rng, order.json()["missing"], first)
                    first += order.json()["missing"]
                    if command != "label rest":
                        (tmp_path / command.split()[1]).write_bytes(rows)
                        break
                    told = running.client.post(
                        f"{place}/deliveries", content=rows, headers={"Content-Type": "text/csv"}
                    )
                    assert told.status_code == 200, told.text
                continue
            here = command.replace("127.0.0.1:8321", f"127.0.0.1:{running.port}")
            done = subprocess.run(["bash", "-c", here], cwd=tmp_path, capture_output=True, text=True, timeout=60)
            assert (done.returncode, done.stderr) == (0, ""), command
            check(command, done.stdout, wanted)
    assert len(steps(PAGE)) > 15


def test_every_route_is_documented() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    described = create_app(MemoryStore(), dashboard=False).openapi()["paths"]
    wanted = [f"{method.upper()} {path}" for path, methods in described.items() for method in methods]
    assert [one for one in wanted if f"`{one}`" not in text] == []
