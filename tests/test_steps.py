"""Products of unrolled loops that could be one, told from those whose rounds need each other."""

from __future__ import annotations

import pytest

from tracelens.evidence.tables import Place, Seen
from tracelens.inductor.steps import MIN_STEPS, Steps, steps
from tracelens.logs.graph_code import FxGraph, GraphCode

HEAD = """\
TRACED GRAPH
 ===== __compiled_fn_1 =====
 <eval_with_key>.0 class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[4, 12, 16][192, 16, 1]cpu", w: "f32[32, 16][16, 1]cpu", b: "f32[32][1]cpu"):
        # File: /home/ana/proj/model.py:7 in forward, code: y = layer(x[:, t])
"""  # noqa: E501 -- a line of a log
OF_X, OF_Y = "f32[4, 16][16, 1]cpu", "f32[4, 32][32, 1]cpu"
RESULT = "f32[4, 12, 32][384, 32, 1]cpu"


def found(lines: list[str], result: str = "out") -> list[Steps]:
    body = [f"        {line}" for line in (*lines, f"return ({result},)")]
    text = HEAD + "\n".join(body) + "\n"
    (record,) = GraphCode.parse(text)
    assert isinstance(record, FxGraph)
    assert len(record.nodes) == len(lines)
    return list(steps(Seen(record, 1, [Place("run.log", 1)], text)))


def rounds(slice_: str, count: int = MIN_STEPS, weight: str = "w") -> list[str]:
    """Return the lines of a loop that calls a layer on slices."""
    lines = []
    for t in range(count):
        lines.append(f'x_{t}: "{OF_X}" = {slice_.format(t=t)}')
        lines.append(f'y_{t}: "{OF_Y}" = torch._C._nn.linear(x_{t}, {weight.format(t=t)}, b)')
    return lines


WHOLE = "slice(None, None, None)"
SECOND = f"x[({WHOLE}, {{t}})]"
SUM = f'out: "{OF_Y}" = y_0 + y_1'


@pytest.mark.parametrize(
    ("slice_", "dim"),
    [
        (SECOND, 1),
        (f"x[({WHOLE}, {{t}}, {WHOLE})]", 1),
        ("x[{t}]", 0),
        ("x.select(1, {t})", 1),
    ],
)
def test_layers_of_slices_are_one_layer_of_the_whole(slice_: str, dim: int) -> None:
    (one,) = found([*rounds(slice_), SUM])
    assert (one.is_before, one.whole, one.dim) == (True, "x", dim)
    assert (len(one.products), one.rows, one.weight) == (MIN_STEPS, 4, 512)
    assert one.seen.quote(at=one.line(one.products[0])).text.strip().startswith("y_0")


def test_parts_that_unbind_returns_are_slices() -> None:
    (one,) = found(["parts = x.unbind(1)", *rounds("parts[{t}]"), SUM])
    assert (one.whole, one.dim) == ("x", 1)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (rounds(SECOND, MIN_STEPS - 1), "few rounds"),
        (rounds(f"x[({WHOLE}, {WHOLE}, {{t}})]"), "the dimension that the product sums over"),
        (rounds(f"x[({WHOLE}, 0)]"), "one slice for all, which is computed once"),
        (rounds("x.select(-1, {t})"), "a dimension from behind"),
        (rounds("x[(Ellipsis, {t})]"), "a dimension that is not known"),
        (rounds(SECOND, weight="w_{t}"), "a weight of each round"),
        ([*rounds(SECOND), "set_ = x.add_(1)"], "a tensor that is written into"),
        ([*rounds(SECOND), "set_ = w.add_(1)"], "a weight that is written into"),
        ([*rounds(SECOND), "v = x.view(48, 16)\n        v[1] = z"], "... by a view"),
        ([*rounds(SECOND), "t = z + 1\n        x_1 += t"], "a slice that is written into"),
        ([*rounds(SECOND), "v = x.T", "set_ = torch.mul(z, 2, out = v)"], "the result of a call"),
        (
            [*rounds(SECOND), "d = torch._C._autograd._get_data_attr(w)", "set_ = d.mul_(0.9)"],
            "the data of a weight",
        ),
        (
            [*rounds(SECOND)[:6], "mode = torch._C._set_grad_enabled(True)", *rounds(SECOND)[6:]],
            "rounds of which some have no gradient",
        ),
        (
            [
                *rounds(SECOND)[:6],
                "mode = torch.amp.autocast_mode._exit_autocast(before)",
                *rounds(SECOND)[6:],
            ],
            "rounds of which some have another precision",
        ),
    ],
)
def test_what_is_no_product_of_slices(lines: list[str], why: str) -> None:
    assert not found([*lines, SUM]), why


def test_only_what_is_written_into_is_not_sliced() -> None:
    around = ["z = torch.zeros(4, 32)\n        z[0] = y_0", "mode = torch.tanh(z)"]
    assert found([*rounds(SECOND), *around, SUM])
    before = ["mode = torch.amp.autocast_mode._enter_autocast('cpu')"]
    assert found([*before, *rounds(SECOND), SUM])


@pytest.mark.parametrize(("size", "is_told"), [(2 * MIN_STEPS, True), (2 * MIN_STEPS + 1, False)])
def test_a_few_slices_of_a_long_tensor_are_not_worth_its_product(size: int, is_told: bool) -> None:
    whole = f'long: "f32[4, {size}, 16][400, 16, 1]cpu" = torch.sin(z)'
    assert bool(found([whole, *rounds(f"long[({WHOLE}, {{t}})]"), SUM])) is is_told


def test_calls_that_are_cut_are_nothing() -> None:
    assert not found([f"y_{t} = torch._C._nn.linear()" for t in range(MIN_STEPS)], "y_1")
    assert not found([f"y_{t} = torch._C._nn.linear(x)" for t in range(MIN_STEPS)], "y_1")


def stack(end: str) -> str:
    names = ", ".join(f"y_{t}" for t in range(MIN_STEPS))
    return f'out: "{RESULT}" = torch.stack([{names}]{end}'


STATES = rounds("torch.tanh(x_{t}_)")
OF_STATE = [
    f'h: "{OF_X}" = torch.sin(z)',
    *(f'y_{t}: "{OF_Y}" = torch._C._nn.linear(h, w, b)' for t in range(MIN_STEPS)),
]


def test_layers_whose_results_are_stacked_are_one_layer_of_the_stack() -> None:
    (one,) = found([*STATES, stack(", dim = 1)")])
    assert (one.is_before, one.join, one.dim) == (False, "stack", 1)
    assert found([*OF_STATE, stack(")")])


@pytest.mark.parametrize(
    ("lines", "result", "why"),
    [
        ([*STATES, stack(", dim = -1)")], "out", "the dimension of the features"),
        ([*STATES, stack(", dim = 2)")], "out", "the same"),
        ([*STATES, stack(")"), "z = torch.tanh(y_3)"], "out", "a result that is fed back"),
        ([*STATES, stack(")")], "out, y_7", "a result that is returned"),
        ([*OF_STATE, "set_ = h.add_(1)", stack(")")], "out", "one state"),
        ([*OF_STATE, "v = h.view(64)", "set_ = v.copy_(z)", stack(")")], "out", "... by a view"),
        ([*STATES, "set_ = y_2.mul_(2)", stack(")")], "out", "a result that is written into"),
    ],
)
def test_results_that_are_not_only_stacked(lines: list[str], result: str, why: str) -> None:
    assert not found(lines, result), why
