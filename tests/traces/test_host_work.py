"""What holds a device up, told by the line or operator: each kind has advice that fits it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_bounds import found
from tests.traces.writing import kernel, launch, op, span
from tracelens.rules.ind.unfused_epilogue import UnfusedEpilogue
from tracelens.rules.trc._holding import REMEDIES, Holding
from tracelens.traces.host_work import Work, work_of
from tracelens.traces.own_frames import mine


@pytest.mark.parametrize(
    ("frame", "operator", "kind", "advice"),
    [
        ("train.py(40): tokenize", "", "prepares", ["workers"]),
        ("proj/dataset.py(12): __getitem__", "", "prepares", ["workers"]),
        ("transformers/image_processing_vit.py(9): preprocess", "", "prepares", ["workers"]),
        ("/usr/lib/python3/dist-packages/PIL/Image.py(1): resize", "", "prepares", ["workers"]),
        ("train.py(40): check", "", "own", ["workers", "rarely"]),
        ("train.py(40): log_metrics", "", "reports", ["rarely"]),
        ("vllm/parameter.py(122): __torch_function__", "aten::addmm", "library", ["graph"]),
        ("/opt/site-packages/vllm/engine.py(3): step", "", "library", ["graph"]),
        ("/opt/site-packages/mylib/engine.py(3): step", "", "own", ["workers", "rarely"]),
        ("/opt/site-packages/wandb/sdk/wandb_run.py(17): _log", "", "reports", ["rarely"]),
        ("/usr/lib/python3.12/logging/__init__.py(9): emit", "", "reports", ["rarely"]),
        ("tqdm/std.py(1325): refresh", "", "reports", ["rarely"]),
        ("torch/serialization.py(600): save", "", "reports", ["rarely"]),
        ("torch/utils/checkpoint.py(6): checkpoint", "", "library", ["graph"]),
        ("torch/nn/functional.py(2): log_softmax", "", "library", ["graph"]),
        # What is parallel is no data, and where a project lies says nothing.
        ("torch/distributed/fsdp/sharded_data_parallel.py(8): forward", "", "library", ["graph"]),
        ("torch/nn/parallel/data_parallel.py(18): forward", "", "library", ["ddp"]),
        ("/data/ana/proj/train.py(10): forward", "", "own", ["workers", "rarely"]),
        ("C:\\data\\ana\\proj\\train.py(10): forward", "", "own", ["workers", "rarely"]),
        ("/home/ana/proj/data/images.py(10): resize", "", "prepares", ["workers"]),
        ("model.py(3): prepare_batch_norm", "", "own", ["workers", "rarely"]),
        ("model.py(3): next_batch_size", "", "own", ["workers", "rarely"]),
        ("train.py(3): next_batch", "", "prepares", ["workers"]),
        ("gymnasium/vector/sync_vector_env.py(226): step", "", "environment", ["environments"]),
        ("envs/warehouse.py(87): step", "", "environment", ["environments"]),
        ("train.py(87): environment_of", "", "own", ["workers", "rarely"]),
        ("serve.py(11): next_request", "", "requests", ["requests"]),
        ("serve.py(11): log_request", "", "own", ["workers", "rarely"]),
        ("train.py(40): step", "aten::normal_", "random", ["on-device"]),
        ("", "aten::randn", "random", ["on-device"]),
        ("", "aten::unflatten_dense_tensors", "buffers", ["broadcast-buffers"]),
        ("", "aten::nonzero", "operator", ["stacks"]),
    ],
)  # fmt: skip
def test_advice_fits_the_work(frame: str, operator: str, kind: str, advice: list[str]) -> None:
    work = work_of(frame, operator)
    assert work == Work(kind)
    data = Holding(
        frame=frame, operator=operator, ms=5.0, gaps=1, of_ms=9.0, of_late=0.5, work=work
    )
    assert [remedy.id for remedy in REMEDIES if remedy.applies(data)] == advice


@pytest.mark.parametrize(
    ("frame", "work", "advice"),
    [
        ("train.py(4): wait", Work.OWN, ["workers", "rarely", "lock"]),
        ("train.py(4): tokenize", Work.PREPARES, ["workers"]),
        ("train.py(4): save", Work.REPORTS, ["rarely"]),
        ("serve.py(4): next_request", Work.REQUESTS, ["requests"]),
        ("play.py(4): step_env", Work.ENVIRONMENT, ["environments"]),
        ("", Work.OWN, ["stacks"]),
    ],
)
def test_advice_on_the_cpu(frame: str, work: Work, advice: list[str]) -> None:
    data = Holding(
        frame=frame, operator="", ms=5.0, gaps=1, of_ms=9.0, of_late=0.0, on_cpu=True, work=work
    )
    assert [remedy.id for remedy in REMEDIES if remedy.applies(data)] == advice


def test_the_frame_of_the_program_is_none_of_torch() -> None:
    frames = [
        "torch/nn/modules/linear.py(130): forward",
        "torch/_dynamo/eval_frame.py(791): compile_wrapper",
        "train.py(7): forward",
    ]
    assert mine(frames) == "train.py(7): forward"


@pytest.mark.parametrize(
    ("frames", "own"),
    [
        (["threading.py(295): wait", "queue.py(154): get", "a.py(9): feed"], "a.py(9): feed"),
        (["numpy/fft/_pocketfft.py(49): _raw_fft", "a.py(3): mel"], "a.py(3): mel"),
        (["/opt/site-packages/PIL/Image.py(9): open", "train.py(9): load"], "train.py(9): load"),
        (["json/encoder.py(183): encode"], ""),
        # A class of the program, beside it; one of a package only forwards.
        (["tok.py(23): __call__", "train.py(9): step"], "tok.py(23): __call__"),
        (["kit/tok.py(23): __call__", "train.py(9): step"], "train.py(9): step"),
        # Names that programs give to their own files.
        (["profile.py(3): run", "train.py(9): step"], "profile.py(3): run"),
        (["/home/ana/proj/queue.py(3): run"], "/home/ana/proj/queue.py(3): run"),
        (["mynumpy/fft.py(3): run"], "mynumpy/fft.py(3): run"),
    ],
)  # fmt: skip
def test_the_line_is_no_librarys(frames: list[str], own: str) -> None:
    assert mine(frames) == own


@pytest.mark.parametrize(
    ("called", "advice"),
    [
        ("gc.collect", ["garbage", "rarely"]),
        ("acquire", ["lock"]),
        ("write", ["rarely"]),
        ("tensor", ["from-lists", "rarely"]),
    ],
)
def test_what_a_line_calls_says_what_to_do(called: str, advice: list[str]) -> None:
    data = Holding(
        frame="train.py(4): step", operator="", ms=5.0, gaps=1, of_ms=9.0, of_late=0.0,
        on_cpu=True, called=called,
    )  # fmt: skip
    assert [remedy.id for remedy in REMEDIES if remedy.applies(data)] == advice


@pytest.mark.parametrize(
    ("builtin", "told"),
    [
        ("<built-in function collect>", "`gc.collect`"),
        ("<built-in method acquire of _thread.lock object at 0x7f>", "`acquire`"),
        ("<built-in method collect of PyLazyFrame object at 0x7f>", "`collect`"),
    ],
)
def test_a_function_written_in_c_is_named(tmp_path: Path, builtin: str, told: str) -> None:
    """Of each step of 15 ms a line takes 10, and nearly all of that a call."""
    events = []
    for start in range(0, 75_000, 15_000):
        events.append(span("python_function", "train.py(4): step", start, 10_000.0))
        events.append(span("python_function", builtin, start + 5.0, 9_900.0))
        events.append(op("aten::mm", start + 10_000.0, 5_000.0))
    finding = found(tmp_path, events, with_stack=1)["TRC024"]
    assert f"most is in a call of {told}" in finding.message


@pytest.mark.parametrize(("cause", "told"), [("gpu", False), ("plain", True)])
def test_float16_on_a_gpu_is_not_advised_away(cause: str, told: bool) -> None:
    data = UnfusedEpilogue.Data(
        operator="mm", cause=cause, pairs=1, bytes=9, all_known=True, kernel="k", fused="relu",
        dtypes="float16",
    )  # fmt: skip
    told_ids = {each.id for each in UnfusedEpilogue.remedies if each.applies(data)}
    assert (not told_ids.isdisjoint({"bfloat16", "float32"})) is told


@pytest.mark.parametrize(("builtin", "told"), [("run_backward", False), ("sort", True)])
def test_a_pause_in_the_backward_pass_is_no_lines_doing(
    tmp_path: Path, builtin: str, told: bool
) -> None:
    inner = f"<built-in method {builtin} of torch._C._EngineBase object at 0x7f00>"
    events = [
        op("aten::mm", 0.0, 10_000.0),
        span("python_function", "train.py(20): step", 10_000.0, 20_000.0),
        span("python_function", inner, 10_010.0, 19_980.0),
        op("aten::mm", 30_000.0, 10_000.0),
    ]
    assert ("TRC024" in found(tmp_path, events, with_stack=1)) is told


@pytest.mark.parametrize(
    ("frame", "operator", "named"),
    [
        ("ipykernel_9/1.py(18): <cell line: 0>", "aten::normal_", "aten::normal_"),
        ("train.py(18): <module>", "aten::normal_", "aten::normal_"),
        ("ipykernel_9/1.py(18): <cell line: 0>", "", "<cell line: 0>"),
        ("train.py(18): make", "aten::normal_", "make"),
    ],
)
def test_a_cell_is_named_by_the_operator_it_waits_in(
    tmp_path: Path, frame: str, operator: str, named: str
) -> None:
    events = [span("python_function", frame, 0, 100_000)]
    for at in range(10):
        start = 10_000.0 * at
        args = {"args": {"correlation": at + 1}}
        events += [op(operator, start + 100, 8_000)] * bool(operator)
        events.append(launch(start + 8_200, 2.0) | args)
        events.append(kernel("gemm", start + 8_210, 1_500) | args)
    title = found(tmp_path, events, with_stack=1)["TRC024"].title
    assert f"waits for `{named}` for" in title
