"""What TRC006 finds, and what it advises: by what is waited for."""

from __future__ import annotations

from tracelens.remedies import Remedy
from tracelens.report import FindingData

__all__ = ["ONE_BY_ONE", "REMEDIES", "Waiting"]

#: Results that are read per step from which on they are read one by one.
ONE_BY_ONE = 10


class Waiting(FindingData):
    """Waits for the device, and what comes of them."""

    waits: int
    idle_after_ms: float
    loading_ms: float
    start_ms: float
    #: The frames of the program after which most idle time comes.
    frames: tuple[str, ...]
    #: Nothing reads results, and copies from pageable memory are as many as half the waits.
    copies_wait: bool = False
    #: What most idle time comes after: ``sizes``, ``reads``, ``copies``, ``events``, ``calls``;
    #: empty where that is unknown.
    after: str = ""
    #: Results that are read per step.
    reads: float = 0.0
    #: Share of the idle time that comes after waits, where they are many and what follows is short.
    of_idle: float = 0.0
    #: Of the idle time, for how long the host called no operator, where that is most of it: Python.
    python_ms: float = 0.0
    #: Whether each node of the backward pass is looked at for NaN.
    anomaly: bool = False


REMEDIES = (
    Remedy(
        id="anomaly",
        text="`detect_anomaly` looks at what each node of the backward pass returns, and waits "
        "for the answer: switch it off, but to look for where NaN comes from.",
        code="torch.autograd.set_detect_anomaly(False)",
        when="each node of the backward pass is looked at for NaN",
        applies=lambda data: data.anomaly,
        proof="https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection",
    ),
    Remedy(
        id="find",
        text="Find the lines.",
        code='torch.cuda.set_sync_debug_mode("warn")',
        when="the trace has no stacks",
        applies=lambda data: not (data.frames or data.anomaly or data.python_ms),
        proof="https://docs.pytorch.org/docs/stable/generated/torch.cuda.set_sync_debug_mode.html",
    ),
    Remedy(
        id="python",
        text="See which line it is: record again with stacks. What works on results (boxes, "
        "masks, text) may be for the device, for another thread or process beside the next "
        "batch, or for the end.",
        code="torch.profiler.profile(with_stack=True)",
        when="the host runs Python for most of that time, and calls no operator",
        applies=lambda data: data.python_ms > 0,
        proof="https://docs.pytorch.org/docs/stable/profiler.html",
    ),
    Remedy(
        id="copies",
        text="Each copy from pageable memory waits: make small tensors on the device, once; "
        "let the DataLoader pin batches (pin_memory=True), and copy these without waiting. To "
        "pin right before the copy takes as long as waiting.",
        code="batch.to(device, non_blocking=True)",
        when="copies to the device wait, and nothing reads results",
        applies=lambda data: data.copies_wait and not data.python_ms,
        proof="https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
    ),
    Remedy(
        id="sizes",
        text="A result whose size depends on the data (`x[mask]`, `nonzero()`) waits for that "
        "size. Keep sizes as they are, or find all of them with one wait, as by sorting once.",
        code="x = torch.where(mask, x, 0)",
        when="sizes that depend on the data are waited for",
        applies=lambda data: data.after == "sizes" and not data.python_ms,
        basis="untestable",
        proof="it depends on what is selected",
    ),
    Remedy(
        id="once",
        text="Stack the results of a step, and read them at once.",
        code="values = torch.stack(results).tolist()",
        when="many results are read in a step",
        applies=lambda data: (
            data.after == "reads"
            and data.reads >= ONE_BY_ONE
            and not (data.anomaly or data.python_ms)
        ),
        proof="https://docs.pytorch.org/docs/stable/generated/torch.Tensor.tolist.html",
    ),
    Remedy(
        id="back",
        text="Each copy to the host waits until it is there, unless it is told not to. What "
        "decides about sizes on the host (counts, lengths, split sizes) can stay on the device "
        "where the sizes have an upper limit; else put all of it in one tensor, and copy once.",
        code="counts = torch.cat([sent, received]).tolist()  # one copy instead of two",
        when="tensors are copied to the host, and nothing reads single results",
        applies=lambda data: data.after == "copies" and not (data.anomaly or data.python_ms),
        proof="https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
    ),
    Remedy(
        id="events",
        text="Events that measure time need no wait in the step: wait once, after the loop, "
        "and read the times then. One that says when a copied result is there has to be "
        "waited for: a step later, the wait is short.",
        code="torch.cuda.synchronize(); ms = start.elapsed_time(end)  # after the loop",
        when="events are waited for",
        applies=lambda data: data.after == "events" and not data.python_ms,
        proof="https://docs.pytorch.org/docs/stable/generated/torch.cuda.Event.html",
    ),
    Remedy(
        id="calls",
        text="Leave `torch.cuda.synchronize()` out of the step. To measure time, record "
        "events, and wait once, after the loop.",
        code="start.record(); ...; end.record()\n"
        "torch.cuda.synchronize(); ms = start.elapsed_time(end)  # after the loop",
        when="the program waits for the whole device by itself",
        applies=lambda data: data.after == "calls" and not data.python_ms,
        proof="https://docs.pytorch.org/docs/stable/generated/torch.cuda.Event.html",
    ),
    Remedy(
        id="rarely",
        text="Read results every N steps only.",
        code="if step % 100 == 0: print(loss.item())",
        when="results are read, or the trace does not say what waits",
        applies=lambda data: (
            not (data.copies_wait or data.anomaly or data.python_ms)
            and data.after not in {"sizes", "events", "calls", "copies"}
        ),
        proof="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    ),
)
