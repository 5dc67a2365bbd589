"""What TRC002 finds, and what it advises: by what is launched, or called."""

from __future__ import annotations

from tracelens.evidence import Seen, Table
from tracelens.logs.chrome_trace import BackwardNode, Operator, OptimizerCall, PythonFunction
from tracelens.remedies import Remedy
from tracelens.report import FindingData
from tracelens.rules.trc._rounds import LOOPS
from tracelens.rules.trc._small import backward_passes
from tracelens.traces.host_work import Work, work_of
from tracelens.traces.runs import Run
from tracelens.traces.views import View, generated

__all__ = [
    "REMEDIES",
    "Launches",
    "beside",
    "changed_in_place",
    "in_long_gaps",
    "norms_one_by_one",
    "passes_of",
    "samples_one_by_one",
    "sized",
]

#: Operators that take the norm of one tensor, and how many in a step are those of gradients.
_NORMS = frozenset({"linalg_vector_norm", "norm"})
#: Operators that change one tensor in place.
_IN_PLACE = frozenset({"add_", "copy_", "div_", "lerp_", "mul_", "sub_"})
#: Part of what is launched from which on they are most of it.
MOST = 0.5
#: What a norm leaves for the backward pass if it is of the model: those of gradients leave nothing.
_OF_MODEL = ("LinalgVectorNormBackward", "NormBackward")
MANY_NORMS = 100


class Launches(FindingData):
    """How much is launched, and how long the device waits for it."""

    kernels: int
    launches: int
    late_ms: float
    window_ms: float
    compiled: bool
    on_cpu: bool = False
    #: Single elements that are read, where that is most of what is called.
    reads: int = 0
    #: Results whose size depends on the data: on the CPU, in a loop; on a GPU, per step.
    sizing: int = 0
    #: Results of many tensors that are read one by one, among other operators.
    stacked: int = 0
    #: On the CPU: single elements or rows that are selected, where that is much of what is called.
    selected: int = 0
    #: On the CPU: products and convolutions of one sample, where nearly all are, in each step.
    singles: int = 0
    #: On the CPU: small products of one row each, where nearly all are such.
    rows: int = 0
    #: Backward passes of each step, where they are many.
    passes: int = 0
    #: On the CPU: whether they are the steps of a recurrent module.
    recurrent: bool = False
    #: On the CPU: whether most of it is where samples are made, in the program's own process.
    loading: bool = False
    #: Norms that are taken of one tensor at a time, per step, where these are many of the kernels.
    norms: int = 0
    #: Whether CUDA graphs may be advised.
    graphs: bool = True
    #: On a GPU: calls per step of a function that prepares samples, and has most of the time.
    samples: int = 0
    #: Whether ``nn.DataParallel`` launches for all devices, in one process.
    replicas: bool = False
    #: Cells of recurrent modules that are called one by one, on a GPU or the CPU.
    cells: int = 0
    #: Operators that change one tensor in place, where most of what is launched are such.
    in_place: int = 0
    #: On a GPU: rounds of a loop in each step, where they launch most.
    rounds: int = 0
    #: On a GPU: numbers that Python reads in each step, where they are many.
    numbers: int = 0


REMEDIES = (
    Remedy(
        id="ddp",
        text="Use `DistributedDataParallel`, one process for each GPU (`torchrun "
        "--nproc-per-node=gpu`): `nn.DataParallel` launches for all of them from threads of one "
        "Python, that take turns, and copies the model in each step.",
        when="`nn.DataParallel` launches for all devices",
        applies=lambda data: data.replicas,
        code="model = DistributedDataParallel(model.to(rank), device_ids=[rank])",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html",
    ),
    Remedy(
        id="samples",
        text="Prepare a whole batch at once, not each of its samples: operators take tensors with "
        "one more side, and launch as much for all as for one.",
        when="a function that prepares data, by its name, is called for each sample, on a GPU",
        applies=lambda data: data.samples > 0 and not data.replicas,
        code="images = augment(torch.stack(images))  # with random numbers for each image",
        basis="untestable",
        proof="it depends on the function",
    ),
    Remedy(
        id="recurrent",
        text=lambda data: (
            "Where a step needs nothing but the one before, give the whole sequence to the module: "
            + ("the CPU" if data.on_cpu else "for it cuDNN or MIOpen")
            + (" multiplies all inputs at once." if data.on_cpu else " launches a few kernels.")
        ),
        code="output, state = torch.nn.LSTM(width, width)(sequence)",
        when="cells of a recurrent module are called one by one",
        applies=lambda data: data.cells > 0,
        proof="https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html",
    ),
    Remedy(
        id="norms",
        text="Take the norms of all gradients in a few calls: `clip_grad_norm_` does, unless it is "
        "told `foreach=False`.",
        code="norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm, foreach=True)",
        when="norms are taken of many tensors, one by one",
        applies=lambda data: data.norms > 0,
        since="2.0",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html",
    ),
    Remedy(
        id="passes",
        text="Gradients that are only added up come from one pass, of the loss of the whole batch, "
        "or of parts as large as memory allows. Those of each sample are computed at once by "
        "`torch.func.vmap` over `torch.func.grad`, a Jacobian by `torch.func.jacrev`.",
        when="a step has many backward passes",
        applies=lambda data: data.passes > 0,
        code="each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))\n"
        "gradients = each(parameters, inputs, targets)  # loss: of one sample",
        since="2.0",
        proof="https://docs.pytorch.org/tutorials/intermediate/per_sample_grads.html",
    ),
    Remedy(
        id="sequences",
        text="Give the recurrent module several sequences at once: each of its steps then takes "
        "hardly longer than for one. Lengths may differ: `pack_padded_sequence`. "
        "`torch.compile` leaves it as it is.",
        when="a recurrent module on the CPU takes its steps one by one",
        applies=lambda data: data.recurrent and not data.passes,
        code="batch = torch.nn.utils.rnn.pad_sequence(sequences, batch_first=True)\n"
        "output, state = rnn(batch)  # batch_first=True",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.nn.GRU.html",
    ),
    Remedy(
        id="batch",
        text="Give the model all samples at once, not one after the other; gradients of each "
        "sample come from `torch.func.vmap` over `torch.func.grad`.",
        when="products and convolutions are of one sample each, again and again",
        applies=lambda data: data.singles > 0 and not data.passes,
        code="y = model(torch.stack(samples))",
        since="2.0",
        proof="https://docs.pytorch.org/tutorials/intermediate/per_sample_grads.html",
    ),
    Remedy(
        id="rows",
        text="Give the model several samples at once, which takes hardly longer than one: of a "
        "rollout the observations of several environments, of a sequence several sequences.",
        when="small products of one row each run many times on the CPU",
        applies=lambda data: data.rows > 0 and not (data.singles or data.passes or data.recurrent),
        code="actions = policy(torch.stack(observations))",
        proof="https://gymnasium.farama.org/api/vector/",
    ),
    Remedy(
        id="vectorize",
        text="Where no element needs the result of the one before, compute on whole tensors, not "
        "in a loop; what is written for one, `torch.vmap` does for all, if it branches on no "
        "value.",
        when="a loop on the CPU selects one row or element after the other",
        applies=lambda data: (
            data.selected > 0
            and not (data.reads or data.singles or data.sizing)
            and not (data.passes or data.recurrent)
        ),
        code="y = torch.vmap(function)(x)",
        since="2.0",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.vmap.html",
    ),
    *LOOPS,
    Remedy(
        id="compile",
        text=lambda data: "Fuse the operators." if data.on_cpu else "Fuse the kernels.",
        code="model = torch.compile(model)",
        when="nothing is compiled yet",
        applies=lambda data: (
            not (data.compiled or data.reads or data.sizing or data.stacked or data.in_place)
            and not (data.passes or data.recurrent or data.replicas or data.samples)
            and not (data.loading or data.cells or data.rounds)  # compiled, a loop is unrolled
        ),
        since="2.0",
        proof="https://docs.pytorch.org/docs/stable/torch.compiler.html",
    ),
    Remedy(
        id="loading",
        text="They are called where samples are made, not in the model, which need not be "
        "compiled for them. Let processes of their own make samples; what is written with fewer "
        "calls, on whole tensors, takes these less time, too.",
        code="DataLoader(dataset, num_workers=4, persistent_workers=True)",
        when="most of the operators are called by the data set, in the process of the program",
        applies=lambda data: data.loading,
        proof="https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading",
    ),
    Remedy(
        id="at-once",
        text="Read all elements at once and go on with Python's numbers, or compute on whole "
        "tensors.",
        when="single elements are read in a loop",
        applies=lambda data: data.reads > 0,
        code="values = tensor.tolist()",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.Tensor.tolist.html",
    ),
    Remedy(
        id="stack",
        text="Compute the results of all tensors, stack them, and read them at once; for norms "
        "of gradients `torch.nn.utils.clip_grad_norm_` does that.",
        when="results of many tensors are read one by one",
        applies=lambda data: data.stacked > 0,
        code="values = torch.stack(torch._foreach_norm(tensors)).tolist()",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html",
    ),
    Remedy(
        id="sorted",
        text="Where each row belongs to one place of the loop, or to a few (experts): sort "
        "rows by it once, and give each place its part.",
        when="a loop on the CPU selects by masks",
        applies=lambda data: data.on_cpu and data.sizing > 0 and not (data.reads or data.passes),
        code="order = index.flatten().argsort()  # index: rows x 1, or x k, of experts\n"
        "rows = order // index.shape[-1]\n"
        "sizes = index.flatten().bincount(minlength=len(experts)).tolist()\n"
        "y = torch.cat([expert(x) for expert, x in zip(experts, tokens[rows].split(sizes))])\n"
        "out = torch.zeros_like(tokens).index_add(0, rows, y * weight.flatten()[order, None])",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.Tensor.split.html",
    ),
    Remedy(
        id="whole",
        text="Results whose size depends on the data (`x[mask]`, `nonzero()`) end a compiled "
        "graph each time. Compute all steps of the loop on whole tensors, or keep sizes as "
        "they are.",
        when="many results are as large as the data says",
        applies=lambda data: data.sizing > 0 and not data.reads,
        code="x = torch.where(mask, x, 0)",
        basis="untestable",
        proof="it depends on what the loop does",
    ),
    Remedy(
        id="lists",
        text="What changes one tensor at a time, for all parameters, is a call for each: the "
        "`_foreach` forms take all of them in a few. For an average of the weights, "
        "`AveragedModel` does so.",
        code="swa_utils = torch.optim.swa_utils\n"
        "ema = swa_utils.AveragedModel(model, "
        "multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.999))",
        when="most of what is launched changes one tensor in place",
        applies=lambda data: data.in_place > 0 and not data.norms,
        since="2.1",
        proof="https://docs.pytorch.org/docs/stable/optim.html#weight-averaging-swa-and-ema",
    ),
    Remedy(
        id="graph",
        text="Launch them as one CUDA graph, if sizes stay the same from step to step: each "
        "new one is recorded anew.",
        code='torch.compile(model, mode="reduce-overhead")',
        when="they run on a GPU; not a loop, nor what Python decides by many numbers",
        applies=lambda data: (
            data.graphs
            and not (data.on_cpu or data.in_place or data.sizing or data.passes or data.replicas)
            and not (data.samples or data.cells or data.rounds)
            and (data.compiled or not data.numbers)
        ),
        since="2.0",
        proof="https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html",
    ),
)


def norms_one_by_one(
    operators: Table[Operator], nodes: Table[BackwardNode], source: str, steps: int
) -> int:
    """Return how many norms of gradients a step takes, one by one, where they are many; else 0.

    Without steps it is not known how many there are in each, nor in inference whose they are.
    """
    trained = [row for row in nodes.within(source) if not row.record.evaluated]
    taken = [row.count for row in operators.within(source) if row.record.op in _NORMS]
    if not (trained and taken and steps):
        return 0
    others = sum(row.count for row in trained if row.record.node.startswith(_OF_MODEL))
    each = (max(taken) - others) // steps
    return each if each >= MANY_NORMS else 0


def changed_in_place(
    operators: Table[Operator], source: str, launches: float, optimizing: float
) -> int:
    """Return how many operators change a tensor in place, beside those of optimizers.

    0 where they are less than half of what is launched.
    """
    rows = operators.within(source)
    changed = sum(row.count for row in rows if row.record.op in _IN_PLACE) - int(optimizing)
    return changed if changed >= MOST * launches > 0 else 0


#: Operators whose result is as large as the data says; how many in a step are many, and among how
#: many launches.
SIZED = frozenset({"nonzero", "masked_select", "unique_dim", "_unique2"})
MANY_SIZES = 10
MAX_BETWEEN = 200


def sized(operators: Table[Operator], source: str, steps: int, launches: float) -> int:
    """Return how many results of a step are as large as the data says, where they are many."""
    count = sum(row.count for row in operators.within(source) if row.record.op in SIZED)
    each = count // max(1, steps)
    return each if each >= MANY_SIZES and MAX_BETWEEN * count >= launches else 0


def beside(data: Launches) -> str:
    """Say what of the launches is known, where that has advice of its own."""
    told = ""
    if data.passes:
        told += f" {data.passes:,} backward passes run in each step, one after the other."
    if data.sizing:
        told += f" {data.sizing:,} times it is asked how large a result is (`x[mask]`)."
    if data.cells:
        told += f" {data.cells:,} cells of recurrent modules are called."
    elif data.rounds:
        told += f" Most of them are a loop: several operators run {data.rounds:,} times each."
    if data.numbers:
        told += f" {data.numbers:,} numbers are read from the GPU, by which Python goes on."
    return told


def passes_of(
    run: Run,
    operators: Table[Operator],
    nodes: Table[BackwardNode],
    optimizers: Table[OptimizerCall],
) -> int:
    """Return how many backward passes each step has, of the trace or of the optimizer."""
    source = run.window.first.input
    updates = sum(row.count for row in optimizers.within(source) if row.record.call == "step")
    called = {str(row.record): row.count for row in operators.within(source)}
    evaluated = {row.count for row in nodes.within(source) if row.record.evaluated}
    return backward_passes(called, evaluated, max(updates, len(run.all_steps)))


def in_long_gaps(view: View) -> float:
    """Return the time in gaps that some line of Python is to blame for, in the steady steps."""
    rows = [row for row in view.held if row.cause == "not_launched" and not generated(row.frame)]
    places: dict[str, float] = {}
    for row in rows:
        place = row.user_frame or row.operator
        places[place] = places.get(place, 0.0) + (row.ms if place else 0.0)
    # A launch takes a tenth of such a gap: one place that has most of them does something else.
    one = max(places, key=lambda place: places[place], default="")
    mostly = places.get(one, 0.0) >= MOST * view.late_ms
    return sum(
        row.ms if mostly and one in {row.user_frame, row.operator} else row.long_ms for row in rows
    )


#: Calls for each step from which on they are of single samples.
_SAMPLES = 16


def samples_one_by_one(line: Seen[PythonFunction] | None, steps: int) -> int:
    """Return how often a function that prepares data is called in each step, where that is often.

    Its name tells what it does; blocks of a model are called as often.
    """
    each = line.count // steps if line is not None and steps else 0
    if line is None or each < _SAMPLES:
        return 0
    work = work_of(f"program.py(1): {line.record.function}", "")
    return each if work == Work.PREPARES else 0
