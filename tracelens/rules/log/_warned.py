"""What the warnings of torch's mean that no rule judges: most of them are harmless, and why."""

from __future__ import annotations

import re
from typing import NamedTuple

from tracelens.report import Advice
from tracelens.rules.log._parts import Part
from tracelens.words import few

__all__ = ["of"]

_BREAKS = 'TORCH_LOGS="graph_breaks"'


class _Warned(NamedTuple):
    """A warning: what is in its text, what it is about, what it means, and what to do."""

    text: re.Pattern[str]
    what: str
    means: str
    do: str
    env: str = ""
    code: str = ""


_DEPRECATED = _Warned(
    re.compile(r"(?i)deprecat|FutureWarning|will be (?:removed|changed) in"),
    "a deprecation warning of torch's",
    "It is harmless today, and nothing is slower: a later version drops what is called.",
    "Ignore it, or update the library that calls it.",
)
#: A function that Dynamo warns of.
_BUILTIN = re.compile(
    r"(?:trace the builtin|unsupported builtin) [`']?(?P<name>[\w.]{1,200}?)[`']?[.,]?(?:\s|$)"
)
_SEEN = (
    _Warned(
        re.compile(r"does not know how to trace the builtin|due to unsupported builtin"),
        "a warning that Dynamo cannot trace a builtin, and breaks the graph there",
        "The call runs eagerly, between two graphs, each time that the function is called.",
        "Move the call out of the compiled function; a function of a C++ or CUDA extension can be "
        "made a custom operator (torch.library.custom_op), which stays in the graph.",
        env=_BREAKS,
    ),
    _Warned(
        re.compile(r"functools\.(?:lru_)?cache"),
        "a warning that Dynamo traces through a `functools.lru_cache`",
        "It is harmless where what the function returns depends on its arguments alone: the cache "
        "is passed by while tracing, and what it returns becomes a part of the compiled code. "
        "Where it reads a file, a setting or a clock, what it read while tracing stays.",
        "If its result may change, call it outside of the compiled function, and pass the result.",
    ),
    _Warned(
        re.compile(r"LSTM with projections is not supported with oneDNN"),
        "a warning that an LSTM with projections does not run in oneDNN",
        "It is harmless: torch's own implementation computes the same, on the CPU more slowly.",
        "If the LSTM takes much of the time, leave `proj_size` out, and project in a Linear.",
    ),
    _Warned(
        re.compile(r"nn\.Module (?:forward|state_dict|hooks|backward)"),
        "a warning that hooks of a module are only partly supported by torch.compile",
        "Hooks that are registered before the first call are traced; those that come later may be "
        "passed by (torch 2.0 and 2.1).",
        "Register hooks before compiling, or update torch.",
        code="python -m pip install -U torch",
    ),
    _Warned(
        re.compile(r"No CUDA runtime is found"),
        "a warning that torch sees no GPU",
        "It is harmless where the program is to run on the CPU. Else the driver, the container or "
        "CUDA_VISIBLE_DEVICES hides it, or this torch was built without CUDA.",
        "Ask torch what it sees.",
        code='python -c "import torch; print(torch.version.cuda, torch.cuda.is_available())"',
    ),
    _Warned(
        re.compile(r"Logical operators 'and' and 'or' are deprecated for non-scalar"),
        "a deprecation warning of Triton's about torch's own code",
        "It is harmless: the kernel computes the same. Torch mended its code after 2.8.",
        "Ignore it, or update torch.",
        code="python -m pip install -U torch",
    ),
    _Warned(
        re.compile(r"kernel not used because|Flash Attention does not support"),
        "warnings why attention does not run in a fused kernel",
        "Each kernel of scaled_dot_product_attention says why it refuses the call. Where all fast "
        "ones do, attention runs in several operators: the result is the same, and it takes more "
        "time and memory.",
        "The usual reason is a mask: where it is causal, say so, and pass no mask. For other masks "
        "there is flex_attention, compiled.",
        code="F.scaled_dot_product_attention(q, k, v, is_causal=True)  # no attn_mask",
    ),
    _Warned(
        re.compile(r"find_unused_parameters=True was specified"),
        "a warning that DDP looks for unused parameters, and finds none",
        "The search walks over the graph of autograd once more in each step; results are the same.",
        "Where all parameters get a gradient in every step, switch it off.",
        code="torch.nn.parallel.DistributedDataParallel(model, find_unused_parameters=False)",
    ),
    _Warned(
        re.compile(r"using best-guess GPU|used by this process (?:is|are) currently unknown"),
        "a warning that NCCL does not know which GPU a rank uses",
        "It is harmless where each rank uses the GPU of its own number. Else a barrier may hang.",
        "Name the device before the first collective.",
        code="torch.cuda.set_device(local_rank)  # and, since torch 2.3:\n"
        'torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", local_rank))',
    ),
    _Warned(
        re.compile(r"not compiled with flash attention"),
        "a warning that this torch has no flash attention",
        "scaled_dot_product_attention takes another kernel: the result is the same, and attention "
        "over long sequences takes longer and more memory.",
        "See which kernels this build has; newer builds, also for Windows, have it.",
        code='python -c "import torch; print(torch.backends.cuda.is_flash_attention_available())"',
    ),
    _Warned(
        re.compile(r"Flash Attention defaults to a non-deterministic"),
        "a warning that attention's backward pass is not deterministic",
        "It is harmless unless each run must give the same bits; it is printed as deterministic "
        "algorithms were asked for, with warn_only=True.",
        "If they must be, ask for it without warn_only; that is slower.",
        code="torch.use_deterministic_algorithms(True)",
    ),
    _Warned(
        re.compile(r"call(?: of)? `?lr_scheduler\.step\(\)`? before `?optimizer\.step\(\)"),
        "a warning that the scheduler stepped before the optimizer",
        "The first value of the schedule is passed over; nothing is slower. A GradScaler that "
        "leaves its first step out causes it as well, and then it is harmless.",
        "Call `optimizer.step()` first, in each step.",
    ),
    _Warned(
        re.compile(r"Profiler clears events at the end of each cycle"),
        "a warning that the profiler keeps its last cycle only",
        "It is harmless where one cycle is enough: a table or trace holds the last one's steps.",
        "To keep all, say so.",
        code="torch.profiler.profile(..., acc_events=True)",
    ),
    _Warned(
        re.compile(r"Memory block of unknown size was allocated before the profiling"),
        "a warning that the profiler does not know some memory",
        "It is harmless: what was allocated before the profiler began is not in its numbers of "
        "memory. Times are not touched.",
        "Begin the profile before the model is made, if memory is the question.",
    ),
    _Warned(
        re.compile(r"use_reentrant parameter should be passed"),
        "a warning that a checkpoint does not say how it runs its function again",
        "It is harmless. Under torch.compile only use_reentrant=False is traced without a break.",
        "Say it.",
        code="torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False)",
    ),
    _Warned(
        re.compile(r"expandable_segments not supported"),
        "a warning that the allocator cannot grow its segments on this system",
        "It is harmless: the allocator works as it does by default.",
        "Leave the setting out.",
        env="PYTORCH_CUDA_ALLOC_CONF=",
    ),
    _Warned(
        re.compile(r"no current CUDA context"),
        "a warning that a thread had no context of CUDA yet",
        "It is harmless: torch makes one, once in that thread.",
        "Ignore it.",
    ),
    _Warned(
        re.compile(r"Failed to find (?:cuobjdump|nvdisasm)"),
        "a warning that Triton does not find a tool that prints machine code",
        "It is harmless: the tool is asked for only where a kernel's machine code is looked at. "
        "Kernels are compiled without it.",
        "Ignore it. A toolkit of CUDA has the tool; its path can be set.",
        env="TRITON_CUOBJDUMP_PATH=/usr/local/cuda/bin/cuobjdump",
    ),
    _Warned(
        re.compile(r"triton not found"),
        "a warning that Triton is not installed",
        "It is harmless for a program on the CPU: operations of Triton's kernels are not counted.",
        "For a GPU, install it.",
        code="python -m pip install triton  # Windows: triton-windows",
    ),
    _Warned(
        re.compile(r"is an Enum subclass"),
        "a note that Dynamo traces an Enum by itself",
        "It is harmless: what registered the class is not needed any more.",
        "Ignore it, or update the library.",
    ),
    _DEPRECATED,
)


def of(text: str, part: Part) -> Part:
    """Return what warnings mean, whose ``text`` it is; ``part`` where none of them is known."""
    found = [one for one in _SEEN if one.text.search(text)]
    if not found:
        return part
    first, *more = [one for one in found if one is not _DEPRECATED] or found
    besides = [f"Besides: {one.what}. {one.means}" for one in few(more)]
    advice = Advice(
        id="warned", text=first.do, env=first.env or None, code=first.code or None, basis="source"
    )
    means = " ".join((first.means, *besides))
    if named := _BUILTIN.search(text):
        title = f"Dynamo cannot trace `{named['name']}`, and breaks the graph there"
        part = part._replace(title=title)
    return part._replace(what=first.what, means=means, rest="", advice=advice)
