"""``python -m paper [names]``: run the experiments of the paper and compare the results with what it reports."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from driftpace.errors import DriftpaceError, ParameterError

EXPERIMENTS = ("regression", "cost", "classification", "income", "selection", "beyond")
_PSID_COLUMNS = {
    "year": "year of the interview",
    "income": "yearly labour income in dollars",
    "age": "age in years",
    "education": "years of schooling",
    "experience": "years of work; default: age - schooling - 6",
    "more": "further features, separated by commas",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, or 2 after an error, which is one sentence on stderr."""
    options = _parser().parse_args(arguments)
    started = time.perf_counter()
    columns = {name: getattr(options, f"psid_{name}") for name in _PSID_COLUMNS}
    given = {name: column for name, column in columns.items() if column is not None}
    if "more" in given:
        given["more"] = tuple(name.strip() for name in given["more"].split(","))
    try:
        if given and options.psid is None:
            raise ParameterError(f"--psid-{next(iter(given))} must be given together with --psid; got it alone.")
        import paper
        from paper.report.console import print_findings

        findings = paper.reproduce(
            options.names or None,
            runs=options.runs,
            seed=options.seed,
            out=options.out,
            workers=options.workers,
            psid=options.psid,
            psid_columns=given,
        )
        print_findings(findings, options.out, options.format, time.perf_counter() - started)
    except DriftpaceError as error:
        print(f"paper: {error.renamed(subject=_option(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("paper: interrupted.", file=sys.stderr)
        return 130
    return 0


def _option(error: DriftpaceError) -> str | None:
    """Return the option that an error is about, or None where its sentence stands by itself."""
    if error.owner == "reproduce" and error.name in ("name", "names"):
        return "NAME"
    if error.owner == "reproduce" and error.name:
        return f"--{error.name.replace('_', '-')}"
    if error.owner == "load_psid_extract":
        return "--psid" if error.name in ("path", None) else f"--psid-{error.name}"
    return None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m paper",
        description="Run the paper's experiments and compare the results with what it reports: a page, every figure, every number.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(EXPERIMENTS)}; default: all")
    parser.add_argument(
        "--runs", type=int, default=20, help="repetitions of each experiment (default: 20, as in the paper)"
    )
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same files (default: 0)")
    parser.add_argument("--out", type=Path, default=Path("out/paper"), help="output directory (default: out/paper)")
    parser.add_argument("--workers", type=int, default=None, help="processes (default: all cores)")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="what to print (default: table)")
    psid = parser.add_argument_group("your own extract of the Panel Study of Income Dynamics, for income")
    psid.add_argument("--psid", type=Path, metavar="FILE", help="a CSV or Stata file")
    for name, text in _PSID_COLUMNS.items():
        psid.add_argument(f"--psid-{name}", metavar="COLUMN", help=text)
    return parser


if __name__ == "__main__":
    sys.exit(main())
