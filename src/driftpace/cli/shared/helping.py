"""The help of commands: a switch is shown as a switch."""

from typing import Any

from typer.core import TyperCommand, TyperGroup


class _Switches:
    """Whose help shows a switch as what it is, and not as something that takes a value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for one in found:
            if getattr(one, "is_flag", False):
                one.metavar = ""
        return found


class Command(_Switches, TyperCommand):
    """A command."""


class Group(_Switches, TyperGroup):
    """Commands under a name."""
