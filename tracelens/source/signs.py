# ruff: noqa: E501 -- patterns
"""What tells, anywhere in a line, that something failed: literals, fast; then patterns, linear.

Three sieves of rising cost: literals over a block of text, a pattern over the blocks that hold one,
and a pattern over the lines around a hit. What an excerpt that passes them means is not decided here.
"""

from __future__ import annotations

import re

__all__ = ["HINTS", "HOT", "TRIGGERS"]

#: One of them is in every text that tells of a failure.
TRIGGERS = (
    b"Error",
    b"rror: ",
    b"Exception",
    b"Traceback (",
    b"raised:",
    b"Unsupported: ",
    b"dynamo-optimized",
    b"RESULT_ERROR",
    b"Watchdog caught",
    b"ptxas fatal",
    b" is not found",
    b"OutOfResources",
    b"out of memory",
    b"exit code -",
    b"Node: ",
    b"UNSUPPORTED",
    b"core dumped",
    b"terminate called",
)

#: The place in a line that tells of a failure, or in one of those that lead to it.
HOT = re.compile(
    rb"Traceback \(most recent|Error(?=[:(\n\r'\"\x1b ])|Exception(?=[:(\n\r ])|exception was the direct"
    rb"|(?:fatal )?error(?=: (?![-\d.])| C\d{4}\b| LNK\d{4}\b)|raised:|Unsupported: |Failed: "
    rb"|dynamo-optimized|[A-Z]{2}_RESULT_ERROR|Watchdog caught|ptxas fatal| is not found"
    rb"|OutOfResources|out of (?:memory|resource)|exit code -\d|SymNode: |Violat\w+Error"
    rb"|core dumped|terminate called|File \"[^\"\n]{1,300}\", line \d|from user code|: (?:warning|note): |In file included from|\.py:\d+ in \w"
    rb"|\.py:\d+: in \w"
)

#: What an excerpt must hold so that it is about compiled code, a toolchain or a device.
HINTS = re.compile(
    rb"torch[._/\\]_(?:dynamo|inductor|functorch|export|higher)|torchinductor|torch\.fx\b|triton|"
    rb"TORCHDYNAMO|TORCH_LOGS|nductor|InternalTorchDynamo|BackendCompilerFailed|Dynamo|dynamo"
    rb"|compile|C(?:pp|\+\+) ?[Cc]ompile|Python\.h|cuda(?:_runtime)?\.h|std\w{3,5}\.h"
    rb"|cl is not|'cl'|cannot find -l|ptxas|RESULT_ERROR|IGC: |Watchdog caught|out of (?:mem|res)"
    rb"|OutOf(?:Memory|Resources)|CheckpointError|bootstrapping phase|donated buffers|expected size"
    rb"|Unsupported: |fake tensor|FakeTensor|GraphModule|CUDAGraph|cudagraph|CUDACaching|BrokenProcessPool"
    rb"|SubprocException|fp8e|LoweringException|NoValidChoices|program_source:|Metal|SymNode"
    rb"|CUDA error|HIP error|INTERNAL ASSERT FAILED|too old to be|tensors was saved|OMP: Error"
)
