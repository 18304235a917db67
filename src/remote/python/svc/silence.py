"""A server that does not answer may work on a long call, or have vanished without closing anything: a laptop sleeps, a
cable is out. Replies come in order, so a ping on the same connection would wait for the call. After a while of silence
another connection shows whether the server can be reached."""

from __future__ import annotations

import time
from typing import Callable

#: Seconds that a server on TCP may be silent with a request to answer before it is looked for.
SILENCE = 20.0
#: Seconds that it is looked for: after a sleep the network takes a while to come back.
SEARCH = 10.0
_PAUSE = 0.5


def is_reachable(connect: Callable[[float], None], search: float, is_over: Callable[[], bool]) -> bool:
    """Whether ``connect(timeout)`` succeeds within ``search`` seconds, or the server refuses it, which is an answer."""
    deadline = time.monotonic() + search
    while not is_over():
        left = deadline - time.monotonic()
        if left <= 0:
            break
        try:
            connect(left)
            return True
        except (PermissionError, RuntimeError):
            return True
        except OSError:
            time.sleep(min(_PAUSE, search / 4))
    return False
