"""The help of every command shows a switch as a switch, and names everything that can be given."""

import re

import pytest

from driftpace.cli.app import COMMANDS, load
from tests.cli.loop import Run

EVERY = [*([name] for name in COMMANDS), *(["token", name] for name in ("make", "list", "remove")), []]


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_a_switch_takes_no_value(words: list[str], run: Run) -> None:
    code, out, err = run(*words, "--help")
    assert (code, err) == (0, "")
    assert "<bool>" not in out
    assert re.search(r"^│ +--help +-h +Show this message", out, re.MULTILINE)
    assert run(*words, "-h") == (code, out, err)


@pytest.mark.parametrize("name", list(COMMANDS))
def test_everything_that_can_be_given_is_explained(name: str) -> None:
    loaded = load(name)
    commands = getattr(loaded, "commands", {name: loaded})
    for command in commands.values():
        assert [one.name for one in command.params if not one.help] == []
        assert [one.help for one in command.params if not one.help.rstrip().endswith((".", "?"))] == []


def test_token_alone_says_what_it_can_do(run: Run) -> None:
    code, out, err = run("token")
    assert (code, err) == (0, "")
    assert out == run("token", "--help")[1]
