"""A compiled scan of JSON text."""

from typing import Any

import numpy as np

from driftpace.compiled import compiled

_DEEPEST = 64


@compiled()
def crowded_object(text: Any, most: int) -> int:
    """Return where an object has more than ``most`` names, -1 if none has; what follows is not looked at.

    ``text`` is JSON as UTF-8 in an array of bytes. Objects nested deeper than 64 are not counted.
    """
    names = np.zeros(_DEEPEST, np.int64)
    depth, at, quoted = 0, 0, False
    while at < text.size:
        sign = text[at]
        if quoted:
            if sign == 92:  # a backslash: the next character is escaped
                at += 1
            elif sign == 34:
                quoted = False
        elif sign == 34:
            quoted = True
        elif sign == 123 or sign == 91:  # { or [
            depth += 1
            if depth < _DEEPEST:
                names[depth] = 0
        elif sign == 125 or sign == 93:
            depth = max(depth - 1, 0)
        elif sign == 58 and depth < _DEEPEST:  # a colon follows each name
            names[depth] += 1
            if names[depth] > most:
                return at
        at += 1
    return -1
