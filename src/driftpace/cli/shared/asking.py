"""From words on the command line to what the library takes."""

import re
from collections.abc import Callable
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftpace import validation
from driftpace.errors import MissingExtraError, ParameterError

if TYPE_CHECKING:
    from driftpace.backtest.table import Panel
    from driftpace.losses import Loss

BUNDLED = ("gss_income", "psid7682")
_OWNERS = "backtest|plan|reproduce|serve|LinearCost|TieredCost|Outlook|Anchored"  # whose parameters are options of the same name

_CAMPAIGNS = (  # what campaigns, stores and tables refuse, as the command line calls it
    (r"\bCampaign\.(?:tell|predict)\((?:X|y|ids|groups)=\.\.\.\)", "FILE"),
    (r"^Campaign\.(?:tell|predict): ", "FILE: "),
    (r"\bCampaign\.override\(samples=\.\.\.\)", "ROWS"),
    (r"\bCampaign\.amend\(others=\.\.\.\)", "--other"),
    (r"\b(?:Campaign|Campaign\.create|make_token)\(name=\.\.\.\)", "NAME"),
    (r"\bmake_token\(expires_days=\.\.\.\)", "--days"),
    (r"\bCampaign\(file=\.\.\.\)", "--file"),
    (r"\bCampaign\(([\w.]+)=\.\.\.\)", r"\1"),
    (r"\bopen_store\(storage=\.\.\.\)", "--storage"),
    (r"\b(?:import|export)\(path=\.\.\.\)", "FILE"),
    (r"\bimport\(name=\.\.\.\)", "--as"),
    (r"\bask\(strata=\.\.\.\)", "--stratify"),
    (r"\bask\(id_column=\.\.\.\)", "The id of the campaign"),
    (r"\bLabelStudio\(url=\.\.\.\)", "--label-studio"),
    (r"\b(?:LabelStudio|import_tasks)\(project=\.\.\.\)", "--project"),
    (r"\b(?:ask|predict)\(path=\.\.\.\)", "--out"),
    (r"\bCampaign\.\w+\((\w+)=\.\.\.\)", r"--\1"),
    (r"^append\(\w+=\.\.\.\) must be without .*half characters.*", "every word must be in UTF-8; got other bytes."),
    (r"\bask\(pool=(\d+)\)", r"--pool \1"),
    (r"\bfor pool=None", "without --pool"),
    (r"\bfor pool=(\d+)", r"for --pool \1"),
    (r"^(?:ask|tell|predict|init): ", ""),
    (r"\b(ask|tell|forget|override|approve|select)\(\)", r"\1"),
)


def source(file: str) -> Any:
    """Return a bundled table by its name, else the path of a file (``./gss_income`` is a file)."""
    if file not in BUNDLED:
        near = get_close_matches(file, BUNDLED, n=1)
        if near and not Path(file).exists():
            raise ParameterError(f"FILE must be a file or a bundled table; got {file!r}: did you mean {near[0]!r}?")
        return file
    from driftpace import datasets

    load: Callable[[], Any] = getattr(datasets, f"load_{file}")
    return load()


def names(text: str | None) -> list[str] | None:
    """Return names that were separated by commas.

    >>> names("age, sex"), names(None)
    (['age', 'sex'], None)
    """
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def penalties(text: str | None) -> list[float]:
    """Return penalties that were separated by commas.

    >>> penalties("0.01, 0.1"), penalties(None)
    ([0.01, 0.1], [])
    """
    try:
        found = [float(one) for one in (text or "").split(",") if one.strip()]
    except ValueError:
        raise ParameterError(f"--l2 must be numbers separated by commas; got {text!r}.") from None
    if text is not None and not found:
        raise ParameterError(f"--l2 must be numbers separated by commas; got {text!r}.")
    for one in found:
        validation.nonnegative("backtest", l2=one)
    return found


def one_target(epsilon: float | None, tolerance: float | None) -> None:
    """Refuse anything but one of the two targets."""
    if (epsilon is None) == (tolerance is None):
        came = "neither" if epsilon is None else "both"
        raise ParameterError(
            f"Give --epsilon (how much worse than the best) or --tolerance, one of the two; got {came}."
        )


def folder(out: Path) -> None:
    """Refuse a place where no folder can be."""
    taken = next((place for place in (out, *out.parents) if place.exists() and not place.is_dir()), None)
    if taken is not None:
        raise ParameterError(f"--out must be a folder; {str(taken)!r} is a file.")


def ready_to_report() -> None:
    """Refuse before the work rather than after it when the report could not be drawn."""
    if find_spec("plotly") is None:
        raise MissingExtraError('The report needs plotly: pip install "driftpace[report]", or give --no-report.')


def choose_loss(name: str | None, l2: float | None, panel: "Panel") -> "Loss | None":
    """Return the loss of that name; None leaves the choice to the backtest."""
    if name is None and l2 is None:
        return None
    from driftpace.losses import get_loss, loss_names

    return get_loss(name or loss_names("classification" if panel.two_classes else "regression")[0], l2=l2)


def in_options(sentence: str) -> str:
    """Return a sentence about parameters as one about options.

    >>> in_options("backtest(test_fraction=...) must be between 0 and 1; got 2.0.")
    '--test-fraction must be between 0 and 1; got 2.0.'
    >>> in_options("backtest(frame=...) must be an existing file; got 'x.csv'.")
    "FILE must be an existing file; got 'x.csv'."
    >>> in_options("TieredCost(tiers[1]=...) must be an amount of money from 0 to 1e+15; got 'x'.")
    "--tier must be an amount of money from 0 to 1e+15; got 'x'."
    >>> in_options("load_psid_extract(year=...) must be a column of the file; got 'wave'.")
    "--psid-year must be a column of the file; got 'wave'."
    >>> in_options("Campaign.ask(key=...) must be a name such as 2026-W46; got an empty one.")
    '--key must be a name such as 2026-W46; got an empty one.'
    """
    sentence = re.sub(r"\bbacktest\(frame=\.\.\.\)", "FILE", sentence)
    sentence = re.sub(r"\breproduce\(names?=\.\.\.\)", "NAME", sentence)
    sentence = re.sub(r"\bload_psid_extract\(path=\.\.\.\)|\bload_psid_extract(?=:)", "--psid", sentence)
    sentence = re.sub(r"\bload_psid_extract\((\w+)=\.\.\.\)", r"--psid-\1", sentence)
    sentence = re.sub(r"\bTieredCost\(tiers(?!\[0\])(\[\d+\])?=\.\.\.\)", "--tier", sentence)
    sentence = sentence.replace("TieredCost(tiers[0]=...)", "--per-sample")  # where the tiers begin
    sentence = re.sub(rf"\b(?:{_OWNERS})\((\w+)=\.\.\.\)", lambda found: f"--{found[1].replace('_', '-')}", sentence)
    sentence = re.sub(r'\bmissing="(\w+)"', r"--missing \1", sentence)
    for pattern, words in _CAMPAIGNS:
        sentence = re.sub(pattern, words, sentence)
    sentence = sentence.replace("give the loss an l2 above 0", "give a penalty, such as --l2 0.001")
    return re.sub(r"^backtest: ", "", sentence)
