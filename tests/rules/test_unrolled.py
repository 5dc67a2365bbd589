"""A loop of Python that became one graph is why compiling took long."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.dynamo.unrolled import MIN_ROUNDS, unrolled
from tracelens.logs.graph_code import FxGraph
from tracelens.report import Finding
from tracelens.source import read

PREFIX = "V1123 03:32:49.676000 77 torch/_dynamo/output_graph.py:2163] [0/0] [__graph_code] "
METRICS = "I1123 03:35:49.676000 77 torch/_dynamo/utils.py:925] "
OWN = "/home/ana/proj/scan.py"


def line(number: int, code: str, file: str = OWN) -> str:
    return f"         # File: {file}:{number} in forward, code: {code}"


def body(rounds: int, file: str = OWN, *, apart: bool = True) -> list[str]:
    """Return a loop of two lines, or of one, whose comment is then printed once."""
    lines = []
    for n in range(rounds):
        end = f"_{n}" if n else ""
        lines += [line(19, "x = a[:, i] * x", file)] if apart or not n else []
        lines += [f'        getitem{end}: "f32[2, 8]" = a[(slice(None, None, None), {n})]']
        lines += [f'        mul{end}: "f32[2, 8]" = getitem{end} * x']
        lines += [line(20, "ys.append(x.sum(-1))", file)] if apart else []
        lines += [f'        sum_{n + 1}: "f32[2]" = mul{end}.sum(-1)'] if apart else []
    return lines


def graph(*statements: str, weights: int = 0) -> str:
    inputs = "".join(f', L_w{n}_: "f32[8, 8]"' for n in range(weights))
    head = [
        "TRACED GRAPH",
        " ===== __compiled_fn_1 =====",
        (
            " /home/ana/venv/lib/python3.11/site-packages/torch/fx/_lazy_graph_module.py class "
            "GraphModule(torch.nn.Module):"
        ),
        f'    def forward(self, L_a_: "f32[2, 96, 8]"{inputs}):',
        "        a = L_a_",
    ]
    tail = ["        return (mul,)", ""]
    return "".join(f"{PREFIX}{one}\n" for one in [*head, *statements, *tail])


def rounds(room: Path, text: str) -> int:
    log = room / "run.log"
    log.write_text(text)
    evidence, _ = read([str(log)])
    table = evidence.table(FxGraph)
    assert len(table) == 1
    return unrolled(table).rounds


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize(
    ("times", "told"), [(MIN_ROUNDS - 1, 0), (MIN_ROUNDS, MIN_ROUNDS), (96, 96)]
)
def test_rounds_are_counted(tmp_path: Path, times: int, told: int, *, apart: bool) -> None:
    assert rounds(tmp_path, graph(*body(times, apart=apart))) == told


def test_layers_with_weights_of_their_own_are_no_loop(tmp_path: Path) -> None:
    assert rounds(tmp_path, graph(*body(48), weights=47)) == 0
    assert rounds(tmp_path, graph(*body(48), weights=8)) == 48


def test_a_loop_that_is_a_small_part_is_not_why(tmp_path: Path) -> None:
    once = [
        text
        for n in range(400)
        for text in (line(100 + n, f"y{n} = y + {n}"), f'        y{n}: "f32[2]" = y + {n}')
    ]
    assert rounds(tmp_path, graph(*body(40), *once)) == 0
    assert rounds(tmp_path, graph(*body(40), *once[:40])) == 40


def test_a_loop_in_a_small_graph_is_not_why_others_take_long(tmp_path: Path) -> None:
    def layers(number: int) -> str:
        lines = [
            text
            for n in range(number)
            for text in (line(100 + n, f"y{n} = y + {n}"), f'        y{n}: "f32[2]" = y + {n}')
        ]
        return graph(*lines)

    loop = graph(*body(40))  # of 122 statements
    (found,) = compiled(tmp_path, layers(60) + loop, 60.0)
    assert "repeats a line 40 times" in found.title
    (found,) = compiled(tmp_path, layers(400) + loop, 60.0)
    assert "loop" not in found.title
    assert found.severity == "none"
    (found,) = compiled(tmp_path, loop + loop + loop, 60.0)  # compiled again and again
    assert "repeats a line 40 times" in found.title


def test_what_torch_itself_repeats_is_no_loop_of_the_program(tmp_path: Path) -> None:
    torch = "/home/ana/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py"
    assert rounds(tmp_path, graph(*body(96, torch))) == 0


def test_what_a_round_calls_twice_is_repeated_twice_as_often(tmp_path: Path) -> None:
    """It is not said that the loop has as many rounds."""
    lines = []
    for n in range(40):
        lines += [line(4, "return torch.tanh(x * w)"), f"        mul_{n} = x_{n} * w"]
        if n % 2:
            lines += [
                line(19, "x = cell(x) + cell(-x)"),
                f"        add_{n} = mul_{n} + mul_{n - 1}",
            ]
    (found,) = compiled(tmp_path, graph(*lines), 60.0)
    assert found.title.endswith("a loop is unrolled, and one graph repeats a line 40 times")
    assert found.message.endswith("is the loop around proj/scan.py:4, or that calls it.")
    assert "split" not in (found.advice[0].code or "")


def compiled(room: Path, text: str, seconds: float) -> list[Finding]:
    log = room / "run.log"
    table = f"{METRICS}TorchDynamo compilation metrics:\n{METRICS}Function, Runtimes (s)\n"
    log.write_text(f"{text}{table}{METRICS}_compile.compile_inner, {seconds}\n")
    return [one for one in analyze(str(log)).findings if one.code == "CMP001"]


def test_one_compilation_is_what_a_start_takes_but_for_a_loop(tmp_path: Path) -> None:
    (found,) = compiled(tmp_path, graph(*body(96)), 60.0)
    assert found.severity == "warning"
    assert "one graph repeats a line 96 times" in found.title
    assert found.where is not None
    assert (found.where.file, found.where.line) == (OWN, 19)
    assert found.advice[0].id == "some-rounds"
    (usual,) = compiled(tmp_path, graph(*body(8)), 60.0)
    assert usual.severity == "none"
    assert not compiled(tmp_path, graph(*body(96)), 5.0)


def test_a_loop_of_a_library_is_named_and_not_edited(tmp_path: Path) -> None:
    library = "/home/ana/venv/lib/python3.11/site-packages/oddlib/scan.py"
    (found,) = compiled(tmp_path, graph(*body(96, library)), 60.0)
    assert "one graph repeats a line 96 times" in found.title
    assert "some-rounds" not in [one.id for one in found.advice]
