"""Inductor's hints, and the skips of CUDA graphs that came as hints."""

from __future__ import annotations

import pytest

from tests.corpus import cases, log_of, needs_corpus, truth
from tracelens.logs import Record, kind
from tracelens.logs.cudagraphs import CudagraphSkip
from tracelens.logs.perf_hints import (
    BadTiling,
    FallbackKernel,
    GradsCopied,
    MissingLowering,
    PaddingSkipped,
    PerfHint,
    PerfHints,
    ReductionOrder,
    TilingLimited,
)
from tracelens.source import read
from tracelens.source.kinds import Kinds
from tracelens.source.segment import Segmenter

OLD = "[2023-11-20 11:27:53,990] [0/0] torch._inductor.graph: [WARNING] "


@pytest.mark.parametrize(
    ("text", "record"),
    [
        ("Using FallbackKernel: torch.ops.aten._linalg_svd.default",
         FallbackKernel(op="torch.ops.aten._linalg_svd.default")),
        ("make_fallback(aten.addr): a decomposition exists, we should switch to it",
         MissingLowering(op="aten.addr")),
        ("Skip comprehensive padding on CPU", PaddingSkipped(reason="on CPU")),
        ("possibly bad tiling: [(64, 32)]", BadTiling(tilings="[(64, 32)]")),
        (("Found optimal tiling with 3 tiles but torch._inductor.config.triton.max_tiles set to 2."
         " Consider increasing"), TilingLimited(tiles=3, limit=2)),
        (("\nReduction over non-contiguous dims.\nConsider setting config.triton.tile_reductions to"
         " True.\n"), ReductionOrder()),
        ("('Grad tensors [\"a.grad\"] will be copied during cudagraphs execution.If using',)",
         GradsCopied(names='["a.grad"]')),
        ("something new", PerfHint(text="something new")),
        ("skipping cudagraphs due to ['mutated inputs']", CudagraphSkip(cause="mutated inputs")),
    ],
)  # fmt: skip
def test_each_hint_is_a_record_of_its_own(text: str, record: Record) -> None:
    assert PerfHints.parse(text) == (record,)


def test_a_warning_of_torch_2_1_is_the_same_hint() -> None:
    segmenter = Segmenter(Kinds([kind("perf_hints")]), "log")
    segmenter.feed([f"{OLD}Using FallbackKernel: aten.cumsum\n".encode()])
    (row,) = segmenter.finish().table(FallbackKernel)
    assert row.record.op == "aten.cumsum"


@needs_corpus
@pytest.mark.parametrize("version", ["2.4.1", "2.6.0", "2.8.0", "2.13.0", "2.15.0"])
def test_padding_is_skipped_once_per_graph_on_the_cpu(version: str) -> None:
    (case,) = cases(f"{version}/art_perf_hints")
    evidence, _ = read([log_of(case)])
    forward_and_backward = 2 * truth(case)["counters"]["aot_autograd"]["total"]
    assert evidence.table(PaddingSkipped).count == forward_and_backward


@needs_corpus
def test_flash_attention_on_the_cpu_is_a_fallback() -> None:
    (case,) = cases("2.13.0/model_encoder")
    evidence, _ = read([log_of(case)])
    ops = [row.record.op for row in evidence.table(FallbackKernel)]
    assert ops == ["torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default"]
