"""Compiled autograd: the backward graphs that it captured, and why it captured them anew."""

from __future__ import annotations

import re

from tracelens.logs import Log, Record
from tracelens.logs._text import Stripped
from tracelens.logs.graph_code import FxGraph, GraphFragment

__all__ = ["BackwardGraph", "Capture", "CaptureNote", "CompiledAutograd", "GraphFragment"]


class CompiledAutograd(Log):
    """``[__compiled_autograd]`` and ``[__compiled_autograd_verbose]``."""

    name = "compiled_autograd"
    switch = 'TORCH_LOGS="compiled_autograd"'
    artifacts = frozenset({"__compiled_autograd", "__compiled_autograd_verbose"})
    cuts = re.compile(r"TRACED GRAPH|[Cc]ache miss due to ")


class BackwardGraph(FxGraph):
    """One captured backward pass."""


class Capture(Record):
    """The backward pass was captured once more; ``reason`` goes on after "due to"."""

    reason: str
    body: Stripped = ""


class CaptureNote(Record):
    """Another line about the capture, such as how many nodes were removed as dead."""

    lines: tuple[str, ...] = ()
