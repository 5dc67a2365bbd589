"""IND019 kernel-fragmentation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from tracelens.dynamo.siblings import SIBLINGS, STACK, siblings, stacked
from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.inductor.epilogues import quote
from tracelens.inductor.graphs import heaviest
from tracelens.inductor.members import Members, members
from tracelens.logs._statements import Function
from tracelens.logs.output_code import OutputModule, Step
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.dynamo.siblings import Siblings
    from tracelens.logs.cudagraphs import CudagraphRecording
    from tracelens.logs.graph_code import FxGraph

__all__ = ["KernelFragmentation"]

#: Kernel calls per call of the graph, and elements of each on a GPU, where launching them is most
#: of what they cost. On one core of a CPU, calling a kernel took 2 us, and so did adding to 4,096
#: elements, or normalizing them; a norm of 98,304 took 30 us.
MANY = 30
SMALL = 100_000
SMALL_ON_CPU = 4_097
MAX_QUOTED = 3
_RECORDED = "the graph is recorded as a CUDA graph, which launches all of its kernels at once"


#: How modules of one kind are called at once.
_STACK = """\
from torch.func import functional_call, stack_module_state

params, buffers = stack_module_state(members)

def call(params, buffers, x):
    return functional_call(members[0], (params, buffers), (x,))

y = torch.vmap(call, (0, 0, None))(params, buffers, x)"""


class _Small(msgspec.Struct, frozen=True):
    """A kernel call on few elements."""

    seen: Seen[OutputModule]
    step: Step
    elements: int


class KernelFragmentation(Rule):
    """A graph consists of many small generated kernels: launching them costs more than they do.

    ## Why it matters
    Each call costs microseconds, however little it computes: 5 to 10 on a GPU, about 2 on a CPU. On
    a GPU that is most of what a kernel takes up to some 100,000 elements; on a CPU, up to some
    4,000 elements, it is about as much as an addition or a norm takes.

    ## What it looks like
    At least 30 calls of kernels with less than 100,000 elements (on a CPU at most 4,096) in one
    ``call`` of the generated code:

        [0/0] [__output_code] def call(args):
        [0/0] [__output_code]     cpp_fused_add_relu_0(buf0)
        [0/0] [__output_code]     cpp_fused_add_relu_1(buf1)
        [0/0] [__output_code]     cpp_fused_add_relu_2(buf2)

    Small layers of one shape that read the same input, 16 and more, are members of an ensemble
    that are computed one by one: a warning on a CPU, where batched products took a fifth. So are
    eight small modules of the same parts and more, each with an input of its own.

    ## When it is harmless
    Where the graph is recorded as a CUDA graph, which launches all of its kernels at once. For a
    model that is small itself, such as one in a test: with larger inputs the same calls have
    more to do. It is a note. Calls whose sizes are symbolic do not count.

    ## What to do
    On a GPU, capture the calls in a CUDA graph, or let independent ones run as one kernel. On a
    CPU, a wrapper in C++ makes each call cheaper. Everywhere: larger batches, and
    ``torch._foreach_`` operators instead of loops over lists of tensors.

    ## How a live run confirms it
    The step with the setting: confirmed when it is faster.

    ## See also
    IND018 (why nodes were not fused), GBR012 (graphs that are small because they break).
    """

    code = "IND019"
    name = "kernel-fragmentation"
    severity = Severity.INFO
    experiment = Experiment(
        Knob("kernels are combined", config={"torch._inductor.config.combo_kernels": True}),
        structure="fewer",
    )

    class Data(FindingData):
        """The graph with the most small kernels."""

        small: int
        kernels: int
        #: The most that one of the small ones goes over.
        elements: int
        is_gpu: bool
        #: Layers of one shape that read the same input, as those of an ensemble do; else 0.
        members: int = 0
        #: Modules with the same parts that the graph calls with inputs of their own; else 0.
        siblings: int = 0
        #: Python for the list of them, in the function that calls them.
        modules: str = ""

    remedies = (
        Remedy(
            id="stack",
            text="Where the layers are those of modules of one kind (an ensemble), stack their "
            "parameters, outside of the compiled function, and let vmap compute all of them in "
            "batched products. Parameters that are trained are the stacked ones then.",
            when="16 small layers of one shape read the same input on a CPU",
            applies=lambda data: data.members > 0,
            code=_STACK,
            since="2.0",
            proof="tests/advice/IND019/stack.py",
            basis="tested",
            edits=True,
        ),
        Remedy(
            id="stack-in-forward",
            text=STACK,
            when="8 small modules of the same parts, none of which needs what another computes, "
            "on a CPU",
            applies=lambda data: data.siblings > 0,
            code=lambda data: stacked(data.modules),
            since="2.0",
            proof="tests/advice/IND019/stack-in-forward.py",
            basis="tested",
            edits=True,
        ),
        Remedy(
            id="cudagraphs",
            text="Capture the calls in a CUDA graph.",
            when="GPU",
            applies=lambda data: data.is_gpu,
            code='model = torch.compile(model, mode="reduce-overhead")',
            proof="https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html",
        ),
        Remedy(
            id="combo-kernels",
            text="Let independent kernels run as one.",
            when="GPU",
            applies=lambda data: data.is_gpu,
            setting="torch._inductor.config.combo_kernels = True",
            since="2.6",
            basis="tested",
            proof="tests/advice/IND019/combo-kernels.py",
            knob=experiment.knob,
        ),
        Remedy(
            id="cpp-wrapper",
            text="Let the calls be made from C++ instead of Python.",
            when="CPU",
            applies=lambda data: not data.is_gpu and not data.members,
            setting="torch._inductor.config.cpp_wrapper = True",
            env="TORCHINDUCTOR_CPP_WRAPPER=1",
            proof="https://docs.pytorch.org/tutorials/unstable/inductor_cpp_wrapper_tutorial.html",
        ),
    )

    def check(
        self,
        modules: Table[OutputModule],
        *,
        recordings: Table[CudagraphRecording],
        graphs: Table[FxGraph],
    ) -> Iterator[Finding]:
        """Yield one finding about members of an ensemble, or the graph with most small kernels."""
        ensembles = [found for row in modules if (found := members(row))]
        alike = graphs.derived(siblings)
        if ensembles and not (alike.can_stack and not alike.is_shared):
            yield self._ensemble(max(ensembles, key=lambda one: len(one.steps)))
        else:
            yield from self._small_kernels(modules, graphs, replayed=len(recordings) > 0)

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to the modules that took so long to compile one by one."""
        if finding.data.get("siblings"):
            yield SIBLINGS

    def _ensemble(self, found: Members) -> Finding:
        count = len(found.steps)
        module = found.seen.record
        kernels = sum(1 for _ in module.kernel_calls())
        data = self.Data(small=0, kernels=kernels, elements=0, is_gpu=False, members=count)
        return self.finding(
            "members",
            title=f"{count} small layers of one shape ({found.shape}) read the same input, one by "
            "one",
            message="Each is a product of its own, so calling them is most of what they cost: 24 "
            "members of an ensemble took 4.5 ms one by one, and 0.9 ms as batched products, on one "
            "core.",
            severity=Severity.WARNING,
            count=count,
            evidence=[quote(found.seen, step) for step in found.steps[:MAX_QUOTED]],
            advice=self.advise(data),
            data=data,
        )

    def _small_kernels(
        self, modules: Table[OutputModule], graphs: Table[FxGraph], *, replayed: bool
    ) -> Iterator[Finding]:
        small = [call for row in modules for call in _small(row)]
        if not small:
            return
        found = heaviest(small, lambda call: id(call.seen), lambda _: 1)
        if len(found) < MANY:
            return
        row = found[0].seen
        total = sum(1 for _ in row.record.kernel_calls())
        most = max(call.elements for call in found)
        gpu = row.record.device not in {"cpu", ""}
        # Inductor cuts a graph into partitions only where they are recorded (2.9 and later).
        cut = any(
            isinstance(step.code, Function) and step.code.function.startswith("partition_")
            for step in row.record.steps
        )
        recorded = gpu and (cut or replayed)
        alike = _siblings(graphs) if not gpu else None
        data = self.Data(
            small=len(found),
            kernels=total,
            elements=most,
            is_gpu=gpu,
            siblings=alike.number if alike else 0,
            modules=alike.list if alike else "",
        )
        yield self.finding(
            "calls",
            title=f"one graph calls {len(found)} small kernels"
            + (f" for {alike.number} modules of the same parts, one by one" if alike else ""),
            message=(
                f"{len(found)} of {total} kernel calls go over {most:,} elements or less, so "
                + (
                    "launching them is most of what they cost."
                    if gpu
                    else "calling them may take as long as what they compute."
                )
                + (
                    f" None of the modules of `{alike.held}` needs what another computes."
                    if alike
                    else ""
                )
            ),
            severity=Severity.WARNING if alike else None,
            harmless=_RECORDED if recorded else None,
            evidence=[
                quote(call.seen, call.step, f"{call.elements:,} elements")
                for call in found[:MAX_QUOTED]
            ],
            advice=[] if recorded else self.advise(data),
            data=data,
        )


def _siblings(graphs: Table[FxGraph]) -> Siblings | None:
    """Return modules that one call can compute; None where there are none."""
    found = graphs.derived(siblings)
    return found if found.can_stack else None


def _small(row: Seen[OutputModule]) -> Iterator[_Small]:
    flow = row.record.flow
    least = SMALL_ON_CPU if row.record.device in {"cpu", ""} else SMALL
    for step, call in row.record.kernel_calls():
        kernel = row.record.kernels.get(call.kernel)
        if kernel is None or kernel.is_template:
            continue
        counts = [content.count for content in (*flow.operands(step), *flow.results(step))]
        known = [count for count in counts if count is not None]
        if known and len(known) == len(counts) and max(known) < least:
            yield _Small(row, step, max(known))
