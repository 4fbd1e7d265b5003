"""Real tables for benchmarks: rows by period, the loss, and two targets each."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from driftpace import SquaredLoss
from driftpace.backtest import Panel, read_table
from driftpace.datasets import load_gss_income, load_psid7682
from driftpace.losses import LogisticLoss, Loss, SmoothedHinge
from driftpace.tables import LOCAL_LIMITS, read_columns, to_arrays
from driftpace.typing import BoolArray

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
BIKE = (
    *("sin1", "cos1", "sin2", "cos2", "workingday", "wd_sin1", "wd_cos1", "wd_sin2", "wd_cos2"),
    *("misty", "wet", "temp", "hum", "windspeed"),
)
ELEC2 = ("nswprice", "nswdemand", "vicprice", "vicdemand", "transfer")
ELEC2_SIX = ("lp", "lv", "nswdemand", "vicdemand", "transfer", "time_of_day")
ELEC2_PERIODS = (14, 32)
FLIGHTS = (
    *("hour", "log_dist", "jfk", "lga", "temp", "humid", "wind_speed", "visib", "rain"),
    *("c_UA", "c_B6", "c_EV"),
)
FLIGHTS_LOSSES: dict[str, Loss] = {
    "flights hinge": SmoothedHinge(l2=0.1),
    "flights logistic": LogisticLoss(l2=0.001),
    "flights squared": SquaredLoss(),
}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Replayed:
    """A table to replay; ``standardised`` says whether its target was divided by its spread over all periods."""

    name: str
    panel: Panel
    loss: Loss
    epsilons: tuple[float, float]
    standardised: bool = False


def tables() -> Iterator[Replayed | str]:
    """Yield every table, or a sentence on why it is left out."""
    gss = load_gss_income()
    yield Replayed(name="gss_income", panel=read_table(gss), loss=SquaredLoss(), epsilons=(0.02, 0.05))
    nominal = read_table(gss, target="log_rinc_nominal", name="gss_income nominal")
    yield Replayed(name="gss_income nominal", panel=nominal, loss=SquaredLoss(), epsilons=(0.02, 0.05))
    psid = _standardised(read_table(load_psid7682()))
    yield Replayed(name="psid7682", panel=psid, loss=SquaredLoss(), epsilons=(0.03, 0.06), standardised=True)
    for name, read in (("bike_hourly", _bike), ("elec2", _elec2), ("flights", _flights)):
        path = SHARED / f"{name}.csv.gz"
        if path.is_file():
            yield from read(path)
        else:
            yield f"{name} is left out: there is no file {name}.csv.gz in ../shared/data."


def _bike(path: Path) -> Iterator[Replayed]:
    columns = to_arrays(read_columns(path, limits=LOCAL_LIMITS, owner="bike_hourly"))
    panel = read_table(columns, period="period", target="log_cnt", features=BIKE, name="bike_hourly")
    yield Replayed(
        name="bike_hourly", panel=_standardised(panel), loss=SquaredLoss(), epsilons=(0.02, 0.05), standardised=True
    )


def _elec2(path: Path) -> Iterator[Replayed]:
    """Yield the table with five features, the prices as logarithms, and with six, the time of day among them."""
    columns = to_arrays(read_columns(path, limits=LOCAL_LIMITS, owner="elec2"))
    first, last = ELEC2_PERIODS
    columns = _chosen(columns, (columns["period"] >= first) & (columns["period"] <= last))
    columns["lp"] = columns["nswprice"] = np.log(columns["nswprice"] + 0.005)
    columns["lv"] = columns["vicprice"] = np.log(columns["vicprice"] + 0.0005)
    for name, features in (("elec2", ELEC2), ("elec2 six", ELEC2_SIX)):
        panel = read_table(columns, period="period", target="up", features=features, name=name)
        yield Replayed(name=name, panel=panel, loss=SmoothedHinge(l2=0.1), epsilons=(0.02, 0.05))


def _flights(path: Path) -> Iterator[Replayed]:
    """Yield the weeks of flights that arrived, once for each loss."""
    columns = to_arrays(read_columns(path, limits=LOCAL_LIMITS, owner="flights"))
    columns = {name: columns[name].astype(np.float64) for name in ("period", "late", *FLIGHTS)}
    columns = _chosen(columns, np.isfinite(columns["late"]))
    for name, loss in FLIGHTS_LOSSES.items():
        panel = read_table(columns, period="period", target="late", features=FLIGHTS, name=name)
        yield Replayed(name=name, panel=panel, loss=loss, epsilons=(0.02, 0.05))


def _chosen(columns: dict[str, Any], rows: BoolArray) -> dict[str, Any]:
    return {name: values[rows] for name, values in columns.items()}


def _standardised(panel: Panel) -> Panel:
    """Return the panel with a target of mean 0 and standard deviation 1 over all periods together."""
    everything = np.concatenate(panel.y)
    mean, spread = everything.mean(), everything.std()
    return replace(panel, y=tuple((y - mean) / spread for y in panel.y))
