"""The ``driftpace`` command: words for people. Heavy parts are imported by the command that needs them, when it runs."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec

__all__ = ["main"]

REFUSED = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 done, 2 refused (one sentence on stderr says why), 130 interrupted."""
    try:
        from driftpace.cli.app import app
    except ModuleNotFoundError as error:
        extras = "cli" if find_spec("plotly") else "cli,report"  # both at once rather than one after the other
        return _refuse(f'the command needs {error.name}: pip install "driftpace[{extras}]".')
    from driftpace.errors import DriftpaceError

    try:
        code = app(args=None if arguments is None else list(arguments), prog_name="driftpace", standalone_mode=False)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except DriftpaceError as error:
        from driftpace.cli.asking import in_options

        return _refuse(in_options(str(error)))
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return _refuse(f"{error.strerror or error}{where}.")
    except Exception as error:
        say = getattr(error, "format_message", None)  # what typer refuses knows its own sentence
        if say is None:
            raise
        return _refuse(str(say()))
    if code == INTERRUPTED:
        print("driftpace: interrupted.", file=sys.stderr)
    return code if isinstance(code, int) else 0


def _refuse(sentence: str) -> int:
    print(f"driftpace: {' '.join(sentence.split())}", file=sys.stderr)
    return REFUSED
