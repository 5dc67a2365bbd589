"""What torch warns of: Python warnings, warnings of its log, and those of its C++ parts."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator

from tracelens.logs import Log, Record
from tracelens.logs._stack import StackFrame
from tracelens.logs._text import Stripped

__all__ = ["StackFrame", "Topic", "TorchWarning", "Warnings"]

Topic = Literal[
    "anomaly-mode",
    "cached-function",
    "complex-operators",
    "device-copy",
    "empty-cudagraph",
    "enum-constant",
    "flex-attention-eager",
    "gradient-strides",
    "guards-on-3.13.0",
    "max-autotune-gpu",
    "missing-backend",
    "missing-openmp",
    "module-hooks",
    "no-cuda",
    "no-native-bf16",
    "no-triton",
    "online-softmax",
    "openmp-runtime",
    "other",
    "pending-backward",
    "profiler-function",
    "profiler-memory",
    "rnn-without-onednn",
    "tf32",
    "triton-random",
    "typed-storage",
    "unknown-builtin",
]
#: How the phrase of a topic begins.
PHRASES: dict[str, Topic] = {
    "Anomaly Detection": "anomaly-mode",
    "DeviceCopy": "device-copy",
    "Dynamo detected": "cached-function",
    "Dynamo does not know": "unknown-builtin",
    "Failed to import CUTLASS": "missing-backend",
    "GPU arch": "max-autotune-gpu",
    "Grad strides": "gradient-strides",
    "Graph break due to unsupported builtin": "unknown-builtin",
    "Guards may run slower": "guards-on-3.13.0",
    "LSTM with projections": "rnn-without-onednn",
    "Memory block": "profiler-memory",
    "No CUDA runtime": "no-cuda",
    "No suitable Cutlass": "missing-backend",
    "Not enough SMs": "max-autotune-gpu",
    "not enough SMs": "max-autotune-gpu",
    "OMP: ": "openmp-runtime",
    "Online softmax": "online-softmax",
    "OpenMP support": "missing-openmp",
    "Please pip install Composable": "missing-backend",
    "Profiler": "profiler-function",
    "Tensor cores are available": "tf32",
    "TensorFloat32": "tf32",
    "The CUDA Graph is empty": "empty-cudagraph",
    "Torchinductor does not support": "complex-operators",
    "TypedStorage": "typed-storage",
    "Unable to hit fast path": "pending-backward",
    "does not support bfloat16": "no-native-bf16",
    "flex_attention called": "flex-attention-eager",
    "is an Enum subclass": "enum-constant",
    "nn.Module": "module-hooks",
    "triton not found": "no-triton",
    "using triton random": "triton-random",
}
_NATIVE = r"\[[WECF](?:\d{3,4} \d\d:\d\d:\d\d\.\d{6,9})? [\w./\\-]+:\d+\] |OMP: (?:Error|Warning) #"

#: Why attention does not run in one of its fast kernels.
_SDPA = (
    r"(?:Flash attention|Memory efficient|[Cc][Uu]DNN attention) kernel not used because"
    r"|Flash Attention (?:does not support|requires|has been)|Memory Efficient attention has"
    r"|1?Torch was not compiled with (?:flash|memory efficient)"
)


def _topic(phrase: str) -> str:
    bare = phrase.strip()
    return next((topic for start, topic in PHRASES.items() if bare.startswith(start)), "other")


class Warnings(Log):
    """Warnings that carry no artifact, and those that are no records of the log at all."""

    name = "warnings"
    switch = "printed by default"
    always = True
    marks = (
        "TensorFloat32 tensor cores",
        "Torchinductor does not support",
        "Profiler record function ",
        "Profiler function ",
        "Profiler will be ignored",
        "Not enough SMs to use max_autotune_gemm",
        "not enough SMs to use max_autotune_gemm",
        "GPU arch does not support max_autotune_gemm",
        "DeviceCopy in input program",
        "using triton random",
        "Guards may run slower on Python",
        "Failed to import CUTLASS lib",
        "Please pip install Composable Kernel",
        "No suitable Cutlass GEMM configs",
        "nn.Module forward/_pre hooks",
        "nn.Module state_dict",
        "nn.Module hooks",
        "No CUDA runtime is found",
        "triton not found",
        "<enum ",
        "OpenMP support not found",
    )
    prefixed = True
    begins = re.compile(
        # The place and the category first: one look at the line up to its first colon.
        r" {0,8}(?:[A-Za-z]:)?(?=[^\s:][^:\n]{0,800}+:\d+: \w{0,60}Warning:)"
        r"(?:(?:[^:\n]{1,301}[/\\](?:torch\w{0,20}|(?:site|dist)-packages[/\\]triton)|torch)"
        r"[/\\][^:\n]{0,200}:\d+: \w{0,60}Warning:"
        r"|[^:\n]{1,501}:\d+: \w{0,60}Warning: (?:flex_attention called"
        r"|Unable to hit fast path of CUDAGraphs|Anomaly Detection|The CUDA Graph is empty"
        rf"|{_SDPA}))"
        rf"|{_NATIVE}|No CUDA runtime is found, using "
        # Pasted without the place, or without all that stands before the text.
        r"|(?:\w{1,40}Warning: )?(?:TensorFloat32 tensor cores for float32 matrix"
        r"|Tensor cores are available but not enabled|Unable to hit fast path of CUDAGraphs"
        r"|The CUDA Graph is empty|Dynamo detected a call to a `|Profiler clears events at the end"
        r"|Please use the new API settings to control TF32"
        r"|Torchinductor does not support code gen|[Nn]ot enough SMs to use max_autotune_gemm"
        r"|GPU arch does not support max_autotune_gemm"
        rf"|{_SDPA}|Online softmax is disabled on the fly"
        r"|Grad strides do not match bucket view strides)"
    )
    continues = re.compile(
        r"  |\s*$|If it is a (?:Python builtin|third-party)|This call originates from:"
        r"|Online softmax is|split the reduction|important use case|softmax\."
        r"|grad\.sizes\(\) = \[|bucket_view\.sizes\(\) = \["
        r"|SOLUTION: Use torch|If you want to debug your score_mod"
        r"|torch\.nn\.attention\.flex_attention\._FLEX|This will allow you to use print"
    )
    ends = re.compile(
        rf'  (?! |File ")\S|(?:{_NATIVE})(?!Warning: Grad strides)'
        r"|No CUDA runtime is found, using "
    )

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return the warning, and the graph break that it tells of besides."""
        found = super().parse(text)
        breaks = (one for one in found if isinstance(one, TorchWarning))
        return (*found, *(_break(one) for one in breaks if one.topic == "unknown-builtin"))


def _break(warning: TorchWarning) -> Record:
    """Return the break at a builtin: the warning does not say where it is called."""
    from tracelens.logs.graph_breaks import Cause, GraphBreak, Kind  # noqa: PLC0415 -- few tell one

    kind = Kind(skipped=warning.text or warning.subject, skipped_name=warning.subject)
    return GraphBreak(causes=(Cause(kind=kind),), announced=True)


class TorchWarning(Record):
    """One warning. ``topic`` is what it is about, as far as tracelens knows it."""

    topic: Annotated[Topic, BeforeValidator(_topic)] = "other"
    #: The builtin, the function, the device that the warning names.
    subject: Stripped = ""
    #: What follows the phrase of the topic in its line; the whole line where the topic is unknown.
    text: Annotated[str, BeforeValidator(lambda text: text.strip().lstrip("`'., "))] = ""
    details: tuple[Stripped, ...] = ()
    #: Where the warning was raised; mostly torch's own code.
    file: str = ""
    line: int = 0
    #: ``UserWarning``, ``FutureWarning``, ...
    category: Annotated[str, BeforeValidator(lambda text: text.strip(" :"))] = ""
    #: The source line that Python shows.
    code: Stripped = ""
    #: The user's frames that the text itself names.
    stack_frames: tuple[StackFrame, ...] = ()
