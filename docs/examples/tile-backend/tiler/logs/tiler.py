"""Lines such as ``tiler [0/0] spill node=linear core=3 bytes=65536 tile=128``."""

from __future__ import annotations

import re

from tracelens.logs import Log, Record

_COMPILATION = re.compile(r"tiler \[([0-9]{1,9}/[0-9]{1,9})")


class Tiler(Log):
    """What the backend decides about each graph."""

    name = "tiler"
    switch = "TILER_LOG=1"
    marks = ("tiler [",)

    @classmethod
    def frame_of(cls, text: str) -> str:
        """Return the compile id of a line: a Frame gathers it with torch's own records."""
        match = _COMPILATION.match(text)
        return match[1] if match else ""


class Graph(Record):
    """A graph that was given to the backend."""

    compilation: str
    nodes: int
    cores: int
    scratchpad: int


class Layout(Record):
    """In what tiles a product is computed."""

    compilation: str
    node: str
    rows: int
    columns: int
    inner: int
    tile: int
    padded: float


class Division(Record):
    """How many tiles a core has, at least and at most."""

    compilation: str
    node: str
    tiles: int
    cores: int
    least: int
    most: int


class Spill(Record):
    """A core's scratchpad is too small for a tile."""

    compilation: str
    node: str
    core: int
    bytes: int
    tile: int


class Fallback(Record):
    """An operator that the backend does not have."""

    compilation: str
    op: str
    node: str
    file: str
    line: int
