"""The ``driftpace`` command: words for people. Heavy parts are imported by the command that needs them, when it runs."""

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec

__all__ = ["main"]

REFUSED = 2
INTERRUPTED = 130
CUT_OFF = 141
"""Whoever read the output stopped reading, as ``head`` does: what a shell calls a command that the signal for it ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 2 refused (one sentence on stderr says why), 130 interrupted, else its answer."""
    try:
        from driftpace.cli.app import app
    except ModuleNotFoundError as error:
        extras = "cli" if find_spec("plotly") else "cli,report"  # both at once rather than one after the other
        return _refuse(f'the command needs {error.name}: pip install "driftpace[{extras}]".')
    from typer import Abort

    from driftpace.errors import DriftpaceError

    _print_anything()
    try:
        code = app(args=None if arguments is None else list(arguments), prog_name="driftpace", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, Abort):
        code = INTERRUPTED
    except BrokenPipeError:
        return _cut_off()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # the parser of the command line ends by itself then
            return _cut_off()
        raise
    except DriftpaceError as error:
        from driftpace.cli.shared.asking import in_options

        return _refuse(in_options(str(error)))
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return _refuse(f"{error.strerror or error}{where}.")
    except Exception as error:
        if hasattr(error, "format_message"):  # what typer refuses
            from driftpace.cli.shared.refusing import parsed

            return _refuse(parsed(error))
        if isinstance(error, ModuleNotFoundError) and not (error.name or "driftpace").startswith("driftpace"):
            return _refuse(f'this needs {error.name}: pip install "driftpace[all]".')
        if os.environ.get("DRIFTPACE_TRACEBACK"):
            raise
        return _refuse(
            f"this should not have happened: {type(error).__name__}: {error}; with DRIFTPACE_TRACEBACK=1 it says where."
        )
    if code == INTERRUPTED:
        print("driftpace: interrupted.", file=sys.stderr)
    return code if isinstance(code, int) else 0


def _print_anything() -> None:
    """Let a terminal that knows few characters show a question mark instead of failing, and one that is closed show nothing."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by who started this, as for a service
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _cut_off() -> int:
    """End quietly, and let the interpreter flush into nothing when it ends."""
    with suppress(OSError, ValueError):  # not a stream of the system
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return CUT_OFF


def _refuse(sentence: str) -> int:
    from driftpace.cli.shared.printing import one_line, print_note

    with suppress(OSError):  # a full disk behind stderr is not worth another code
        print_note(f"driftpace: {one_line(' '.join(sentence.split()))}")
        sys.stderr.flush()
    return REFUSED
