"""A row, as the reader of each kind of file makes it."""

import json

import numpy as np


class Row:
    """A row: its birth is the number of the row that first had its id. One before a change has neither number nor values."""

    def __init__(self, ident, created, updated, metadata, text, vector, number=None, birth=None, values=None, of_file=False):
        self.id, self.created, self.updated = ident, created, updated
        self.metadata, self.text, self.vector = metadata, text, vector
        self.number, self.birth, self.values = number, birth, values
        self.of_file = of_file  # it has terms and no text that they could be made of again

    def line(self):
        out = {
            "id": self.id.decode(),
            "metadata": None if self.metadata is None else json.loads(self.metadata),
            "text": None if self.text is None else self.text.decode(),
            "vector": np.asarray(self.vector, dtype="<f4").tobytes().hex(),
            "created": self.created,
            "updated": self.updated,
        }
        return out | ({} if self.values is None else {"values": [value.hex() for value in self.values]})
