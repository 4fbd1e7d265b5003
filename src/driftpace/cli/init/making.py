"""What ``driftpace init`` does: from what was given to the values of a campaign, its file, and the campaign itself."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftpace.cli.shared.asking import names
from driftpace.cli.shared.options import Form
from driftpace.cli.shared.tables import not_readable, readable
from driftpace.errors import ParameterError

if TYPE_CHECKING:
    from driftpace.campaign import Definition, Status

_MONEY = ("fixed", "per_sample", "currency")
_OPTIONS = (
    "target",
    "table",
    "features",
    "classes",
    "loss",
    "id",
    "epsilon",
    "tolerance",
    "budget",
    "horizon",
    "seed",
    *_MONEY,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class How:
    """Who begins it, whether anything is written, what stdout carries, and whether somebody can be asked."""

    who: str | None
    dry_run: bool
    form: Form

    @property
    def asks(self) -> bool:
        """Whether people sit at a terminal; stdout is not for questions where a machine reads it."""
        return self.form is Form.TABLE and _at_a_terminal()


def one_way(name: str | None, given: dict[str, Any], file: Path | None, template: bool, how: How) -> None:
    """Refuse what does not go together: a file says everything by itself, a template needs a name."""
    from driftpace.campaign.definition import check_name

    if file is not None:
        extra = [f"--{one.replace('_', '-')}" for one in given] + (["--template"] if template else [])
        extra = (["NAME"] if name is not None else []) + extra
        if extra:
            raise ParameterError(f"{extra[0]} must be left out beside --file, which says everything; got both.")
        wrong = not_readable(file)
        if wrong is not None:
            raise ParameterError(f"--file must be a campaign file in TOML; {str(file)!r} {wrong}.")
    elif name is None and not how.asks:
        raise ParameterError("NAME must be given, such as churn, or --file; got neither.")
    if name is not None:
        check_name(name)
    blank = next((one for one, value in given.items() if isinstance(value, str) and not value.strip()), None)
    if blank is not None:
        raise ParameterError(f"{_option(blank)} must not be empty; leave it out instead.")


def begin_from_file(file: Path, storage: str | None, how: How) -> None:
    """Begin the campaign that a file defines."""
    from driftpace.campaign.definition import Definition

    try:
        definition = Definition.of_toml(file.read_bytes())
    except ParameterError as error:  # the name is one of its settings here, and no word on the command line
        said = str(error).replace("Campaign(name=...)", "name").replace("; got 'None'.", "; got none.")
        raise ParameterError(said) from None
    _begin(definition, storage, how, [], file=file)


def write_template(name: str, given: dict[str, Any], how: How) -> None:
    """Write the file alone, with what is known filled in."""
    from driftpace.cli.shared.answering import print_done

    values, notes = values_of(name, given)
    place = Path(f"{name}.toml")
    _write(place, values, dry_run=how.dry_run)
    then = f"driftpace init --file {place}"
    print_done(
        how.form,
        f"{name}: fill in {place}, then begin with: {then}",
        {"name": name, "file": str(place)},
        notes=notes,
        dry_run=how.dry_run,
    )


def begin_from_values(name: str | None, given: dict[str, Any], storage: str | None, how: How) -> None:
    """Begin a campaign of what was given, asked for at a terminal where it is too little, and write its file."""
    if _too_little(given) and how.asks:
        from driftpace.cli.init.questions import ask_for

        name, given = ask_for(name, given)
    missing = [option for option, there in _needed(given).items() if not there]
    if missing:
        raise ParameterError(
            f"{missing[0]} must be given, or --template to write {name}.toml and fill it in, or --file; got none of them."
        )
    from driftpace.campaign.definition import Definition

    values, notes = values_of(str(name), given)
    with _named_as_options():
        definition = Definition.of(values)
        place = Path(f"{definition.name}.toml")
        if place.exists():
            raise ParameterError(
                f"{place} must not exist yet, for it is written; begin what it says with: driftpace init --file {place}."
            )
        _begin(definition, storage, how, notes, place=place)


@contextmanager
def _named_as_options() -> Iterator[None]:
    """Refuse what was given by the names that it has on the command line."""
    try:
        yield
    except ParameterError as error:
        said = re.sub(r"\bCampaign\((\w+)=\.\.\.\)", lambda found: _option(found[1]), str(error))
        raise ParameterError(said.replace("or tolerance= in", "or --tolerance in")) from None


def _option(name: str) -> str:
    """Return the option that a setting is on the command line; itself where it has none.

    >>> _option("per_sample"), _option("total"), _option("name"), _option("cap")
    ('--per-sample', '--budget', 'NAME', 'cap')
    """
    called = {"total": "--budget", "name": "NAME"}
    return called.get(name, f"--{name.replace('_', '-')}" if name in _OPTIONS else name)


def values_of(name: str, given: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return the values of a definition, with what a table shows filled in, and what is to be said about that."""
    values: dict[str, Any] = {"name": name}
    for one in ("target", "loss", "id", "epsilon", "tolerance", "seed", "keep_rows"):
        if one in given:
            values[one] = given[one]
    for one in ("features", "classes"):
        if one in given:
            values[one] = names(given[one])
    money = {one: given[one] for one in _MONEY if one in given}
    if "budget" in given or "horizon" in given or money:
        if "budget" not in given or "horizon" not in given:
            raise ParameterError(
                "--budget and --horizon must come together, the money and how many periods it has to last."
            )
        values["budget"] = {"total": given["budget"], "horizon": given["horizon"], **money}
    if "table" not in given:
        return values, []
    from driftpace.cli.init.looking import look

    return look(values, given["table"])


def _begin(
    definition: "Definition",
    storage: str | None,
    how: How,
    notes: list[tuple[str, str]],
    *,
    place: Path | None = None,
    file: Path | None = None,
) -> None:
    """Begin it, and write its file to ``place``; or from a ``file`` that is there."""
    from driftpace.campaign import Campaign
    from driftpace.campaign.serialization import status_json
    from driftpace.cli.init.aiming import predicts
    from driftpace.cli.shared.answering import print_done
    from driftpace.cli.shared.reading import found_at
    from driftpace.storage import MemoryStore

    name = definition.name
    status = Campaign.create(definition, storage=MemoryStore()).status()  # what is refused leaves no store behind
    where, taken = found_at(storage, name)
    if taken is not None:
        raise ParameterError(f"NAME must be free in {where}; {name!r} exists.")
    if place is not None:
        _write(place, definition.to_values(), dry_run=how.dry_run)
    if not how.dry_run:
        try:
            where, status = _created(definition, storage, how.who)
        except BaseException:
            if place is not None:
                place.unlink(missing_ok=True)
            raise
    said = f"{place}, to read and to keep" if place is not None else str(file)
    print_done(
        how.form,
        f"{name}: {'would begin' if how.dry_run else 'begun'} in {where}.",
        {
            **status_json(status),
            "definition": definition.to_values(),
            "storage": where,
            "file": readable(str(file if place is None else place)),
        },
        notes=[("Predicts", predicts(definition)), *notes],
        lines=[("File", said), ("Now", f"driftpace ask {name}")],
        dry_run=how.dry_run,
    )


def _created(definition: "Definition", storage: str | None, who: str | None) -> "tuple[str, Status]":
    from driftpace.campaign import Campaign
    from driftpace.cli.shared.options import who_am_i
    from driftpace.cli.shared.reading import opened

    with opened(storage, create=True) as store:
        return store.url, Campaign.create(definition, storage=store, who=who_am_i(who)).status()


def _write(place: Path, values: dict[str, Any], *, dry_run: bool) -> None:
    from driftpace.campaign.template import template

    text = template(values, file=place.name)
    if place.exists():
        raise ParameterError(f"{place} must not exist yet, for it is written; it does.")
    if not dry_run:
        with place.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)


def _needed(given: dict[str, Any]) -> dict[str, bool]:
    return {"--target": "target" in given, "--epsilon or --tolerance": "epsilon" in given or "tolerance" in given}


def _too_little(given: dict[str, Any]) -> bool:
    return not all(_needed(given).values())


def _at_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()
