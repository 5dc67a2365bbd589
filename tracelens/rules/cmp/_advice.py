"""What CMP001 knows of compilations, and what it advises."""

from __future__ import annotations

from tracelens.dynamo.siblings import STACK, stacked
from tracelens.remedies import Remedy
from tracelens.report import FindingData

__all__ = ["MIN_BLOCKS", "REMEDIES", "CompileData"]

#: Modules of one list with the same parts that make a block worth compiling by itself.
MIN_BLOCKS = 3
MODEL = " `model` stands for the module that was compiled."


class CompileData(FindingData):
    """What one process spent on compilations."""

    seconds: float
    compilations: int
    #: Those of functions that had been compiled before.
    again: int = 0
    again_seconds: float = 0.0
    #: Seconds that no finding about recompiles or autotuning tells of.
    untold_seconds: float = 0.0
    is_measured: bool = True
    #: Whether the log says which layer of the compiler they went to.
    is_layered: bool = True
    #: Modules of one list with the same parts, as far as guards name them.
    blocks: int = 0
    #: The list, behind the compiled module: ``.encoder.layers``; empty where that is the list.
    blocks_at: str = ""
    #: What the compiled function calls the model; empty where it is what was compiled.
    blocks_in: str = ""
    #: How often a graph of so many operations repeats a line of a loop, or of what that calls.
    rounds: int = 0
    operations: int = 0
    #: How often a graph calls one module with the same weights, and what the code calls that.
    calls: int = 0
    module: str = ""
    file: str = ""
    line: int = 0
    package: str = ""
    #: Where the function is defined whose compilation took longest.
    longest_in: str = ""
    longest_at: int = 0
    #: Modules of the same parts that a graph calls, none of which needs what another computes.
    siblings: int = 0
    #: The longest generated kernel, where it is extreme, and whether slices are written in it.
    kernel: str = ""
    kernel_lines: int = 0
    is_written: bool = False
    #: Python for the list of them where they are called; empty where one call cannot stand for all.
    modules: str = ""
    #: What holds them, behind the compiled module: ``model.nets``; empty where that does so itself.
    holder: str = ""


def _held(data: CompileData) -> str:
    """Return what the program calls a part of the compiled module; empty for any other."""
    root, _, name = data.module.partition(".")
    return f"model.{name}" if root == "self" and name else ""


def _list(data: CompileData) -> str:
    return f"{data.blocks_in or 'model'}{data.blocks_at}"


#: What changes the program, or how it is started.
_CHANGES = (
    Remedy(
        "compile-called",
        lambda data: (
            f"Compile `{data.module}`, and call what is around it uncompiled: it is then in "
            "its graph once. With eight calls, compiling took 0.44 of the CPU time, and a "
            "step as long as before." + (MODEL if _held(data) else "")
        ),
        when="most of a graph is one module that it calls four times or more",
        applies=lambda data: bool(data.calls),
        code=lambda data: (
            f"{_held(data) or data.module} = torch.compile({_held(data) or data.module})"
            "  # in place of what is compiled now"
        ),
        basis="untestable",
        proof="a compilation of 30 s is too long for a test; it was measured by hand",
    ),
    Remedy(
        "stack-in-forward",
        STACK,
        when="most of a graph are 8 small modules of the same parts, or more, none of which needs "
        "what another computes",
        applies=lambda data: bool(data.modules),
        code=lambda data: stacked(data.modules),
        since="2.0",
        basis="tested",
        proof="tests/advice/IND019/stack-in-forward.py",
    ),
    Remedy(
        "each-module",
        lambda data: (
            f"{'Or, where' if data.modules else 'Where'} only the start matters, compile the "
            "modules one by one in place of the whole model: the first one's code serves all. With "
            "24 and with 40 small nets in training, the start took a quarter of the time, and a "
            f"step 1.2 to 1.4 times as long.{MODEL if data.holder.startswith('model') else ''}"
        ),
        when="most of a graph are 8 modules of the same parts, or more, none of which needs what "
        "another computes",
        applies=lambda data: bool(data.holder),
        code=lambda data: (
            f"for name, net in list({data.holder}.named_children()):\n"
            f"    setattr({data.holder}, name, torch.compile(net))"
        ),
        since="2.5",
        basis="untestable",
        proof="a compilation of 30 s is too long for a test; it was measured by hand",
    ),
    Remedy(
        "some-rounds",
        "Compile a function of some ten rounds instead of what holds the loop, which would "
        "take it in, and call it again and again: it is compiled once, where what differs from "
        "call to call is in tensors, not in numbers. With 96 small rounds, compiling took a "
        "quarter of the time, and a call 1.4 times as long; a single round as a function was "
        "slower than eager.",
        when="most of a graph is one loop, in code of your own, which writes no slices in a tensor",
        applies=lambda data: bool(data.rounds) and not (data.package or data.is_written),
        code="for _ in range(rounds // 10):\n    x = ten_rounds(x)  # compiled; is given its "
        "part of a tensor that each round reads a slice of",
        basis="untestable",
        proof="a compilation of 30 s is too long for a test; it was measured by hand",
    ),
    Remedy(
        "stack-slices",
        "Build that tensor at once, with `pad`, `stack` and `cat`, in place of writing slices into "
        "it in a loop. With 24 pairs of slices the first call took 0.4 of the CPU time, and a "
        "later one 1.3 ms in place of 45.",
        when="a generated kernel of 3,000 lines or more in which slices are written into a tensor",
        applies=lambda data: data.is_written,
        code="wide = torch.nn.functional.pad(x, (n - 1, 0))  # x, shifted n times along its width\n"
        "out = torch.stack([wide[..., n - 1 - i : n - 1 - i + width] for i in range(n)], 2)",
        basis="untestable",
        proof="a compilation of 30 s is too long for a test; it was measured by hand",
    ),
    Remedy(
        "keep-caches",
        "Keep the caches from start to start: give them a directory that stays, in a container "
        "one on a volume.",
        when="the program is started again and again; no module is compiled for each call",
        applies=lambda data: not (data.calls or data.siblings),
        env='TORCHINDUCTOR_CACHE_DIR="$HOME/.cache/torchinductor"',
        since="2.1",
        basis="untestable",
        proof="every run of the bench starts with empty caches",
    ),
    Remedy(
        "repeated-blocks",
        lambda data: (
            f"The model has {data.blocks} blocks with the same parts: compile them one by one "
            "instead of the whole model, and the first one's code serves those that compute "
            "the same. With 24 layers of a transformer in training, the start took 0.45 of the "
            f"CPU time, and a step 1.15 times as long.{'' if data.blocks_in else MODEL}"
        ),
        when="the guards name a block that the model repeats, whose weights are no constants",
        applies=lambda data: data.blocks >= MIN_BLOCKS,
        code=lambda data: (
            f"for number, block in enumerate({_list(data)}):\n    {_list(data)}[number] = "
            "torch.compile(block)  # or block.compile(), which keeps the names in "
            "state_dict(), but leaves torch's own layers eager"
        ),
        since="2.5",
        proof="https://docs.pytorch.org/tutorials/recipes/regional_compilation.html",
    ),
)
REMEDIES = (
    *_CHANGES,
    Remedy(
        "record-phases",
        "See the seconds of every compilation and phase.",
        when="the log has torch's own sums and does not tell the layers; or the seconds are from "
        "its clocks, and there is nothing to change",
        applies=lambda data: (
            not data.is_layered
            if data.is_measured
            else not any(one.applies(data) for one in _CHANGES)
        ),
        env="TORCH_TRACE=trace_dir",
        since="2.3",
        basis="untestable",
        proof="it records more",
    ),
)
