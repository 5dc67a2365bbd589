"""Operators that have a cheaper form, and work that is no part of the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_bounds import found
from tests.traces.writing import Json, op, span


def beside(name: str, us: float, more: str = "") -> list[Json]:
    """Return twenty calls of an operator, each with as much else as makes up a millisecond."""
    events = [op(f"aten::{name}", 1_000.0 * at, us) for at in range(20)]
    events += [op(f"aten::mm{at % 5}", 1_000.0 * at + us, 1_000.0 - us) for at in range(20)]
    events += [op(more, 20_000.0, 1.0)] if more else []
    return sorted(events, key=lambda event: event["ts"])


@pytest.mark.parametrize(
    ("name", "us", "more", "hint"),
    [
        ("sort", 210.0, "", "scores.topk(k)"),
        ("sort", 190.0, "", None),
        ("sort", 210.0, "aten::quantile", None),
        ("sort", 210.0, "aten::_unique2", None),  # it sorts inside
        ("sort", 210.0, "aten::cumsum", None),  # of the most probable, up to a sum
        ("_linalg_svd", 210.0, "", "torch.linalg.svdvals(x)"),
        ("_linalg_svd", 210.0, "aten::linalg_svdvals", None),  # it is what is advised
        ("_linalg_svd", 210.0, "aten::linalg_pinv", None),
        ("linalg_inv_ex", 210.0, "", "torch.linalg.solve(K, y)"),
        ("linalg_inv_ex", 210.0, "aten::linalg_cond", None),
        ("im2col", 210.0, "", "conv2d(images, weight)"),
        ("_upsample_bicubic2d_aa", 210.0, "", "images_uint8"),
        ("upsample_bilinear2d", 210.0, "", None),  # a layer of a model
        ("_weight_norm", 210.0, "", "remove_parametrizations"),
        ("_weight_norm", 210.0, "MmBackward0", None),
        ("_coalesce", 210.0, "", ".coalesce().to_sparse_csr()  # once"),
        ("_coalesce", 210.0, "aten::embedding_sparse_backward", None),  # other places in each step
        ("nonzero", 210.0, "", "torch.where(mask, new, x)"),
        ("nonzero", 190.0, "", None),
        ("unique_dim", 210.0, "", "stride = size.flip(0)"),
        ("bernoulli_", 210.0, "aten::dropout", "Dropout1d"),
        ("bernoulli_", 210.0, "", None),  # what is drawn is what is wanted
        ("pow", 210.0, "", None),
    ],
)
def test_a_cheaper_form_is_told(
    tmp_path: Path, name: str, us: float, more: str, hint: str | None
) -> None:
    finding = found(tmp_path, beside(name, us, more)).get("TRC035")
    assert (finding is not None) is (hint is not None)
    if finding is not None and hint is not None:
        assert finding.cost is not None
        assert finding.cost.share == pytest.approx(0.21, abs=0.005)
        assert hint in (finding.advice[0].code or "")


def test_an_operator_that_calls_itself_is_counted_once(tmp_path: Path) -> None:
    events = beside("_upsample_bicubic2d_aa", 400.0)
    events += [op("aten::_upsample_bicubic2d_aa", 1_000.0 * at + 1, 398.0) for at in range(20)]
    events.sort(key=lambda event: (event["ts"], -event["dur"]))
    told = found(tmp_path, events)
    cost = told["TRC035"].cost
    assert cost is not None
    assert cost.share == pytest.approx(0.4, abs=0.01)
    assert told["TRC035"].count == 20
    assert "in 20 calls" in told["TRC035"].message
    assert "in 20 calls" in told["TRC030"].message


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_images_are_resized_in_the_mode_that_they_were(tmp_path: Path, mode: str) -> None:
    finding = found(tmp_path, beside(f"_upsample_{mode}2d_aa", 400.0))["TRC035"]
    assert f'mode="{mode}"' in (finding.advice[0].code or "")
    assert finding.count == 20


def test_the_backward_pass_of_an_inverse_counts(tmp_path: Path) -> None:
    """150 us forward and 150 backward of a millisecond."""
    events = beside("linalg_inv_ex", 150.0)
    events += [op("LinalgInvExBackward0", 1_000.0 * at + 200, 150.0) for at in range(20)]
    events.sort(key=lambda event: (event["ts"], -event["dur"]))
    cost = found(tmp_path, events)["TRC035"].cost
    assert cost is not None
    assert cost.share == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize("older", [True, False])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_weights_of_either_kind_are_made_plain(tmp_path: Path, *, older: bool) -> None:
    """The advice is followed to the letter: for layers of one kind that of the other raises."""
    torch = pytest.importorskip("torch")
    new = torch.nn.utils.parametrizations.weight_norm
    layer = (torch.nn.utils.weight_norm if older else new)(torch.nn.Linear(2, 3))
    x = torch.ones(1, 2)
    y = layer(x)
    advice = found(tmp_path, beside("_weight_norm", 210.0))["TRC035"].advice[0]
    exec(advice.code or "", {"torch": torch, "layer": layer})  # noqa: S102 -- our own advice
    assert [name for name, _ in layer.named_parameters() if "weight" in name] == ["weight"]
    assert torch.allclose(layer(x), y)


def steps(
    function: str, us: float, calls: int, *, inside: str = "aten::histc", share: float = 0.8
) -> list[Json]:
    """Return steps of 20 ms, in which a function is called, and operators have a share of it."""
    events: list[Json] = []
    for number in range(4):
        at = 20_000.0 * number
        events.append(span("user_annotation", f"ProfilerStep#{number}", at, 19_990.0))
        for call in range(calls):
            start = at + 10 + call * us / calls
            frame = f"train.py(31): {function}"
            events.append(span("python_function", frame, start, us / calls - 1))
            events.append(op(inside, start + 1, share * us / calls))
        events.append(op("aten::mm", at + us + 20, 19_900.0 - us))
    return events


@pytest.mark.parametrize(
    ("function", "us", "calls", "advice"),
    [
        ("log_histograms", 5_000.0, 1, ["rarely"]),
        ("log_histograms", 3_000.0, 1, None),
        ("log_prob", 5_000.0, 1, None),  # a logarithm
        ("log_weights", 5_000.0, 1, None),
        ("log_loss", 5_000.0, 1, None),
        ("log", 5_000.0, 1, None),
        ("report", 5_000.0, 1, ["rarely"]),
        ("save_for_backward", 5_000.0, 1, None),
        ("random_affine", 5_000.0, 16, ["batch", "workers"]),
        ("random_affine", 5_000.0, 1, ["workers"]),
        ("preprocess", 5_000.0, 1, ["workers"]),
        ("update_target", 5_000.0, 1, ["average"]),
        ("ema_step", 3_000.0, 1, None),
        ("schema_step", 5_000.0, 1, None),
        ("update", 5_000.0, 1, None),
        ("feature_extractor", 5_000.0, 1, None),  # it may be the model
        ("forward", 5_000.0, 1, None),
    ],
)
def test_a_function_beside_the_model_is_named(
    tmp_path: Path, function: str, us: float, calls: int, advice: list[str] | None
) -> None:
    """A quarter of the time is worth a word, 15 % are not."""
    finding = found(tmp_path, steps(function, us, calls), with_stack=1).get("TRC036")
    assert (finding and [each.id for each in finding.advice]) == advice
    if finding is not None:
        assert finding.where is not None
        assert (finding.where.file, finding.where.line) == ("train.py", 31)
        assert finding.cost is not None
        assert finding.cost.share == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize(
    ("function", "share", "code"),
    [
        ("save_model", 0.8, "TRC036"),
        ("save_model", 0.1, "TRC024"),
        ("update_ema", 0.1, "TRC036"),  # copying a model is Python
    ],
)
def test_a_function_is_told_once(tmp_path: Path, function: str, share: float, code: str) -> None:
    """Where hardly an operator runs in it, another rule tells of it."""
    findings = found(tmp_path, steps(function, 6_000.0, 1, share=share), with_stack=1)
    codes = {"TRC036", "TRC024"} & findings.keys()
    assert {one for one in codes if findings[one].explained_by is None} == {code}


def test_an_average_as_advised_is_that_of_a_loop(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(2, 2)
    shadow = [p.detach().clone() for p in model.parameters()]
    code = found(tmp_path, steps("update_ema", 6_000.0, 1), with_stack=1)["TRC036"].advice[0].code
    begin, _, update = (code or "").rpartition("\n")
    names = {"torch": torch, "model": model}
    exec(begin, names)  # noqa: S102 -- our own advice
    for _ in range(2):
        exec(update, names)  # noqa: S102
        with torch.no_grad():
            for p in model.parameters():
                p.add_(1.0)
    # The first update copies, the second is 0.999 of that and 0.001 of what is one larger.
    for mine, kept in zip(names["ema"].module.parameters(), shadow, strict=True):
        assert torch.allclose(mine, kept + 0.001)


@pytest.mark.parametrize("module", ["MultiheadAttention", "SelfAttention"])
def test_torchs_own_attention_is_asked_for_no_weights(tmp_path: Path, module: str) -> None:
    events: list[Json] = []
    for at in range(5):
        events.append(span("python_function", f"nn.Module: {module}_0", 4_000.0 * at, 3_900.0))
        for number, name in enumerate(["aten::bmm", "aten::_softmax", "aten::bmm", "aten::mm"]):
            events.append(op(name, 4_000.0 * at + 10 + 800 * number, 790.0))
    advice = found(tmp_path, events, with_stack=1)["TRC025"].advice
    own = module == "MultiheadAttention"
    assert [each.id for each in advice] == [
        *(["need-weights"] if own else []),
        "sdpa",
        *([] if own else ["transformers"]),
    ]


@pytest.mark.parametrize(
    ("image", "weight", "told"),
    [
        ([2, 1, 1, 48_000], [1, 1, 1, 1_024], True),
        ([2, 1, 1, 48_000], [1, 1, 1, 1_023], False),
        ([2, 1, 1, 48_000], [40, 1, 1, 1_024], False),  # a bank: many results of one channel
        ([4, 64, 1, 2_048], [64, 1, 1, 1_024], True),
        ([4, 64, 1, 2_048], [64, 64, 1, 1_024], False),  # its channels add up
        ([2, 1, 48, 4_800], [1, 1, 3, 1_024], False),  # of two sides
    ],
)
def test_a_long_filter_of_each_channel_is_cheaper_as_a_spectrum(
    tmp_path: Path, image: list[int], weight: list[int], *, told: bool
) -> None:
    args = {"Input Dims": [image, weight, []], "Input type": ["float", "float", ""]}
    args["Concrete Inputs"] = ["", "", "", "[0, 0]", "[1, 1]", "[1, 1]", "1"]
    events = [
        op("aten::mkldnn_convolution", 10_000.0 * at, 9_000.0)
        | {"args": args | {"External id": at}}
        for at in range(4)
    ]
    finding = found(tmp_path, events, record_shapes=1).get("TRC035")
    assert (finding is not None) is told
    if finding is not None:
        assert [each.id for each in finding.advice] == ["long-filter"]
        assert finding.cost is not None
        assert finding.cost.ms == pytest.approx(36.0)


def shaped(name: str, ts: float, us: float, dims: list[object], *kinds: str) -> Json:
    types = kinds if len(kinds) > 1 else [*kinds] * len(dims)
    args = {"External id": int(ts), "Input Dims": dims, "Input type": [*types]}
    return op(name, ts, us) | {"args": args}


@pytest.mark.parametrize(
    ("kind", "share", "told"),
    [("long int", 0.21, True), ("long int", 0.19, False), ("float", 0.21, False)],
)
def test_products_of_whole_numbers(tmp_path: Path, kind: str, share: float, *, told: bool) -> None:
    us = 1_000.0 * share
    events = beside("topk", us)
    for at in range(20):
        dims: list[object] = [[700, 3000], [3000, 700]]
        events[2 * at] = shaped("aten::mm", 1_000.0 * at, us, dims, kind)
    finding = found(tmp_path, events).get("TRC035")
    assert (finding is not None) is told
    if finding is not None:
        assert "whole numbers" in finding.title
        assert ".float()" in (finding.advice[0].code or "")


@pytest.mark.parametrize(
    ("size", "kinds", "labels", "told"),
    [
        ((768, 8000), ("aten::one_hot", "long int"), 0, True),
        ((768, 8000), ("aten::scatter_", "long int"), 0, False),  # a dense input
        ((768, 200), ("aten::one_hot", "long int"), 0, False),  # few classes
        ((640, 8000), ("aten::one_hot", "long int"), 0, False),  # another matrix
        # The labels are one-hot, what is multiplied are images in bytes, or counts of words.
        ((768, 8000), ("aten::one_hot", "unsigned char"), 10, False),
        ((768, 8000), ("aten::one_hot", "long int"), 10, False),
    ],
)
def test_a_product_with_a_one_hot_matrix_is_a_lookup(
    tmp_path: Path, size: tuple[int, int], kinds: tuple[str, str], labels: int, *, told: bool
) -> None:
    (rows, columns), (first, kind) = size, kinds
    events = []
    for at in range(20):
        ts = 1_000.0 * at
        events.append(op(first, ts, 10.0))
        events.append(shaped("aten::copy_", ts + 10, 80.0, [[16, 48, columns]] * 2, "float", kind))
        if labels:
            events.append(shaped("aten::copy_", ts + 90, 9.0, [[768, 10]] * 2, "float", "long int"))
        dims: list[object] = [[rows, columns], [columns, 96]]
        events.append(shaped("aten::mm", ts + 100, 300.0, dims, "float"))
        events.append(op(f"aten::addmm{at % 5}", ts + 400, 600.0))
    findings = found(tmp_path, events)
    finding = findings.get("TRC035")
    assert (finding is not None) is told
    if finding is not None and finding.cost is not None:
        assert "one-hot" in finding.title
        assert finding.cost.share == pytest.approx(0.38, abs=0.005)


def test_one_hot_labels_are_no_matrix_that_is_multiplied(tmp_path: Path) -> None:
    """The gradient of the scores, 768 x 8000, is: with weights, and with what came in."""
    events = []
    for at in range(20):
        ts = 1_000.0 * at
        events.append(op("aten::one_hot", ts, 10.0))
        dims: list[object] = [[16, 48, 8000]] * 2
        events.append(shaped("aten::copy_", ts + 10, 90.0, dims, "float", "long int"))
        products: list[list[object]] = [
            [[768, 96], [96, 8000]],
            [[768, 8000], [8000, 96]],
            [[8000, 768], [768, 96]],
        ]
        for index, sides in enumerate(products):
            events.append(shaped("aten::mm", ts + 100 + 300 * index, 299.0, sides, "float"))
    assert "TRC035" not in found(tmp_path, events)


def test_rows_that_differ_are_found_by_the_number_that_is_advised(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    rows = torch.randint(-3, 4, (500, 3))
    names = {"torch": torch, "rows": rows}
    advice = found(tmp_path, beside("unique_dim", 210.0))["TRC035"].advice[0]
    exec(advice.code or "", names)  # noqa: S102 -- our own advice
    _, at = torch.unique(rows, dim=0, return_inverse=True)
    assert torch.equal(names["at"], at)
