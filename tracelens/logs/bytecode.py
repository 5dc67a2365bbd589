"""Python's instructions as Dynamo finds, traces and writes them."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator

from tracelens.logs import Log, Record

__all__ = ["Bytecode", "BytecodeListing", "TracedBytecode"]


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
    file: Annotated[str, BeforeValidator(str.strip)]
    line: int
    listing: str = ""


class TracedBytecode(Record):
    """Instructions that Dynamo traced, with the stack before each, as one text."""

    instructions: str
