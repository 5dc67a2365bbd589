"""Recompiles for what a function walks through: parts of an object, sizes of a loop, lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding, Severity

LINE = "V1120 20:15:4{n}.100000 7 torch/_dynamo/guards.py:5396] [0/{n}] [__recompiles] {text}\n"
AT = "  # {code}  # proj/model.py:4 in forward"


def told(tmp_path: Path, guards: list[str], code: str = "") -> list[Finding]:
    """Return the findings where these guards failed, each of the newest entry."""
    log = ""
    for n, guard in enumerate(guards, 1):
        log += LINE.format(n=n, text="Recompiling function forward in /home/ana/proj/model.py:3")
        log += LINE.format(n=n, text="    triggered by the following guard failure(s):")
        at = AT.format(code=code) if code else ""
        log += LINE.format(n=n, text=f"    - 0/{n - 1}: {guard}{at}")
    path = tmp_path / "run.log"
    path.write_text(log)
    return [one for one in analyze(str(path)).findings if one.code.startswith("RCP")]


TREE = [
    "tree.left.left is None",
    "___check_type_id(tree.right, 94865264879952), type=<class '__main__.Node'>",
    "tree.right.left.left is None",
]


def walked(found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.data.get("held") == "structure"]


def test_every_structure_of_a_tree_is_one_finding(tmp_path: Path) -> None:
    found = walked(told(tmp_path, TREE))
    assert len(found) == 3
    (loud,) = [one for one in found if one.severity is not Severity.NONE]
    assert (loud.severity, loud.count) == (Severity.WARNING, 3)
    assert "each structure of `tree`" in loud.title
    assert [one.id for one in loud.advice] == ["compile-parts"]


@pytest.mark.parametrize(
    "guards",
    [
        TREE[:2],  # two structures
        [TREE[0], TREE[0], TREE[0]],  # one part
        [one.replace("tree", "self") for one in TREE],  # the module's own
        [one.replace("tree", "kwargs") for one in TREE],  # arguments of three names
        ["config.a is None", "config.b is None", "config.c is None"],  # parts, and none of parts
        ["tree.left.a == True", "tree.left.b == True", "tree.left.c == True"],  # flags
    ],
)
def test_what_is_no_structure(guards: list[str], tmp_path: Path) -> None:
    assert walked(told(tmp_path, guards)) == []


def sizes(source: str, index: int) -> list[str]:
    ends = [(7, 5), (5, 9), (9, 6), (6, 8)]
    return [
        f"tensor '{source}' size mismatch at index {index}. expected {one}, actual {other}"
        for one, other in ends
    ]


@pytest.mark.parametrize(
    ("code", "is_loop"),
    [
        ("for t in range(x.size(1)):", True),
        ("for t in range(x.shape[1]):", True),
        ("for t in range(x.size(0)):", False),  # another dimension
        ("for t in range(y.size(1)):", False),  # another tensor
        ("for t in range(len(x)):", False),  # the first dimension
        ("y = x[:, 0]", False),
    ],
)
def test_a_loop_over_the_size_is_told_to_stay_in_python(
    code: str, *, is_loop: bool, tmp_path: Path
) -> None:
    (found,) = told(tmp_path, sizes("x", 1), code)
    ids = [one.id for one in found.advice]
    assert ids == (["compile-body", "pad"] if is_loop else ["pad", "record-dynamic"])
    assert ("unrolled" in found.message) is is_loop


def test_a_loop_over_the_rows_is_one_too(tmp_path: Path) -> None:
    (found,) = told(tmp_path, sizes("x", 0), "for i in range(len(x)):")
    assert found.advice[0].id == "compile-body"


TENSORIFY = "  # (_dynamo/output_graph.py:3375 in remove_tensorify_specialized_graphargs)"


@pytest.mark.parametrize(
    ("source", "advice"),
    [("self.state[2]", ["leave-out"]), ("self.lr", ["count-outside", "multiply"])],
)
def test_numbers_of_a_list_are_not_multiplied_with(
    source: str, advice: list[str], tmp_path: Path
) -> None:
    guards = [f"{source} == 0.{n}5{TENSORIFY}" for n in range(4)]
    (found,) = [one for one in told(tmp_path, guards) if one.code == "RCP005"]
    assert [one.id for one in found.advice] == advice


def test_a_factor_that_a_line_compares_is_computed_outside(tmp_path: Path) -> None:
    line = "  # if self.lr > 0.05: y = y - self.lr * x  # proj/model.py:4 in forward"
    guards = [f"self.lr == 0.0{line}"] + [f"self.lr == 0.{n}5{TENSORIFY}" for n in range(4)]
    (found,) = [one for one in told(tmp_path, guards) if one.code == "RCP005"]
    assert [one.id for one in found.advice] == ["compute-outside"]


BRANCH = (
    "  # if k != 1.0:  # proj/model.py:4 in forward (_dynamo/variables/tensor.py:26 in evaluate)"
)


@pytest.mark.parametrize(
    ("origins", "advice"),
    [
        ([TENSORIFY, TENSORIFY, TENSORIFY], "multiply"),
        ([BRANCH, TENSORIFY, TENSORIFY], "compute-outside"),  # a branch needs the number, too
        ([BRANCH, BRANCH, BRANCH], "compute-outside"),
    ],
)
def test_a_float_that_python_needs_as_well_is_computed_with_outside(
    origins: list[str], advice: str, tmp_path: Path
) -> None:
    guards = [f"k == 0.{n}5{origin}" for n, origin in enumerate(origins)]
    (found,) = [one for one in told(tmp_path, guards) if one.code == "RCP005"]
    assert [one.id for one in found.advice] == [advice]


DUCK = (
    "  # duck sizing added this equality because these variables had the same size 64 (to avoid "
    "this specialization, set torch.fx.experimental._config.use_duck_shape = False)"
)


@pytest.mark.parametrize(
    ("why", "advice"),
    [(DUCK, "unequal-first"), ("  # if h == w:  # proj/model.py:4 in forward", "branch-outside")],
)
def test_sizes_that_were_equal_by_chance_are_told_apart(
    why: str, advice: str, tmp_path: Path
) -> None:
    (found,) = told(tmp_path, [f"x.size()[3] == x.size()[2]{why}"])
    assert found.advice[0].id == advice


def test_both_dimensions_that_changed_are_marked(tmp_path: Path) -> None:
    guards = [
        "tensor 'x' size mismatch at index 3. expected 64, actual 96",
        "tensor 'x' size mismatch at index 2. expected 64, actual 96",
    ]
    (found,) = [one for one in told(tmp_path, guards) if one.code == "RCP003"]
    assert found.advice[0].code == (
        "torch._dynamo.maybe_mark_dynamic(x, 3)\ntorch._dynamo.maybe_mark_dynamic(x, 2)"
    )
    (found,) = [one for one in told(tmp_path, guards[:1]) if one.code == "RCP003"]
    assert found.advice[0].code == "torch._dynamo.maybe_mark_dynamic(x, 3)"


def test_parts_of_a_module_are_named_as_the_program_writes_them(tmp_path: Path) -> None:
    source = "self._modules['blocks']._modules['0']._modules['drop'].kind"
    (found,) = told(tmp_path, [f"{source} == 'a'"])
    assert "`self.blocks[0].drop.kind`" in found.title
    assert found.data["source"] == source  # what programs read stays as torch has it
    (found,) = told(tmp_path, ["self.kinds['a'].kind == 'a'"])
    assert "`self.kinds['a'].kind`" in found.title


GROWN = ["append-outside", "empty", "write-into"]


@pytest.mark.parametrize(
    ("source", "code", "expected"),
    [
        ("self.outputs", "self.outputs.append(output)", GROWN),
        ("outputs", "outputs += [x]", GROWN),
        ("cache", "keys = torch.cat(cache, 1)", ["stack", "allocate"]),
        ("puts", "outputs.append(x)", ["stack", "allocate"]),
        ("outputs", "if outputs == []:", ["stack", "allocate"]),
    ],
)
def test_a_list_that_the_line_appends_to_is_emptied(
    source: str, code: str, expected: list[str], tmp_path: Path
) -> None:
    found = told(tmp_path, [f"len({source}) == {n}" for n in (1, 2, 3, 4)], code)
    (about,) = [one for one in found if one.code == "RCP017"]
    assert [one.id for one in about.advice] == expected


@pytest.mark.parametrize(
    ("code", "is_told"),
    [
        ("if len(self.seen) > 100:", True),
        ("self.seen.append(x)", True),
        ("if not self.seen:", True),
        ("return x + torch.stack(self.seen).sum(0)", False),
        ("for one in self.seen:", False),
        ("last = self.seen[len(self.seen) - 1]", False),
    ],
)
def test_a_list_whose_items_are_read_is_not_filled_outside(
    code: str, tmp_path: Path, *, is_told: bool
) -> None:
    found = told(tmp_path, [f"len(self.seen) == {n}" for n in range(1, 7)], code)
    (about,) = [one for one in found if one.code == "RCP017"]
    assert ("append-outside" in [one.id for one in about.advice]) is is_told


@pytest.mark.parametrize(
    ("source", "expected"),
    [("G['STATE']['step']", "out-of-container"), ("G['STEP']", "pass-argument")],
)
def test_an_item_of_a_global_dict_is_kept_out_of_it(
    source: str, expected: str, tmp_path: Path
) -> None:
    found = told(tmp_path, [f"{source} == {n}" for n in (2, 3, 4, 5)], "return x * step")
    (about,) = [one for one in found if one.code == "RCP004"]
    assert [one.id for one in about.advice] == [expected]
    assert ("not in `STATE`" in about.advice[0].text) == ("STATE" in source)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("return F.dropout(x, p=rate, training=True)", "mask"),
        ("return x * np.log(rate)", "compute-outside"),
    ],
)
def test_dropout_takes_no_tensor_for_its_number(code: str, expected: str, tmp_path: Path) -> None:
    guards = [f"rate == 0.{n}" for n in (1, 2, 3, 4)]
    at = f"  # {code}  # proj/model.py:4 in forward"
    later = f"{at} (nn/functional.py:1491 in dropout)"
    found = told(tmp_path, [guards[0] + at, *(one + later for one in guards[1:])])
    (about,) = [one for one in found if one.code == "RCP005"]
    assert [one.id for one in about.advice] == [expected]
