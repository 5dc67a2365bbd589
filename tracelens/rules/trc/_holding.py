"""What TRC024 finds, and what it advises: by what the host does."""

from __future__ import annotations

from tracelens.remedies import Remedy
from tracelens.report import FindingData
from tracelens.rules.trc._parallel import is_replicating
from tracelens.traces.host_work import Work

__all__ = ["BACKWARD", "GARBAGE", "REMEDIES", "WAITS", "Holding", "Known", "doing"]

#: What takes the time, where it is neither the program's nor torch's: see ``own_frames.called``.
GARBAGE = "gc.collect"
WAITS = frozenset({"acquire", "wait"})
BACKWARD = "run_backward"
#: What makes a tensor of numbers, one by one.
FROM_LISTS = frozenset({"tensor", "as_tensor"})

_TUNING = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"


#: Milliseconds, gaps, whether results are copied as often, and whether there are CUDA graphs.
Known = tuple[float, int, bool, bool]


class Holding(FindingData):
    """What holds the device up."""

    frame: str
    operator: str
    ms: float
    gaps: int
    of_ms: float
    #: Share of the time in which the host is late.
    of_late: float
    #: Whether it is the CPU that computes.
    on_cpu: bool = False
    #: What kind of work it is.
    work: Work = Work.OWN
    #: Whether it is memory of the host that is taken, where it is memory.
    pinned: bool = False
    #: The function written in C that takes the time, as far as it is known.
    called: str = ""
    #: The compiled frame between whose graphs it is, ``0/0``; or empty.
    region: str = ""
    #: Whether the program has CUDA graphs already.
    graphed: bool = False
    #: Whether results are copied to the host about as often as it holds the device up.
    results: bool = False


#: What is done for each step.
_NO_REPORTS = {
    *(Work.COMPUTES, Work.PREPARES, Work.STARTS, Work.ENVIRONMENT, Work.REQUESTS, Work.MODEL),
    Work.REMOTE,
}


def _workers(data: Holding) -> str:
    """Return where preparing batches belongs, or where it would if that is what the line does."""
    if data.work == Work.PREPARES:
        return "Move it to where batches are prepared: the workers of the DataLoader."
    return "If it prepares the next batch, move it to the workers of the DataLoader."


def _lock(data: Holding) -> str:
    """Return what to do about the thread that is waited for."""
    held = "let other threads hold it only while they must: sleep, read and compute outside of it."
    if data.called in WAITS:
        return (
            "Make faster what the other thread does, or let several do it: it fills the queue, or "
            f"holds the lock, that is waited for. If it is a lock, {held}"
        )
    return f"If it waits for a lock, {held}"


def _computed(data: Holding) -> str:
    """Return where tensors belong that are computed on the CPU."""
    return (
        f"Make on the GPU what `{data.operator}` and the operators around it compute on the CPU; "
        "or, if it is the same each time, make it once and keep it."
    )


def _replicates(data: Holding) -> bool:
    return not data.on_cpu and is_replicating(data.frame.rpartition("(")[0])


def _launches(data: Holding) -> bool:
    """Tell whether it is a model on the way to its launches, as far as the trace shows."""
    return data.work == Work.MODEL and not (data.results or data.called)


def _may_be_anything(data: Holding) -> bool:
    """Tell whether nothing is known of a line but whose it is."""
    return data.work == Work.OWN and not data.region


REMEDIES = (
    Remedy(
        id="on-results",
        text="If it works on results that were copied to the host (the choice of the next token, "
        "metrics, masks): compute that on the device, and copy less.",
        code="token = torch.multinomial(probs, 1)  # on the device that computed them",
        when="results are copied to the host as often as a line of the program holds the device up",
        applies=lambda data: (
            data.results
            and data.work in {Work.OWN, Work.MODEL}
            and bool(data.frame)
            and not data.called
        ),
        proof=_TUNING,
    ),
    Remedy(
        id="before",
        text="Compute it before the compiled function is called, with the batch, and give that "
        "the result; or write it with tensors, which compile.",
        code="ids = merge(batch)  # in the Dataset, or before the call\noutput = compiled(ids)",
        when="Python runs between the graphs of a compiled function, and takes long",
        applies=lambda data: bool(data.region) and data.called not in WAITS | {GARBAGE},
        basis="untestable",
        proof="it depends on what the line does",
    ),
    Remedy(
        id="from-lists",
        text="It reads lists number by number, also those of arrays: make one array first, or keep "
        "the data in one.",
        code="x = torch.from_numpy(numpy.stack(arrays))",
        when="a tensor is made of lists on the CPU, and that takes long",
        applies=lambda data: data.on_cpu and data.called in FROM_LISTS,
        proof="https://docs.pytorch.org/docs/stable/generated/torch.from_numpy.html",
    ),
    Remedy(
        id="stay",
        text="Let the workers stay from one epoch to the next.",
        code="DataLoader(dataset, num_workers=4, persistent_workers=True)",
        when="workers of a DataLoader are started",
        applies=lambda data: data.work == Work.STARTS,
        proof="https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader",
    ),
    Remedy(
        id="workers",
        text=_workers,
        code="DataLoader(dataset, num_workers=4, collate_fn=prepare)",
        when="the work prepares the next batch, or a line of the program may",
        applies=lambda data: (
            data.called not in WAITS
            and (
                data.work == Work.PREPARES
                or (_may_be_anything(data) and bool(data.frame) and not data.called)
            )
        ),
        proof=_TUNING,
    ),
    Remedy(
        id="environments",
        text="Step the environments in processes of their own, or in one that computes all of "
        "them with arrays; or choose actions for one half of them while the other half steps.",
        code="envs = gymnasium.vector.AsyncVectorEnv(makers)",
        when="environments are stepped in Python",
        applies=lambda data: data.work == Work.ENVIRONMENT,
        proof="https://gymnasium.farama.org/api/vector/async_vector_env/",
    ),
    Remedy(
        id="requests",
        text="Where no request has come there is nothing to mend: record while enough of them "
        "wait. Else receive them on another thread, and take all that have come as one batch.",
        when="a function that waits for requests, by its name",
        applies=lambda data: data.work == Work.REQUESTS,
        basis="untestable",
        proof="it depends on who sends them",
    ),
    Remedy(
        id="on-device",
        text="Draw the random numbers on the device that uses them.",
        code='torch.randn(size, device="cuda")',
        when="an operator that draws random numbers, for a GPU",
        applies=lambda data: not data.on_cpu and data.work == Work.RANDOM,
        proof="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"
        "#create-tensors-directly-on-the-target-device",
    ),
    Remedy(
        id="computed-on-device",
        text=_computed,
        code='torch.arange(512, device="cuda")  # not torch.arange(512).to("cuda")',
        when="operators of a line of the program compute on the CPU, while a GPU waits",
        applies=lambda data: not data.on_cpu and data.work == Work.COMPUTES,
        proof="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"
        "#create-tensors-directly-on-the-target-device",
    ),
    Remedy(
        id="optimizer-on-device",
        text="Where memory allows, keep the optimizer's state on the GPU: sharded over more ranks, "
        "or in 8 bits. Else let it run less often, on the gradients of several batches, and copy "
        "while the backward pass goes on (`overlap_comm` of DeepSpeed).",
        code='{"zero_optimization": {"stage": 2, "overlap_comm": True}}  # no offload_optimizer',
        when="an optimizer computes on the host, for a model on a GPU",
        applies=lambda data: not data.on_cpu and data.work == Work.UPDATES,
        proof="https://www.deepspeed.ai/docs/config-json/",
    ),
    Remedy(
        id="broadcast-buffers",
        text="DistributedDataParallel sends the buffers of rank 0 to all before each forward. "
        "Leave that out where ranks may keep statistics of their own, or where `SyncBatchNorm` "
        "makes them alike.",
        code="DistributedDataParallel(model, broadcast_buffers=False)",
        when="many small tensors are made one, and taken apart, for a collective",
        applies=lambda data: data.work == Work.BUFFERS,
        proof="https://docs.pytorch.org/docs/stable/generated/"
        "torch.nn.parallel.DistributedDataParallel.html",
    ),
    Remedy(
        id="caching",
        text="Let PyTorch keep the memory that it took: unset what turns its allocator's cache "
        "off, and call `torch.cuda.empty_cache()` in no step.",
        code="unset PYTORCH_NO_CUDA_MEMORY_CACHING PYTORCH_NO_HIP_MEMORY_CACHING",
        when="memory of the device is given back again and again",
        applies=lambda data: data.work == Work.MEMORY and not data.pinned,
        proof="https://docs.pytorch.org/docs/2.13/notes/cuda.html#memory-management",
    ),
    Remedy(
        id="pin-once",
        text="Pin a buffer once, and copy each batch into it.",
        code="buffer = torch.empty_like(batch, pin_memory=True)  # once\n"
        "buffer.copy_(batch)  # in each step",
        when="memory of the host is pinned again and again",
        applies=lambda data: data.work == Work.MEMORY and data.pinned,
        proof="https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
    ),
    Remedy(
        id="ddp",
        text="Use `DistributedDataParallel`, one process for each GPU: `nn.DataParallel` copies "
        "the model to all of them, and launches for all, in one Python.",
        code="model = DistributedDataParallel(model.to(rank), device_ids=[rank])",
        when="`nn.DataParallel` holds devices up",
        applies=_replicates,
        proof="https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html",
    ),
    Remedy(
        id="graph",
        text="Where shapes stay the same, record the step as a CUDA graph: replayed, it needs "
        "none of this work. If it is so in the first step only, record a later one.",
        code='model = torch.compile(model, mode="reduce-overhead")',
        when="a library or a model that launches kernels, prepares no batches, and has no graphs",
        applies=lambda data: (
            not (data.on_cpu or data.graphed)
            and (data.work == Work.LIBRARY or _launches(data))
            and not _replicates(data)
        ),
        since="2.0",
        proof="https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html",
    ),
    Remedy(
        id="garbage",
        text="Leave it out: Python collects garbage by itself. What stays for the whole run is not "
        "looked at again once it is frozen.",
        code="gc.freeze()  # once, before the loop",
        when="garbage is collected in the step",
        applies=lambda data: data.called == GARBAGE,
        proof="https://docs.python.org/3/library/gc.html#gc.freeze",
    ),
    Remedy(
        id="rarely",
        text="Do it every N steps only, if it reports or saves.",
        code="if step % 100 == 0: report()",
        when="what logs or saves, or a line of the program: it may",
        applies=lambda data: (
            bool(data.frame)
            and data.called not in WAITS
            and data.work in ({*Work} - _NO_REPORTS if data.on_cpu else {Work.OWN, Work.REPORTS})
            and (data.work == Work.REPORTS or not data.region)
        ),
        basis="untestable",
        proof="it depends on what the line does",
    ),
    Remedy(
        id="lock",
        text=_lock,
        when="a line of the program, on the CPU, that waits or may",
        applies=lambda data: (
            bool(data.frame)
            and data.on_cpu
            and (data.called in WAITS or (_may_be_anything(data) and not data.called))
        ),
        basis="untestable",
        proof="it depends on what the line does",
    ),
    Remedy(
        id="remote",
        text="See what the process that is called does meanwhile: record it, too. Values that are "
        "used there need not come back, and calls that do not need each other can all be begun "
        "before the first is waited for.",
        code="with torch.profiler.profile() as prof: ...  # in the process that is called",
        when="another process is waited for, in a call of `torch.distributed.rpc`",
        applies=lambda data: data.work == Work.REMOTE,
        proof="https://docs.pytorch.org/docs/stable/rpc.html",
    ),
    Remedy(
        id="stacks",
        text="Record again with stacks: they name the line of Python.",
        code="torch.profiler.profile(with_stack=True)",
        when="the trace names no line",
        applies=lambda data: (
            not data.frame
            and data.work != Work.REMOTE
            and (data.on_cpu or data.work in {Work.OWN, Work.OPERATOR})
        ),
        proof="https://docs.pytorch.org/docs/stable/profiler.html",
    ),
)


_DOING = {
    Work.MODEL: (
        "A module is called meanwhile: between its operators Python runs, tensors are let go of, "
        "or it waits."
    ),
    Work.REPORTS: "It logs, shows or saves something.",
    Work.PREPARES: "It prepares data.",
    Work.STARTS: "It starts workers of a DataLoader, or waits until they have stopped.",
    Work.UPDATES: "The optimizer computes there.",
    Work.ENVIRONMENT: "It steps environments.",
    Work.REQUESTS: "By its name it waits for requests.",
    Work.REMOTE: (
        "Another process computes, and its answer is waited for: what it does is not to be seen "
        "here."
    ),
}


def doing(data: Holding) -> str:
    """Say what can be known of what a line does."""
    if data.called == GARBAGE:
        return "Python looks there for objects that nothing refers to."
    if data.called in WAITS:
        return "It waits there for another thread."
    if data.region:
        return (
            f"It runs beside the graphs of the compiled frame `{data.region}`, which ends a graph "
            "for it: a graph break, or `torch.compiler.disable`."
        )
    return _DOING.get(
        data.work,
        "It waits there, for a lock, a file or another thread, or computes without torch.",
    )
