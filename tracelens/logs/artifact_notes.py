"""Artifacts that are understood as text: what they say, no rule asks for."""

from __future__ import annotations

from tracelens.logs import Log, Record

__all__ = ["ArtifactNote", "ArtifactNotes"]


class ArtifactNotes(Log):
    """The artifacts that have no kind of their own."""

    name = "artifact_notes"
    switch = 'TORCH_LOGS="overlap"'
    artifacts = frozenset(
        {
            "__annotation",
            "__auto_chunker",
            "__autotuning_inputs",
            "__caching",
            "__graph_region_expansion",
            "__hierarchical_compile",
            "__native_dsl_compile",
            "__not_implemented",
            "__onnx_diagnostics",
            "__overlap",
            "__overlap_scheduling",
            "__partitioned_scatter",
            "__side_effects",
            "__verbose_guards",
        }
    )


class ArtifactNote(Record):
    """One record: its first line, and what stands below."""

    title: str = ""
    text: str = ""
