"""The ``driftpace`` command. Commands import what they need when they run, so that the others start fast."""

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

__all__ = ["main"]

ERROR = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
"""The reader of the output stopped reading, as ``head`` does: what a shell returns after SIGPIPE."""


def main(arguments: Sequence[str] | None = None) -> int:  # noqa: C901  one clause for each way to end
    """Run the command and return its exit code: 2 for an error (one sentence on stderr), 130 interrupted, else its own."""
    try:
        from typer import Abort

        from driftpace.cli.app import app
        from driftpace.errors import DriftpaceError
    except ModuleNotFoundError as error:
        return _fail(
            f'the driftpace command needs {error.name}: pip install "driftpace[all]", or driftpace[cli] for the least.'
        )
    except KeyboardInterrupt:
        print("driftpace: interrupted.", file=sys.stderr)
        return INTERRUPTED

    _prepare_streams()
    try:
        code = app(args=None if arguments is None else list(arguments), prog_name="driftpace", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, Abort):
        code = INTERRUPTED
    except BrokenPipeError:
        return _broken_pipe()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # raised by the parser
            return _broken_pipe()
        raise
    except DriftpaceError as error:
        return _fail(str(error))
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return _fail(f"{error.strerror or error}{where}.")
    except Exception as error:
        if hasattr(error, "format_message"):  # an error of the parser
            from driftpace.cli.errors import parser_message

            return _fail(parser_message(error))
        if isinstance(error, ModuleNotFoundError) and not (error.name or "driftpace").startswith("driftpace"):
            return _fail(f'this needs {error.name}: pip install "driftpace[all]".')
        if os.environ.get("DRIFTPACE_TRACEBACK"):
            raise
        return _fail(f"internal error: {type(error).__name__}: {error}; set DRIFTPACE_TRACEBACK=1 for the traceback.")
    if code == INTERRUPTED:
        print("driftpace: interrupted.", file=sys.stderr)
    return code if isinstance(code, int) else 0


def _prepare_streams() -> None:
    """Replace closed streams, and print a question mark for characters that a terminal cannot encode."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the parent process, as for a service
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _broken_pipe() -> int:
    """Discard what the interpreter flushes at exit."""
    with suppress(OSError, ValueError):  # not a stream of the operating system
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE


def _fail(sentence: str) -> int:
    from driftpace.cli.output import one_line, print_note

    with suppress(OSError):  # a full disk behind stderr does not change the exit code
        print_note(f"driftpace: {one_line(' '.join(sentence.split()))}")
        sys.stderr.flush()
    return ERROR
