"""Programs on the CPU, as users profile them: what is said first, and which line it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_bounds import found
from tests.traces.writing import Json, kernel, op, span
from tracelens.traces.host_kinds import host_kind

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def loaded(frame: str, share: float) -> list[Json]:
    """Return batches of 10 ms, of which ``frame`` takes ``share``, and 5 ms of computing."""
    events: list[Json] = []
    for at in range(5):
        start = 15_000.0 * at
        events.append(span("user_annotation", LOADER, start, 10_000.0))
        events.append(span("python_function", frame, start + 1.0, 9_990.0 * share))
        events.append(op("aten::mm", start + 10_000.0, 5_000.0))
    return events


@pytest.mark.parametrize(
    ("frame", "share", "named"),
    [
        ("data.py(16): __getitem__", 0.9, True),
        ("data.py(16): __getitem__", 0.45, False),  # most of the time is elsewhere
        ("data.py(40): collate_pairs", 0.9, True),
        ("torchvision/datasets/folder.py(220): __getitem__", 0.9, True),
        ("torch/utils/data/dataset.py(418): __getitem__", 0.9, False),  # it passes on to another
        ("data.py(16): decode", 0.9, False),  # one of many below it
    ],
)
def test_the_line_that_makes_the_samples_is_named(
    tmp_path: Path, frame: str, share: float, named: bool
) -> None:
    finding = found(tmp_path, loaded(frame, share), with_stack=1)["TRC013"]
    place, _, function = frame.partition("): ")
    file, _, line = place.partition("(")
    words = f"`{function}`, {file}, line {line}: 5 calls"
    assert (words in finding.message) is named
    assert (frame in "".join(each.text for each in finding.evidence)) is named


def parallel(alone: float) -> list[Json]:
    """Return steps of 10 ms of operators, then ``alone`` us of two all-reduces at once."""
    events: list[Json] = []
    for at in range(5):
        start = at * (10_000.0 + alone)
        events.append(op("aten::mm", start, 10_000.0))
        for thread in (7, 8):
            reduced = span("user_annotation", "gloo:all_reduce", start + 5_000.0, 5_000.0 + alone)
            events.append(reduced | {"tid": thread})
    return [*events, op("aten::mm", 5 * (10_000.0 + alone), 1.0)]


@pytest.mark.parametrize(("alone", "told"), [(1_000.0, False), (1_200.0, True)])
def test_collectives_on_the_host_count_where_nothing_else_runs(
    tmp_path: Path, alone: float, told: bool
) -> None:
    """Half of each runs beside operators, and two at once are waited for once: 9.1 and 10.7 %."""
    finding = found(tmp_path, parallel(alone)).get("TRC016")
    assert (finding is not None) is told
    if finding is not None:
        assert finding.cost is not None
        assert finding.cost.ms == pytest.approx(6.0, rel=0.01)


def test_what_runs_beside_operators_is_no_share_of_what_the_cpu_does(tmp_path: Path) -> None:
    note = found(tmp_path, parallel(5_000.0))["TRC030"]
    assert "gemm 67 %" in note.message
    assert "Python" not in note.message


def test_evidence_of_attention_names_the_softmax(tmp_path: Path) -> None:
    parts = ["aten::bmm", "aten::div", "aten::_softmax", "aten::bmm", "aten::mm"]
    events = [op(name, 500.0 * at, 490.0) for at, name in enumerate(parts * 5)]
    (line,) = found(tmp_path, events)["TRC025"].evidence
    assert (line.line, line.text.partition("\t")[2]) == (3, "aten::_softmax")


def calls(names: list[str], us: float, n: int = 6_000, inside: float = 0.5) -> list[Json]:
    """Return ``n`` operators in turn, from each to the next ``us``, of which it takes a part."""
    return [op(f"aten::{names[at % len(names)]}", us * at, us * inside) for at in range(n)]


@pytest.mark.parametrize(
    ("events", "advice"),
    [
        (calls(["mul", "add"], 4.0), ["compile"]),
        (calls(["mul", "add"], 12.0), ["compile"]),  # 6 us outside of each, and 2 to enter it
        (calls(["mul", "add"], 13.0), None),  # between two, something else may be done
        (calls(["mul", "add"], 8.0, inside=0.6), ["compile"]),  # 3.2 us and 2 of 8
        (calls(["mul", "add"], 8.0, inside=0.7), None),  # 2.4 us and 2: they may compute
        (calls(["mul", "add"], 4.0, n=1_900), None),  # 7.6 ms
        (calls(["select", "item", "sub"], 4.0), ["at-once"]),
        (calls(["mul"] * 9 + ["item"], 4.0), ["compile"]),  # one read for nine operators
        (
            [op("aten::gru", 0.0, 14_000.0), *calls(["mul", "add"], 4.0)],
            ["sequences"],
        ),  # torch does not compile it
        ([*calls(["mul", "add"], 4.0), op("aten::mm", 24_000.0, 30_000.0)], None),  # 56 % is one
        ([*calls(["mul", "add"], 4.0), op("aten::mm", 24_000.0, 20_000.0)], None),  # 7.3 us each
    ],
)
def test_many_small_operators_on_the_cpu(
    tmp_path: Path, events: list[Json], advice: list[str] | None
) -> None:
    finding = found(tmp_path, events).get("TRC002")
    assert (finding and [each.id for each in finding.advice]) == advice


@pytest.mark.parametrize(("us", "told"), [(4.0, True), (1.8, False)])
def test_what_the_profiler_adds_is_no_price_of_calling(
    tmp_path: Path, us: float, told: bool
) -> None:
    """With shapes it can be 1.5 us for each operator: of 1.8 us too little is left."""
    found_ = found(tmp_path, calls(["mul", "add"], us, n=20_000), record_shapes=1)
    assert ("TRC002" in found_) is told


@pytest.mark.parametrize(
    ("names", "on_apple"),
    [
        (["linear", "linear_backward"], True),
        (["_mps_convolution", "mps_convolution_backward"], True),
        (["linear", "mm"], False),
        (["linear_backward", "_nested_view_from_buffer"], False),  # on any device
        (["clamp_min", "ramps_to"], False),
    ],
)
def test_what_apples_gpu_does_is_no_work_of_the_cpu(
    tmp_path: Path, names: list[str], on_apple: bool
) -> None:
    steps = [op(f"aten::{name}", 100.0 * at, 90.0) for at, name in enumerate(names * 40)]
    told = found(tmp_path, [*steps, op("aten::item", 100.0 * len(steps), 2_500.0)])
    assert ("TRC022" in told) is on_apple
    assert ("TRC030" in told) is not on_apple
    if on_apple:
        assert "Apple" in told["TRC022"].title
        assert "`aten::item` takes 2.5 ms of " in told["TRC022"].message
        assert [each.id for each in told["TRC022"].advice] == ["signposts"]


def test_an_optimizer_on_apples_gpu_has_no_share_of_the_host(tmp_path: Path) -> None:
    events = [span("user_annotation", "Optimizer.step#AdamW.step", 0.0, 6_000.0)]
    events += [op("aten::addcdiv_", 100.0 * at, 90.0) for at in range(60)]
    after = 6_000.0
    assert "TRC012" in found(tmp_path, [*events, op("aten::mm", after, 500.0)])
    assert "TRC012" not in found(tmp_path, [*events, op("aten::linear_backward", after, 500.0)])


@pytest.mark.parametrize(("us", "told"), [(0.19e3, False), (0.21e3, True)])
def test_a_trace_of_one_kernel_names_it(tmp_path: Path, us: float, told: bool) -> None:
    note = found(tmp_path, [kernel("igemm_fwd_gtcx_nhwc_fp32", 10.0, us)]).get("TRC030")
    assert (note is not None) is told
    if note is not None:
        assert note.harmless is not None
        assert "1 kernel ran, `igemm_fwd_gtcx_nhwc_fp32` for 0.21 ms" in note.harmless


@pytest.mark.parametrize(("us", "named"), [(190.0, False), (210.0, True)])
def test_an_operator_that_is_a_fifth_of_the_trace_is_named(
    tmp_path: Path, us: float, named: bool
) -> None:
    """The others of its kind take four times 100 us; the products fill the rest of 10 ms."""
    names = ["exp", "sin", "cos", "tanh"]
    events = [op(f"aten::{name}", 1_000.0 * at, 100.0) for at, name in enumerate(names * 10)]
    events += [op("aten::pow", 1_000.0 * at + 200, us) for at in range(40)]
    events += [op(f"aten::mm{at % 5}", 1_000.0 * at + 500, 495.0) for at in range(40)]
    events.append(op("aten::exp", 39_999.0, 1.0))
    note = found(tmp_path, sorted(events, key=lambda event: event["ts"]))["TRC030"]
    assert note.harmless is not None
    assert ("`aten::pow` alone is 21 % of the trace, in 40 calls" in note.harmless) is named
    assert ("alone" in note.harmless) is named


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("aten::im2col", "unfolding"),
        ("aten::upsample_bilinear2d", "interpolation"),
        ("aten::std", "reduction"),
        ("aten::erf", "elementwise"),
        ("aten::stft", "Fourier transforms"),
        ("aten::_fft_r2c", "Fourier transforms"),
        ("aten::_linalg_svd", "linear algebra"),
        ("aten::linalg_inv_ex", "linear algebra"),
        ("aten::_inverse_helper", "linear algebra"),
        ("aten::linalg_vector_norm", "normalization"),
        ("aten::_cdist_forward", "distances"),
        ("aten::_sparse_coo_tensor_with_dims_and_indices", "sparse tensors"),
        ("aten::to_dense", "sparse tensors"),
        ("aten::to", "copy"),
    ],
)
def test_what_operators_are_for(name: str, kind: str) -> None:
    assert host_kind(name, "cpu_op") == kind


def test_a_pause_names_what_the_program_calls_in_it(tmp_path: Path) -> None:
    inner = "torch/serialization.py(1183): _save"
    events = []
    for at in range(4):
        start = 100_000.0 * at
        events.append(span("python_function", "train.py(125): step", start, 99_000.0))
        events.append(op("aten::mm", start + 10.0, 40_000.0))
        events.append(span("python_function", inner, start + 41_000.0, 57_000.0))
    events.append(op("aten::mm", 400_000.0, 100.0))
    finding = found(tmp_path, events, with_stack=1)["TRC024"]
    assert finding.where is not None
    assert finding.where.function == "step"
    assert f"ms in `{inner}`, which it calls; the longest pause takes " in finding.message


def test_what_is_called_in_a_pause_takes_no_longer_than_the_pause(tmp_path: Path) -> None:
    inner = "torch/serialization.py(1183): _save"
    events = [op("aten::mm", 0.0, 100.0)]
    events.append(span("python_function", "train.py(125): step", 100.0, 60_000.0))
    events.append(span("python_function", inner, 101.0, 59_990.0))
    events += [span("python_function", f"a.py({n}): g", 102.0 + n, 0.5) for n in range(5_000)]
    events.append(op("aten::mm", 60_100.0, 100.0))
    message = found(tmp_path, events, with_stack=1)["TRC024"].message
    whole = message.partition("`step`: ")[2].partition(" of ")[0]
    assert whole != "60 ms"
    assert f"Of it {whole} in `{inner}`, which it calls." in message


@pytest.mark.parametrize(
    ("part", "named", "inside"),
    [(0.66, "prepare", "66 ms"), (0.78, "prepare", "78 ms"), (0.9, "whiten", "")],
)
def test_a_pause_that_functions_share_is_their_callers(
    tmp_path: Path, part: float, named: str, inside: str
) -> None:
    """One that covers about all of it has it."""
    events = [op("aten::mm", 0.0, 100.0)]
    events.append(span("python_function", "a.py(15): prepare", 100.0, 100_000.0))
    events.append(span("python_function", "a.py(7): whiten", 110.0, part * 100_000))
    rest = (1 - part) * 100_000 - 30
    events.append(span("python_function", "a.py(12): shrink", 120.0 + part * 100_000, rest))
    events.append(op("aten::mm", 100_100.0, 100.0))
    finding = found(tmp_path, events, with_stack=1)["TRC024"]
    assert finding.where is not None
    assert finding.where.function == named
    assert (f"Of it {inside} in `a.py(7): whiten`, which it calls" in finding.message) is bool(
        inside
    )


@pytest.mark.parametrize(("share", "told"), [(0.6, True), (0.4, False)])
def test_a_line_waits_for_a_thread_where_most_of_its_time_is_a_wait(
    tmp_path: Path, share: float, told: bool
) -> None:
    """Pauses of 10 ms in a lock, in two other functions for the rest."""
    lock = "<built-in method acquire of _thread.lock object at 0x7f00>"
    others = ("<built-in method sort of list object at 0x7f01>", "<built-in function sum>")
    events: list[Json] = []
    start = 0.0
    for name, part in ((lock, share), *((other, (1 - share) / 2) for other in others)):
        for _ in range(round(20 * part)):
            events.append(op("aten::mm", start, 1_000.0))
            events.append(span("python_function", "train.py(8): step", start, 11_000.0))
            events.append(span("python_function", name, start + 1_010.0, 9_980.0))
            start += 11_000.0
    events.append(op("aten::mm", start, 1_000.0))
    finding = found(tmp_path, events, with_stack=1)["TRC024"]
    assert "most is in a call of `acquire`" in finding.message
    assert ("It waits there for another thread" in finding.message) is told
    assert ([each.id for each in finding.advice] == ["lock"]) is told


def test_what_the_optimizer_takes_is_no_price_of_calling_the_rest(tmp_path: Path) -> None:
    """It has 9.6 of 24 ms, and is told by itself."""
    around = span("user_annotation", "Optimizer.step#Lion.step", 0.0, 9_600.0)
    finding = found(tmp_path, [around, *calls(["mul", "add"], 4.0)])
    cost = finding["TRC002"].cost
    assert cost is not None
    assert cost.share == pytest.approx(0.6, abs=0.01)
    assert "TRC012" in finding


PAIR = ["select", "as_strided", "select", "as_strided", "eq", "is_nonzero", "item"]


@pytest.mark.parametrize(
    ("names", "gru", "reads", "advice"),
    [
        ([*PAIR, "_local_scalar_dense", "to"], 0.05, True, "at-once"),  # nine for each
        ([*PAIR, "add", "mul", "sub", "div"], 0.05, True, "at-once"),
        ([*PAIR, *["add", "mul"] * 4], 0.05, False, "vectorize"),  # 6 of 15: not half
        (["mul", "add"], 0.05, False, "compile"),
        (["mul", "add"], 0.45, False, "compile"),
        (["mul", "add"], 0.55, False, "sequences"),
    ],
)
def test_a_recurrent_module_is_the_story_of_most_operators_alone(
    tmp_path: Path, names: list[str], gru: float, *, reads: bool, advice: str
) -> None:
    events = [op("aten::gru", 0.0, 24_000 * gru), *calls(names, 4.0)]
    finding = found(tmp_path, sorted(events, key=lambda event: event["ts"]))["TRC002"]
    assert finding.advice[0].id == advice
    assert (finding.data["reads"] > 0) is reads
    assert ("recurrent module" in finding.title) is (advice == "sequences")


@pytest.mark.parametrize(
    ("share", "alone", "advice"),
    [(0.8, True, "loading"), (0.4, True, "compile"), (0.8, False, "compile")],
)
def test_what_the_data_set_calls_is_not_compiled_with_the_model(
    tmp_path: Path, share: float, advice: str, *, alone: bool
) -> None:
    kind = "SingleProcess" if alone else "MultiProcessing"
    name = f"enumerate(DataLoader)#_{kind}DataLoaderIter.__next__"
    load = span("user_annotation", name, 0.0, 24_000 * share)
    finding = found(tmp_path, [load, *calls(["mul", "add"], 4.0)])["TRC002"]
    assert finding.advice[0].id == advice


@pytest.mark.parametrize(
    ("function", "ms", "named"),
    [("beam_search", 24.0, True), ("beam_search", 9.0, False), ("<module>", 24.0, False)],
)
def test_the_function_that_calls_small_operators_is_named_though_it_is_all(
    tmp_path: Path, function: str, ms: float, named: bool
) -> None:
    frame = span("python_function", f"beam.py(11): {function}", 0.0, 1_000 * ms)
    finding = found(tmp_path, [frame, *calls(["mul", "add"], 4.0)], with_stack=1)["TRC002"]
    assert (finding.where is not None) is named
    assert ("of the trace is in `beam_search`, beam.py, line 11" in finding.message) is named


def loop(selects: int, images: str = "", steps: int = 1) -> list[Json]:
    """Return 6,000 operators of 4 us in all, ``selects`` of them selections, and convolutions."""
    events: list[Json] = []
    for step in range(steps):
        events.append(span("user_annotation", f"ProfilerStep#{step}", 24_100.0 * step, 24_000.0))
        for at in range(6_000):
            name = "aten::select" if at < selects else "aten::mul"
            start = 24_100.0 * step + 4.0 * at
            if images and at % 100 == 50:
                shapes = [[int(side) for side in images.split("x")], [8, 1, 5, 5], [8]]
                args = {"Input Dims": shapes, "Input type": ["float"] * 3}
                values = ["", "", "", "[0, 0]", "[1, 1]", "[1, 1]", "1"]
                args |= {"External id": 6_000 * step + at, "Concrete Inputs": values}
                events.append(op("aten::mkldnn_convolution", start, 3.0) | {"args": args})
            else:
                events.append(op(name, start, 1.0))
    return events


@pytest.mark.parametrize(
    ("selects", "advice"),
    [(600, ["vectorize", "compile"]), (590, ["compile"]), (0, ["compile"])],
)
def test_a_loop_over_elements_is_advised_whole_tensors(
    tmp_path: Path, selects: int, advice: list[str]
) -> None:
    finding = found(tmp_path, loop(selects))["TRC002"]
    assert [each.id for each in finding.advice] == advice
    assert ("600 select one row or element" in finding.message) is (selects == 600)


@pytest.mark.parametrize(("images", "told"), [("1x1x28x28", True), ("64x1x28x28", False)])
def test_a_loop_over_samples_is_advised_a_batch(tmp_path: Path, images: str, *, told: bool) -> None:
    finding = found(tmp_path, loop(0, images, steps=2), record_shapes=1)["TRC002"]
    assert (finding.advice[0].id == "batch") is told
    assert ("60 convolutions of each step are of one image" in finding.message) is told


REMOTE = "rpc_async#_get_value_on_remote(worker0 -> worker13)"


@pytest.mark.parametrize(
    ("name", "inside", "told"),
    [
        (REMOTE, 0.0, True),
        ("rpc_sync#forward(worker0 -> worker1)", 0.0, True),
        ("to_here", 0.0, True),
        (REMOTE, 11_000.0, False),  # it computes itself, while the call is on its way
        ("rpc_async#aten::mm(worker0 -> worker1)#remote_op: aten::mm", 0.0, False),
        ("aten::mm", 0.0, False),
    ],
)
def test_what_another_process_computes_is_waited_for(
    tmp_path: Path, name: str, inside: float, told: bool
) -> None:
    """Such a call is no computing of this process, in none of the tables."""
    events = [op(name, 0.0, 12_000.0), *([op("aten::add", 10.0, inside)] if inside else [])]
    events += [op("aten::mm", 12_500.0 + 1_000 * at, 900.0) for at in range(5)]
    findings = found(tmp_path, sorted(events, key=lambda event: event["ts"]))
    waits = findings.get("TRC024")
    assert (waits is not None) is told
    assert (findings["TRC030"].data["busy_share"] < 0.5) is told
    if waits is not None:
        assert [each.id for each in waits.advice] == ["remote"]
        assert "another process computes" in waits.message.lower()
        assert waits.cost is not None
        assert waits.cost.ms == pytest.approx(12.0)  # not all of the pause
