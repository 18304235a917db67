"""Gives the Python client one wrong value a line, and writes the error of each.

A JSON list of kind, argument and expression comes in, the error's line goes out as JSON.
"""

import json
import sys
from array import array

import svc

VECTOR = [1.0, 0.0, 0.0, 0.0]
TYPES = (KeyError, TypeError, ValueError, PermissionError, TimeoutError, OSError, RuntimeError)


def call(client, kind, argument, value):
    c, t = client["c"], client["t"]
    calls = {
        "vectors": lambda: c.add(value),
        "vector": lambda: c.search(value),
        "texts": lambda: t.add_texts(value),
        "text": lambda: t.search_text(value),
        "ids": lambda: c.delete(value),
        "idsOfRow": lambda: c.add([VECTOR], ids=value),
        "twice": lambda: c.add([VECTOR, VECTOR], ids=value),
        "metadata": lambda: c.add([VECTOR], metadata=value),
        "where": lambda: c.ids(value),
        "topK": lambda: c.search(VECTOR, top_k=value),
        "name": lambda: client.open_collection(value),
    }
    return calls.get(kind, lambda: client.create_collection("new", **{"dim": 4, argument: value}))()


def line(client, kind, argument, expression):
    value = eval(expression, {"array": array})
    try:
        return f"nothing failed, the answer was {call(client, kind, argument, value)!r}"
    except Exception as error:
        name = next((known.__name__ for known in TYPES if isinstance(error, known)), type(error).__name__)
        return f"{name}: {error}"


with svc.connect(sys.argv[1]) as client:
    for given in sys.stdin:
        print(json.dumps(line(client, *json.loads(given))), flush=True)
