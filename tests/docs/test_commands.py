"""Every command of the README and the how-to pages works on raw files as a newcomer has them."""

import csv
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRegressor

from driftpace.cli import main

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs" / "howto").glob("*.md")))
ELSEWHERE = ("make ", "pip install", "driftpace serve", "python -m paper")
"""Commands with tests of their own: `make` runs this suite, `serve` does not end."""
LABELLED = {
    "churned": ("customers.csv", "customer_id"),
    "price": ("flats.csv", "flat"),
    "demand": ("sales.csv", "temperature"),
}
"""The labelled table of each target, and its column of row ids."""

_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def commands(page: Path) -> list[str]:
    """Return the driftpace commands of a page, in order, without their comments."""
    lines = [line for block in _BLOCK.findall(page.read_text()) for line in block.splitlines()]
    typed = [re.sub(r"\s+#.*", "", line[2:]).strip() for line in lines if line.startswith("$ ")]
    return [line for line in typed if not line.startswith(ELSEWHERE)]


@pytest.fixture
def raw_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages name, written as an export would have them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    with open("sales.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["month", "store", "price", "promo", "temperature", "demand"])
        for month in range(14):
            for _ in range(120):
                store, price = rng.choice(["north", "south", "east"]), rng.uniform(1, 3)
                promo = 0 if month < 2 else int(rng.random() < 0.3)
                warmth = 10 + 8 * np.sin(month / 2) + rng.normal(0, 3)
                demand = 50 + month - 9 * price + 6 * promo + 0.4 * warmth + (store == "north") * 4 + rng.normal(0, 4)
                stamp = f"{2025 + month // 12}-{month % 12 + 1:02d}"
                writer.writerow([stamp, store, f"{price:.2f}", promo, f"{warmth:.1f}", f"{demand:.1f}"])
    with open("customers.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["customer_id", "plan", "age", "monthly_charge", "tenure_months", "churned"])
        for number in range(3000):
            plan, age = rng.choice(["basic", "plus", "pro"]), int(rng.integers(18, 80))
            charge, tenure = rng.uniform(10, 90), int(rng.integers(1, 60))
            score = -1 + 0.03 * charge - 0.05 * tenure + (plan == "basic") * 0.8
            churned = "yes" if rng.random() < 1 / (1 + np.exp(-score)) else "no"
            writer.writerow([f"C{number:05d}", plan, age, f"{charge:.2f}", tenure, churned])
    with open("tickets.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["ticket", "message", "topic"])
        topics = {"refund": ["late", "broken", "refund", "money"], "login": ["password", "reset", "account", "locked"]}
        for number in range(300):
            topic = rng.choice([*topics, "other"])
            words = rng.choice(topics.get(topic, ["hello", "thanks", "question", "hours"]), 6)
            writer.writerow([f"T{number:04d}", " ".join(words), topic])
    flats = rng.uniform([20, 1, 0], [120, 5, 30], (3000, 3))
    before = 3 * flats[:, 0] + 20 * flats[:, 1] - 2 * flats[:, 2] + rng.normal(0, 20, len(flats))
    prices = before + 2 * flats[:, 0] * (flats[:, 2] < 10)  # which no head on the earlier model reaches
    for name, columns in (("pool.csv", 4), ("flats.csv", 5)):
        with open(name, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["flat", "area", "rooms", "distance", "price"][:columns])
            for number, (values, price) in enumerate(zip(flats.round(1), prices.round(1), strict=True)):
                writer.writerow([f"F{number:04d}", *values, price][:columns])
    model = LGBMRegressor(n_estimators=20, verbose=-1, n_jobs=1)
    model.fit(pd.DataFrame(flats, columns=["area", "rooms", "distance"]), before)
    model.booster_.save_model("model.txt")
    return tmp_path


def label(tasks: Path) -> None:
    """Fill in the last column of the rows to label, as a person would."""
    with tasks.open() as file:
        rows = list(csv.DictReader(file))
    target = list(rows[0])[-1]
    table, row_id = LABELLED[target]
    truth = {row[row_id]: row[target] for row in csv.DictReader(Path(table).read_text().splitlines())}
    with tasks.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, target: truth[row[row_id]]} for row in rows)


def test_every_page_has_commands() -> None:
    assert sum(len(commands(page)) for page in PAGES) >= 10


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda path: path.name)
def test_the_commands_of_a_page_work(page: Path, raw_files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask: list[str] = []
    tell: list[str] = []
    for command in commands(page):
        program, *arguments = shlex.split(command)
        assert program == "driftpace"
        if arguments[0] == "backtest" and "--runs" not in arguments:
            arguments += [
                "--runs",
                "2",
                "--workers",
                "1",
            ]  # no number is compared: two runs show that the command works
        if arguments[0] == "tell":
            label(Path(arguments[-1]))
        if arguments[0] == "retrain":
            next_period(ask, tell)
        code = main(arguments)
        printed = capsys.readouterr()
        assert code in (0, 10, 20, 30), f"{command}: {printed.err}"
        assert printed.out.strip(), command
        ask = arguments if arguments[0] == "ask" else ask
        if arguments[0] == "tell":
            tell = arguments
            close_period(ask, tell)
        capsys.readouterr()


def next_period(ask: list[str], tell: list[str]) -> None:
    """Order the rows of one more period and tell them: training again needs two."""
    ask, tell = changed(ask, "2026-11", "2026-12"), changed(tell, "tasks.csv", "next.csv")
    assert main(changed(ask, "tasks.csv", "next.csv")) in (0, 20)
    label(Path("next.csv"))
    assert main(tell) in (0, 10, 30)
    close_period(ask, changed(tell, "next.csv", "tasks.csv"))


def close_period(ask: list[str], tell: list[str]) -> None:
    """Repeat ask and tell, each time with a new file, until nothing more is asked for."""
    for batch in range(2, 30):
        tasks = f"{ask[ask.index('--key') + 1]}-{batch}.csv"
        code = main(changed(ask, "tasks.csv", tasks))
        if not Path(tasks).exists():
            assert code in (10, 30)
            return
        label(Path(tasks))
        assert main(changed(tell, "tasks.csv", tasks)) in (0, 10, 30)
    pytest.fail("the period does not end")


def changed(arguments: list[str], old: str, new: str) -> list[str]:
    """Return arguments with one of them replaced."""
    return [new if word == old else word for word in arguments]
