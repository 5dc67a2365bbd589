"""What TRC016 finds, and what it advises: by what is exchanged, and who begins it."""

from __future__ import annotations

from tracelens.remedies import Remedy
from tracelens.report import FindingData
from tracelens.traces.measured import DeviceBusy, TraceHeader
from tracelens.words import length, plural

__all__ = ["REMEDIES", "Exposed", "not_waited_for", "ranks_of", "times_each"]


class Exposed(FindingData):
    """Collectives, and how much of them runs alone."""

    collective_ms: float
    exposed_ms: float
    of_ms: float
    #: Whether all-reduces are most of it.
    reduces: bool
    #: Whether all-to-alls, sends and receives are.
    exchanges: bool = False
    #: Whether all-gathers and reduce-scatters are.
    gathers: bool = False
    #: Messages that are small, where they are most of it.
    small: int = 0
    on_host: bool = False
    #: Whether DistributedDataParallel begins them.
    parallel: bool = False
    #: Whether the trace holds no operators: who begins the collectives is not in it.
    unseen: bool = False
    #: Passes of the model for each step of the optimizer, where they are several.
    passes: int = 0
    #: Of the critical path, where it is known: what there is to gain at most.
    path_ms: float | None = None
    #: Whether sends and receives are, as between the stages of a pipeline.
    stages: bool = False
    #: Whether SyncBatchNorm exchanges its sums: most of the small messages are its.
    norms: bool = False
    #: Whether the program looks rows up in embedding tables, as models for recommendations do.
    tables: bool = False
    #: Whether operators are in the trace, and none of a backward pass or an optimizer.
    infers: bool = False
    #: Whether ``nn.DataParallel`` begins them, in one process for all devices.
    replicas: bool = False
    #: Whether FSDP is in the trace; whether tensor parallelism is.
    fsdp: bool = False
    tensors: bool = False


def not_waited_for(device: DeviceBusy, most: float, n: int, steps: int) -> str:
    """Say why collectives cost little though they run alone, and how many there are."""
    each = f", {n / steps:,.0f} per step" if steps > 1 and n > steps else ""
    return (
        f"{plural(n, 'collective')}{each}, {length(device.collective_ms / n)} each on average; "
        f"they hold up the critical path for {length(most)} of {length(device.span_ms)}: the host "
        "is late meanwhile, or something else waits longer"
    )


def times_each(data: Exposed) -> str:
    """Say how often gradients are reduced, where that is more often than they are used."""
    each = "gradients are reduced {} times for each step of the optimizer: "
    return each.format(data.passes) if data.passes else ""


def ranks_of(header: TraceHeader) -> str:
    """Say how many ranks take part, where it is known."""
    return f" {header.world_size} ranks take part." if header.world_size else ""


REMEDIES = (
    Remedy(
        id="one-process-each",
        text="Use `DistributedDataParallel`, one process for each GPU (`torchrun "
        "--nproc-per-node=4 train.py`): weights stay where they are, and gradients are reduced "
        "while the backward pass goes on. To infer, load the model in each process.",
        when="`nn.DataParallel` copies the model to all devices in each step",
        applies=lambda data: data.replicas,
        code="model = DistributedDataParallel(model.to(rank), device_ids=[rank])",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html",
    ),
    Remedy(
        id="buckets",
        text=lambda data: (
            "If they carry gradients, reduce these in larger buckets: fewer messages."
            if data.small
            else "Try other sizes of the buckets that gradients are reduced in."
        ),
        when="DistributedDataParallel reduces gradients, once for each step",
        applies=lambda data: (
            data.reduces
            and (data.parallel or data.unseen)
            and not (data.passes or data.norms or data.infers)
        ),
        code="DistributedDataParallel(model, bucket_cap_mb=100)",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html",
    ),
    Remedy(
        id="during",
        text=lambda data: (
            f"If they carry gradients: {'put many into one message, ' if data.small else ''}"
            "begin each while the backward pass goes on, and wait before the optimizer's step. "
            "`DistributedDataParallel` does that."
        ),
        when="all-reduces on a device, or small ones on the host, which the program begins itself",
        applies=lambda data: (
            data.reduces
            and not (data.parallel or data.unseen or data.norms or data.infers)
            and (data.small > 0 or not data.on_host)
        ),
        code="model = DistributedDataParallel(model)",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html",
    ),
    Remedy(
        id="fewer-ranks",
        text="Nothing is differentiated: each layer waits for its parts on other ranks. Split it "
        "over fewer ranks, or compute more sequences in a step, whose messages take about the "
        "same time as long as they are small.",
        when="all-reduces on a device, and the trace has no backward pass",
        applies=lambda data: data.reduces and data.infers and not data.on_host,
        basis="untestable",
        proof="needs several GPUs",
    ),
    Remedy(
        id="prefetch",
        text="Start the exchange of the next batch while this one is computed.",
        when="all-to-alls take most of it, as in models with distributed embeddings",
        applies=lambda data: data.exchanges and data.tables and not data.on_host,
        code="torchrec.distributed.TrainPipelineSparseDist(model, optimizer, device)",
        proof="https://docs.pytorch.org/torchrec/concepts.html",
    ),
    Remedy(
        id="halves",
        text="Exchange one half of the tokens while the other is computed; what needs no exchange "
        "(a shared expert, the attention of another batch) can run meanwhile as well.",
        when="all-to-alls take most of it, in a program without embedding tables",
        applies=lambda data: data.exchanges and not (data.tables or data.stages or data.on_host),
        code="work = torch.distributed.all_to_all_single(out, tokens, async_op=True)\n"
        "...  # the other half\n"
        "work.wait()",
        proof="https://docs.pytorch.org/docs/stable/distributed.html",
    ),
    Remedy(
        id="stages",
        text="If stages of a pipeline wait for each other: cut batches into more pieces, and give "
        "each rank several shorter stages.",
        when="sends and receives take most of it",
        applies=lambda data: data.stages and not (data.tables or data.on_host),
        code="torch.distributed.pipelining.ScheduleInterleaved1F1B(stages, n_microbatches=32)",
        since="2.5",
        proof="https://docs.pytorch.org/docs/stable/distributed.pipelining.html",
    ),
    Remedy(
        id="norms",
        text="SyncBatchNorm waits for all ranks at each layer, forward and backward. Where a "
        "rank's own batch is large enough for statistics, leave it out; or normalize within "
        "samples, which needs no exchange.",
        when="SyncBatchNorm sends most of the messages",
        applies=lambda data: data.norms,
        basis="untestable",
        proof="it changes the model",
    ),
    Remedy(
        id="ahead",
        text="Where FSDP shards the model, gather the next layer while this one is computed; "
        "`fully_shard` has `set_modules_to_forward_prefetch` for it.",
        when="all-gathers and reduce-scatters take most of it, and FSDP may begin them",
        applies=lambda data: (
            data.gathers and (data.fsdp or data.unseen) and not (data.norms or data.on_host)
        ),
        code="FullyShardedDataParallel(model, forward_prefetch=True)",
        since="2.0",
        proof="https://docs.pytorch.org/docs/stable/fsdp.html",
    ),
    Remedy(
        id="async",
        text="Begin them without waiting, and wait where the result is used.",
        when="they run on the host, and the program begins them itself",
        applies=lambda data: data.on_host and not data.parallel,
        code="work = torch.distributed.all_reduce(tensor, async_op=True)",
        proof="https://docs.pytorch.org/docs/stable/distributed.html",
    ),
    Remedy(
        id="earlier",
        text="Where the program begins them itself: begin each as soon as its input is there "
        "(gradients while the backward pass goes on), and wait where the result is used.",
        when="gathers and scatters are most of it, and neither FSDP nor tensor parallelism is seen",
        applies=lambda data: (
            data.gathers
            and not (data.fsdp or data.tensors or data.unseen)
            and not (data.norms or data.on_host)
        ),
        code="work = torch.distributed.reduce_scatter_tensor(shard, gradient, async_op=True)\n"
        "...  # the rest of the backward pass\n"
        "work.wait()",
        proof="https://docs.pytorch.org/docs/stable/distributed.html",
    ),
    Remedy(
        id="accumulate",
        text="Accumulate the gradients of several batches, and reduce them once.",
        when="DistributedDataParallel begins them: on the host, or several times for each step",
        applies=lambda data: data.parallel and (data.on_host or data.passes > 1),
        code="with model.no_sync(): loss.backward()  # all batches of a step but the last",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html",
    ),
    Remedy(
        id="overlap",
        text="With tensor parallelism, overlap the collectives with the products around them.",
        when="gathers and scatters are most of it, and tensor parallelism may begin them",
        applies=lambda data: (
            data.gathers and (data.tensors or data.unseen) and not (data.norms or data.on_host)
        ),
        setting="torch._inductor.config._micro_pipeline_tp = True",
        since="2.5",
        proof="https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html",
    ),
)
