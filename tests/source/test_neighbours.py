"""What stands in ordinary program output is not taken for a record of torch or its neighbours."""

from __future__ import annotations

import pytest

from tracelens.plugins import manifest
from tracelens.source.kinds import Kinds
from tracelens.source.segment import Segmenter

#: Lines of programs that have nothing to do with torch, or only use it.
ORDINARY = [
    "INFO 11-20 10:04:05 [server.py:41] Compiling templates for shape editor",
    'INFO:     127.0.0.1:53412 - "GET /v1/models HTTP/1.1" 200 OK',
    "[2025-11-20 12:03:43] The build is fired up",
    "[2025-11-20 12:03:43 TP0] Load balancer: begin",
    "Starting to load model weights from disk",
    "MIOpenDriver conv -n 1 -c 3",
    "Graph capturing is not supported on this camera",
    "Compiling a graph for the report",
    "init engine: steam",
    "torch.compile is great and took over the world",
    "Loading weights took a while",
    "- 2 eggs: beaten",
    "- 2/3: cups of flour",
    "- 1/2 cup sugar",
    "- 1/2: not found",
    "2/3: this is fine",
    "- 1/3: it was 3 <= 4 again and again",
    "12/31: New Year's Eve",
    "tensor 'x' is large",
    "eval score 0.93",
    "eval loss 0.3 [best]",
    "create_symbol table",
    "Graph Break Even Point: 12",
    "WON'T FIX issue 12",
    "WON'T CONVERT image",
    "[3s] Generation of keys",
    "[12s] Starting server with 3 workers",
    "Autotuning kernel density with config small",
    "Triton autotuning",
    "ov_cpu verbose",
    "HloModule is loaded",
    "I 10:00:00.123456 server: ready",
    "Metric: loss",
    "module attributes are nice",
    " Time(%)  Name",
    "[Rank 1] Alice",
    "Collective agreement 9 has errors",
    "Not all ranks were promoted",
    "aten::add is an operator",
    "cudaLaunchKernel failed? 20.10%",
    "+- src",
    "|  +- main.c",
    "| +- README.md",
    "  for (int i = 0; i < n; ++i) {",
    "#pragma omp parallel for",
    "#pragma once",
    "def triton_wheel(x):",
    "import triton",
    "extern int kernel(void);",
    "reason='not found' user=ana",
    "ncclient: session opened",
    "NCCL is not available",
    "Tried to allocate memory",
    "CUDA out of stock",
    "Watchdog timer reset",
    "Triton autotuning is off",
    "[0s] starting",
    "[12s] Done: 3 files",
    "Best config: learning_rate=3e-4",
    "module load cuda",
    "module attributes {",
    "HloModule is a class",
    "func.call(x)",
    "Name        Self CPU        CPU",
    "----------  ----------  ----------",
    "L0 cache build failed",
    "IGC: Internal General Counsel",
    "Autotuning kernel sizes by hand",
    "mkldnn is enabled",
    "Break Reason 1: lunch",
    "    Reason: it rained",
    "{'reason': 'none'}",
    "GET /autotune?kernel=1 200",
    "error: command 'gcc' failed with exit status 1",
    "2026-11-20 10:00:00,123 INFO trainer: step 12 loss=0.1",
]


@pytest.mark.parametrize("line", ORDINARY)
@pytest.mark.parametrize("before", ["", "step 1 loss 0.3\n"])
def test_ordinary_output_is_the_programs_own(before: str, line: str) -> None:
    segmenter = Segmenter(Kinds(manifest.current().logs), "run.log")
    segmenter.feed([text.encode() + b"\n" for text in f"{before}{line}".split("\n")])
    evidence = segmenter.finish()
    assert (dict(evidence.kinds), evidence.known, evidence.unread) == ({}, {}, [])
