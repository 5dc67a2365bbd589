"""What Inductor and AOTAutograd log of their own work, without an artifact."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from itertools import chain
from typing import Annotated

from pydantic import BeforeValidator, SkipValidation

from tracelens import grammars
from tracelens.logs import Log, Record

__all__ = [
    "CacheBypass",
    "CacheEvent",
    "CompileStep",
    "CompileThreads",
    "CompileTime",
    "Component",
    "DebugFolder",
    "HashDetails",
    "InductorDebug",
    "InductorNote",
    "LayoutForced",
    "LayoutSkipped",
    "MmShape",
    "PeakMemory",
    "TunedMm",
]

Unquoted = Annotated[str, BeforeValidator(lambda text: text.strip(" '"))]


class InductorDebug(Log):
    """Records without artifact of Inductor and AOTAutograd."""

    name = "inductor_debug"
    switch = 'TORCH_LOGS="+inductor"'
    marks = (
        "Step 3: ",
        "FX codegen and compilation took ",
        "FX cache ",
        "FX graph cache ",
        "fx graph cache ",
        "Saving compiled graph to FX cache",
        "Bypassing FX Graph Cache",
        "Bypassing autograd cache",
        "AOTAutograd cache ",
        "Autograd graph cache ",
        "Writing AOTAutograd cache",
        "Cache Metrics",
        "Overview info of inductor aten mms",
        "Name                           | B",
        "--------------------",
        "aten.mm ",
        "aten.addmm ",
        "aten.bmm ",
        "aten.baddbmm ",
        "aten._int_mm ",
        "aten._scaled_mm",
        "aten._grouped_mm",
        "aten._scaled_grouped_mm",
        "Tuned aten.",
        "compile_threads set to ",
        "Skip layout opt",
        "Skipped layout opt",
        "Force channels last inputs for ",
        "model__",
        "Reordering for peak memory",
        "Baseline peak memory",
        "topological_sort_",
        "Number of scheduler nodes after fusion",
        "Generating code for node ",
        "Generated ",
        "Finished codegen for all nodes",
        "Output code written to: ",
        "Registered template heuristic",
        "Max autotune selects from ",
        "Not using template since ",
        "TritonBundler",
        "get_bounds:",
        "scheduling ",
        "lowering ",
        "  via <",
        "Output graph module: ",
        "Output kernel code:",
        "Output wrapper code: ",
        "Output code: ",
        "AOT kernel code:",
        "AOT wrapper code: ",
        "Serialized Extern Kernel Nodes: ",
        "Using remote FX cache",
        "enabling cudagraphs due to ",
        "Failed to generate FX cache key",
        "failed to log pt2_configs",
        "Invalid value of ",
        "Invalid TORCH_COMPILE_WORKER_MODE",
        "You no longer need to specify args/kwargs to aoti_",
    )
    modules = (
        "torch/_inductor/codecache",
        "torch/_inductor/compile_fx_ext",
        "torch/_inductor/graph",
        "torch/_inductor/lookup_table/",
        "torch/_inductor/profiler",
        "torch/_inductor/scheduler",
        "torch/_inductor/select_algorithm",
        "torch/_inductor/standalone_compile",
    )
    prefixed = True
    #: Pasted without the prefix.
    begins = re.compile(
        r"(?:fx graph|FX graph|AOTAutograd|Autograd graph) cache (?:hit|miss|bypass)"
        r"|Bypassing (?:FX Graph|autograd) [Cc]ache|FX codegen and compilation took \d"
        r"|Step 3: torchinductor "
    )


class CompileStep(Record):
    """Inductor began or finished one graph."""

    #: ``compiling`` or ``done compiling``.
    action: str
    #: ``FORWARDS`` or ``BACKWARDS``.
    direction: Unquoted = ""
    graph: int


class CompileTime(Record):
    """How long generating and compiling the code of one graph took."""

    seconds: float


class CacheEvent(Record):
    """A compiled graph was found in a cache, or not."""

    cache: str
    outcome: Unquoted
    key: str


#: What records of bypasses call a cache, and those of hits.
CACHES = {
    "FX Graph Cache": "fx graph cache",
    "FX cache": "fx graph cache",
    "autograd cache": "AOTAutograd cache",
}


class CacheBypass(Record):
    """A graph cannot be kept in the cache."""

    reason: Unquoted
    cache: Annotated[str, BeforeValidator(lambda name: CACHES.get(name, name))] = ""


class Component(Record):
    """One part of a cache key: with another hash, the key is another one."""

    hash: Annotated[str, BeforeValidator(lambda text: text.strip("\n[] "))]
    part: str
    value: str = ""


@lru_cache(maxsize=20_000)
def _components(line: str) -> tuple[Component, ...]:
    """Return the parts on a line of a key: most lines are the same in all keys."""
    grammar = grammars.load(InductorDebug.name, __name__)
    return tuple(
        grammar.parse(str(text), "component") for text in grammar.parse(f"\n{line}", "body")
    )


class HashDetails(Record):
    """What a cache key was made of; read when ``components`` is asked for."""

    cache: str
    key: str
    body: str = ""
    #: The lines of the body instead, where they are kept one by one: most are in all keys.
    parts: SkipValidation[tuple[str, ...]] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the body."""
        return self.parts or tuple(self.body.split("\n")[1:])

    @property
    def gist(self) -> object:
        """What is the same in the text log and in the structured one."""
        return self.cache, self.key, self.lines

    @property
    def components(self) -> tuple[Component, ...]:
        """The parts, in order; of a value that takes several lines, the first line."""
        try:
            return tuple(chain.from_iterable(map(_components, self.lines)))
        except grammars.Unreadable:
            return ()

    @cached_property
    def switched_on(self) -> frozenset[str]:
        """The parts that are ``True``."""
        return frozenset(one.part for one in self.components if one.value == "True")


class MmShape(Record):
    """How often a graph has a matrix product of one shape; symbolic sizes are text."""

    op: str
    b: Unquoted
    m: Unquoted
    n: Unquoted
    k: Unquoted
    count: int


class TunedMm(Record):
    """Inductor chose among the kernels for a matrix product."""

    op: str
    #: Empty for a product of two matrices.
    batch: str = ""
    m: str
    n: str
    k: str
    detail: str = ""


class CompileThreads(Record):
    """How many processes compile kernels, and why so many."""

    count: int
    how: Unquoted = ""


class LayoutSkipped(Record):
    """Convolutions keep their memory layout."""

    reason: Unquoted


class LayoutForced(Record):
    """How many convolutions of a graph were given inputs in channels-last layout."""

    count: int
    graph: int


class DebugFolder(Record):
    """``TORCH_COMPILE_DEBUG=1`` wrote everything about a graph to a folder."""

    model: str
    path: str


class PeakMemory(Record):
    """The memory that a graph needs with its nodes in one order."""

    method: str
    bytes: int


class InductorNote(Record):
    """Another record, mostly a dump of nodes or of generated wrappers."""

    note: str
    body: str = ""
