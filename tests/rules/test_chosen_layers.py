"""What the entries of a function are for: layers that a number chooses, a number, a size."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding, Severity

RULES = Path(__file__).parents[2] / "fixtures" / "rules"
STEPS = RULES / "RCP007-module-int-attribute/quiet-chooses-layers-2.13.log.gz"
CHOSEN = RULES / "RCP004-int-argument-specialised/quiet-chooses-layers-2.13.log.gz"
BEHIND = RULES / "RCP003-first-dynamic-recompile/fires-behind-a-break-2.13.log.gz"
OPERATION = RULES / "RCP002-tensor-size-keeps-changing/fires-by-an-operation.log"


def told(path: Path, text: str, code: str) -> Finding:
    path.write_text(text, encoding="utf-8")
    return next(one for one in analyze(str(path)).findings if one.code == code)


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("self.into[step](x).relu()", Severity.NONE),
        ("self.into(x).relu() * step", Severity.WARNING),
    ],
)
def test_layers_that_a_number_chooses_need_an_entry_each(
    tmp_path: Path, line: str, severity: Severity
) -> None:
    """A counter beside it costs none: each entry is for one step all the same."""
    text = gzip.decompress(STEPS.read_bytes()).decode()
    found = told(tmp_path / "run.log", text.replace("self.into[step](x).relu()", line), "RCP007")
    assert found.severity is severity
    assert ("`step` chooses layers" in (found.harmless or "")) is (severity is Severity.NONE)
    assert bool(found.advice) is (severity is Severity.WARNING)


@pytest.mark.parametrize("is_held", [True, False])
def test_a_number_that_the_new_entry_holds_is_no_symbol(tmp_path: Path, *, is_held: bool) -> None:
    lines = gzip.decompress(STEPS.read_bytes()).decode().splitlines(keepends=True)
    text = "".join(one for one in lines if is_held or "LAMBDA_GUARD: L['step'] ==" not in one)
    found = told(tmp_path / "run.log", text, "RCP003")
    assert ("compiled once more, for it alone" in found.message) is is_held
    assert found.harmless == (
        "two values need two entries" if is_held else "further values fit the entry with the symbol"
    )


CREATED = (
    "I1127 06:35:35.963000 23068 torch/fx/experimental/symbolic_shapes.py:5743] [27/1] "
    "create_symbol s90 = {size} for L['operands'][0].size()[0] [2, int_oo] y = x @ self.weight  # "
    "ot/plan.py:20 in plan (_dynamo/variables/builder.py:4960 in <lambda>)\n"
    "I1127 06:35:35.964000 23068 torch/fx/experimental/symbolic_shapes.py:8081] [27/1] eval "
    "Eq(s90, {size}) [guard added] y = x @ self.weight  # ot/plan.py:20 in plan "
    "(_meta_registrations.py:4853 in meta_mm)\n"
    "I1127 06:35:35.965000 23068 torch/fx/experimental/symbolic_shapes.py:7674] [27/1] "
    "set_replacement s90 = {size} (range_refined_to_singleton) VR[{size}, {size}]\n"
)


@pytest.mark.parametrize(("size", "told_of"), [(5, "einsum"), (31, "self.weight")])
def test_the_line_is_that_of_a_size_which_later_calls_did_not_have(
    tmp_path: Path, size: int, told_of: str
) -> None:
    """A size of 5 was held as well, by another line: no recompile is for that."""
    head, line, rest = OPERATION.read_text(encoding="utf-8").partition("I1127 06:35:35.974000")
    text = f"{head}{CREATED.format(size=size)}{line}{rest}"
    assert told_of in told(tmp_path / "run.log", text, "RCP002").message.partition("it did, and")[2]


@pytest.mark.parametrize("has_guards", [True, False])
def test_what_is_used_behind_a_break_is_to_be_marked_as_well(
    tmp_path: Path, *, has_guards: bool
) -> None:
    """`y` is an argument, and no guard of the first part names it."""
    text = gzip.decompress(BEHIND.read_bytes()).decode()
    lines = text.splitlines(keepends=True)
    text = "".join(one for one in lines if has_guards or "L['y']" not in one)
    found = told(tmp_path / "run.log", text, "RCP003")
    said = next(one.text for one in found.advice if one.id == "mark-dynamic")
    assert ("Mark those of `y` that are passed in, too" in said) is has_guards


@pytest.mark.parametrize(
    ("line", "file", "severity"),
    [
        ("self.into[step](x).relu()", "nn/modules/container.py", Severity.NONE),
        ("self.into(x).relu() * step", "proj/model.py", Severity.WARNING),
        ("self.into(x[:, :step]).relu()", "proj/model.py", Severity.WARNING),
    ],
)
def test_an_argument_that_chooses_layers_needs_an_entry_for_each(
    tmp_path: Path, line: str, file: str, severity: Severity
) -> None:
    text = gzip.decompress(CHOSEN.read_bytes()).decode()
    text = text.replace("self.into[step](x).relu()", line).replace("nn/modules/container.py", file)
    found = told(tmp_path / "run.log", text, "RCP004")
    assert found.severity is severity
    assert bool(found.advice) is (severity is Severity.WARNING)
    assert ("chooses layers of its own" in found.message) is (severity is Severity.NONE)


EQUAL = (
    "I1128 13:40:05.415000 7 torch/fx/experimental/symbolic_shapes.py:5743] [0/1] create_symbol "
    "s18 = 7 for L['positions'].size()[1] [2, int_oo] n = positions.shape[1]  # proj/net.py:20 in "
    "forward (_dynamo/variables/builder.py:4960 in <lambda>)\n"
    "I1128 13:40:05.416000 7 torch/fx/experimental/symbolic_shapes.py:5743] [0/1] create_symbol "
    "s27 = 7 for L['tokens'].size()[1] [2, int_oo] x = self.embed(tokens)  # proj/net.py:21 in "
    "forward (_dynamo/variables/builder.py:4960 in <lambda>)\n"
    "I1128 13:40:06.116000 7 torch/fx/experimental/symbolic_shapes.py:7674] [0/1] set_replacement "
    "s27 = s18 (solve) VR[3, int_oo]\n"
    "I1128 13:40:08.455000 7 torch/fx/experimental/symbolic_shapes.py:8081] [0/1] eval Eq(s18, 7) "
    "[guard added] for t in range(x.shape[1]):  # proj/scan.py:187 in scan "
    "(_dynamo/variables/tensor.py:2606 in evaluate_expr)\n"
    "I1128 13:40:08.456000 7 torch/fx/experimental/symbolic_shapes.py:7674] [0/1] set_replacement "
    "s18 = 7 (range_refined_to_singleton) VR[7, 7]\n"
)


@pytest.mark.parametrize("is_equal", [True, False])
def test_what_is_equal_to_a_size_becomes_a_constant_with_it(
    tmp_path: Path, *, is_equal: bool
) -> None:
    head = "V1128 13:40:05.153000 7 torch/_dynamo/guards.py:5396] [0/1] [__recompiles] "
    text = f"{head}Recompiling function forward in /home/ana/proj/net.py:18\n"
    text += f"{head}    triggered by the following guard failure(s):\n"
    text += f"{head}    - 0/0: tensor 'tokens' size mismatch at index 1. expected 9, actual 7\n"
    made = "".join(
        line for line in EQUAL.splitlines(keepends=True) if is_equal or "s27 = s18" not in line
    )
    found = told(tmp_path / "run.log", text + made, "RCP003")
    assert ("compiled once more, for it alone" in found.message) is is_equal
    said = "two sizes need two entries" if is_equal else "further values fit the entry"
    assert str(found.harmless).startswith(said)
