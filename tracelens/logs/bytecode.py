"""Python's instructions as Dynamo finds, traces and writes them."""

from __future__ import annotations

import re

from tracelens.logs import Log, Record
from tracelens.logs._text import Stripped

__all__ = ["Bytecode", "BytecodeFragment", "BytecodeListing", "TracedBytecode"]


class Bytecode(Log):
    """``[__bytecode]`` and ``[__trace_bytecode]``."""

    name = "bytecode"
    switch = 'TORCH_LOGS="bytecode"'
    artifacts = frozenset({"__bytecode", "__trace_bytecode"})
    cuts = re.compile(r"[A-Z]+ BYTECODE ")


class BytecodeListing(Record):
    """A function's instructions, as one text."""

    #: ``ORIGINAL`` or ``MODIFIED``.
    stage: str
    function: str
    file: Stripped
    line: int
    listing: str = ""


class BytecodeFragment(Record):
    """A part of a listing whose beginning the log does not hold."""

    fragment: str


class TracedBytecode(Record):
    """Instructions that Dynamo traced, with the stack before each, as one text."""

    instructions: str
