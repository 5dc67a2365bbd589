"""The FX graphs that AOTAutograd, Inductor and the DDP optimizer work on."""

from __future__ import annotations

import re
from typing import ClassVar

from tracelens.logs import Log, Record
from tracelens.logs.graph_code import FxGraph, GraphCode, GraphFragment

__all__ = ["AotConfig", "AotGraph", "AotGraphs", "CallNote", "GraphFragment", "SplitGraph"]


class AotGraphs(Log):
    """The graphs of every stage after Dynamo."""

    name = "aot_graphs"
    switch = 'TORCH_LOGS="aot_graphs"'
    artifacts = frozenset(
        {
            "__aot_graphs",
            "__aot_graphs_effects",
            "__aot_joint_graph",
            "__ddp_graphs",
            "__post_grad_graphs",
            "__pre_grad_graphs",
        }
    )
    continues = GraphCode.continues
    cuts = re.compile(r"TRACED GRAPH|aot_config id: |---[^-\n]+ graph---")


class AotGraph(FxGraph):
    """One graph. ``name`` says of which stage: ``Forward graph 0``, ``AFTER POST GRAD``."""

    traced: ClassVar[bool] = False

    @property
    def stage(self) -> str:
        """The name without the number of the graph."""
        return self.name.rstrip("0123456789 ")


class AotConfig(Record):
    """What AOTAutograd found out about inputs and outputs before it made the graphs."""

    config: str
    #: ``fw_metadata=ViewAndMutationMeta(...)``, as printed.
    metadata: str = ""
    #: Further lines, where the metadata of a tensor subclass has some.
    body: str = ""


class CallNote(Record):
    """What a compiled graph expects or is given, where tensor subclasses are among it."""

    lines: tuple[str, ...] = ()


class SplitGraph(Record):
    """One of the graphs that the DDP optimizer makes of one, as a listing of its nodes."""

    #: ``orig``, ``split``, ``submod_0`` or ``final``.
    name: str
    body: str = ""
