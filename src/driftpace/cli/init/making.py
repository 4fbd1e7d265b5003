"""What ``driftpace init`` does: from what was given to the values of a campaign, its file, and the campaign itself."""

import sys
from pathlib import Path
from typing import Any

from driftpace.cli.shared.asking import names
from driftpace.errors import ParameterError

_MONEY = ("fixed", "per_sample", "currency")


def one_way(name: str | None, given: dict[str, Any], file: Path | None, template: bool) -> None:
    """Refuse what does not go together: a file says everything by itself, a template needs a name."""
    if file is not None:
        extra = [f"--{one.replace('_', '-')}" for one in given] + (["--template"] if template else [])
        extra = (["NAME"] if name is not None else []) + extra
        if extra:
            raise ParameterError(f"{extra[0]} must be left out beside --file, which says everything; got both.")
        if not file.is_file():
            what = "is a folder" if file.is_dir() else "does not exist"
            raise ParameterError(f"--file must be a campaign file in TOML; {str(file)!r} {what}.")
    elif name is None and not _at_a_terminal():
        raise ParameterError("NAME must be given, such as churn, or --file; got neither.")


def begin_from_file(file: Path, storage: str | None, *, who: str | None, dry_run: bool) -> None:
    """Begin the campaign that a file defines."""
    from driftpace.campaign.definition import Definition

    _begin(Definition.of_toml(file.read_bytes()), storage, [("File", str(file))], who=who, dry_run=dry_run)


def write_template(name: str, given: dict[str, Any], *, dry_run: bool) -> None:
    """Write the file alone, with what is known filled in."""
    from driftpace.campaign.definition import check_name
    from driftpace.cli.shared.printing import print_answer, print_note

    check_name(name)
    values, notes = values_of(name, given)
    place = Path(f"{name}.toml")
    _write(place, values, dry_run=dry_run)
    then = f"driftpace init --file {place}"
    print_answer(f"{name}: fill in {place}, then begin with: {then}", notes)
    if dry_run:
        print_note("Nothing was written.")


def begin_from_values(
    name: str | None, given: dict[str, Any], storage: str | None, *, who: str | None, dry_run: bool
) -> None:
    """Begin a campaign of what was given, asked for at a terminal where it is too little, and write its file."""
    if _too_little(given) and _at_a_terminal():
        from driftpace.cli.init.questions import ask_for

        name, given = ask_for(name, given)
    missing = [option for option, there in _needed(given).items() if not there]
    if missing:
        raise ParameterError(
            f"{missing[0]} must be given, or --template to write {name}.toml and fill it in, or --file; got none of them."
        )
    from driftpace.campaign.definition import Definition

    values, notes = values_of(str(name), given)
    definition = Definition.of(values)
    place = Path(f"{definition.name}.toml")
    if place.exists():
        raise ParameterError(
            f"{place} must not exist yet, for it is written; begin what it says with: driftpace init --file {place}."
        )
    written = [("File", f"{place}, to read and to keep")]
    _begin(definition, storage, [*notes, *written], who=who, dry_run=dry_run, place=place)


def values_of(name: str, given: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return the values of a definition, with what a table shows filled in, and what is to be said about that."""
    values: dict[str, Any] = {"name": name}
    for one in ("target", "id", "epsilon", "tolerance", "seed", "keep_rows"):
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
    definition: Any,
    storage: str | None,
    notes: list[tuple[str, str]],
    *,
    who: str | None,
    dry_run: bool,
    place: Path | None = None,
) -> None:
    from driftpace.campaign import Campaign
    from driftpace.cli.shared.options import who_am_i
    from driftpace.cli.shared.printing import print_answer, print_note
    from driftpace.cli.shared.reading import DEFAULT_STORAGE, opened
    from driftpace.storage import MemoryStore

    name = definition.name
    Campaign.create(definition, storage=MemoryStore())  # what is refused leaves no store behind
    if dry_run:
        _refuse_taken(storage or DEFAULT_STORAGE, name)
        where = storage_shown(storage)
    else:
        with opened(storage, create=True) as store:
            if store.head(name) is not None:
                raise ParameterError(f"NAME must be free in {store.url}; {name!r} exists.")
            Campaign.create(definition, storage=store, who=who_am_i(who))
            where = store.url
    if place is not None:
        _write(place, definition.to_values(), dry_run=dry_run)
    print_answer(
        f"{name}: {'would begin' if dry_run else 'begun'} in {where}.", [*notes, ("Now", f"driftpace ask {name}")]
    )
    if dry_run:
        print_note("Nothing was written.")


def storage_shown(storage: str | None) -> str:
    """Return a place without any password in it, nor options, which may hold one.

    >>> storage_shown("postgresql://anna:secret@db/labels"), storage_shown("postgresql://db/labels?password=secret")
    ('postgresql://anna@db/labels', 'postgresql://db/labels')
    """
    import re

    from driftpace.cli.shared.reading import DEFAULT_STORAGE

    return re.sub(r"(://[^:/@]*)(:.*(?=@))?([^?]*)(\?.*)?", r"\1\3", storage or DEFAULT_STORAGE)


def _refuse_taken(place: str, name: str) -> None:
    """Refuse a name that is taken, without making a store where there is none."""
    from driftpace.cli.shared.reading import glanced

    if "://" not in place and not Path(place).expanduser().exists():
        return
    with glanced(place) as store:
        if store.head(name) is not None:
            raise ParameterError(f"NAME must be free in {store.url}; {name!r} exists.")


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
