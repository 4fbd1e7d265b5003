"""Every error driftpace raises on purpose.

::

    DriftpaceError
    ├── ParameterError      a parameter is outside what is allowed          (also a ValueError)
    │   └── UnknownConstantError    a constant is needed and not known yet
    ├── DataError           rows that cannot be used                        (also a ValueError)
    ├── ProtocolError       a call that came out of order                   (also a RuntimeError)
    │   └── TooEarlyError           too little is known yet to look ahead
    ├── StateFileError      a saved state that cannot be read back          (also a ValueError)
    ├── StorageError        a store that cannot be used: full, read-only, damaged, gone (also a RuntimeError)
    │   └── ConflictError           somebody else wrote first
    ├── UnknownCampaignError    no campaign of that name is in the store    (also a LookupError)
    ├── LabellingError      a labelling tool that cannot be reached or refuses (also a RuntimeError)
    │   ├── UnavailableError        it did not answer, or was too busy
    │   └── WrongSecretError        a webhook call without the shared secret
    └── MissingExtraError   an optional package that is not installed       (also an ImportError)

One grammar for all of them: the owner and the parameter, what is allowed, what came. An error leaves everything as it was.
"""


class DriftpaceError(Exception):
    """The root of the tree: catch this to catch everything driftpace raises on purpose."""


class ParameterError(DriftpaceError, ValueError):
    """A parameter is outside what is allowed."""


class UnknownConstantError(ParameterError):
    """A constant of the problem is needed and neither given nor estimated yet."""


class DataError(DriftpaceError, ValueError):
    """Rows that cannot be used: non-finite, of the wrong width, of the wrong kind."""


class ProtocolError(DriftpaceError, RuntimeError):
    """A call that came out of order, such as ``tell`` before ``ask``."""


class TooEarlyError(ProtocolError):
    """Too little is known to look ahead; ``why`` says what is missing."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the tracker cannot look ahead in this period, for {why}; ask() and tell() first.")
        self.why = why


class StateFileError(DriftpaceError, ValueError):
    """A saved state that cannot be read back: truncated, edited, or of a newer version."""


class StorageError(DriftpaceError, RuntimeError):
    """A store that cannot be used: full, read-only, damaged, of a newer version, or gone; nothing was written."""


class ConflictError(StorageError):
    """Somebody else wrote to the campaign first: read it again and decide anew."""


class UnknownCampaignError(DriftpaceError, LookupError):
    """No campaign of that name is in the store."""


class LabellingError(DriftpaceError, RuntimeError):
    """A labelling tool that cannot be reached, refuses, or answers what cannot be understood."""


class UnavailableError(LabellingError):
    """The server did not answer, or was too busy; the same request may do later."""


class WrongSecretError(LabellingError):
    """A webhook call without the shared secret."""


class MissingExtraError(DriftpaceError, ImportError):
    """An optional package is needed and not installed; the message names the extra."""
