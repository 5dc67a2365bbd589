"""Advice on a finding in an installed package: what its user can do comes first."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.dynamo import user_code
from tracelens.plugins.registry import discover
from tracelens.remedies import Remedy, from_outside
from tracelens.report import Advice
from tracelens.rules import Rule
from tracelens.rules.gbr._site_rule import BreakData
from tracelens.rules.gbr.dynamic_output_shape import DynamicOutputShape
from tracelens.rules.gbr.scalar_from_tensor import ScalarFromTensor

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
FAMILIES = ("GBR", "RCP", "DYN", "IND", "GRD")
#: Larger logs show nothing about advice that smaller ones do not.
LARGEST = 200_000
#: A file of the program that a log was recorded with.
OWN = re.compile(r"/home/ana/(?:[\w.-]+/){1,4}[\w.-]+\.py")
LIBRARY = "/home/ana/venv/lib/python3.11/site-packages/oddlib"

#: What the first advice may be where the line is in a package, each read and found to be in the
#: hands of a program that only uses it: a setting, how often and with what the package is called,
#: and which part of it is compiled. What changes the line itself is none of these.
FROM_OUTSIDE = {
    # which part is compiled, and when
    "backward-outside", "branch-outside", "call-first", "call-outside", "compile-around",
    "compile-dynamic", "leave-function-out",
    "compile-caller", "compile-forward", "compile-inner", "compile-once", "compile-called-parts",
    "compile-classes", "compile-transform", "first-call", "leave-call-out", "leave-step",
    "dense-parts", "first-step", "leave-filters",
    "leave-uncompiled", "uncompiled", "leave-counter-out", "leave-script-out",
    "report-in-eager", "leave-out", "look-up-outside", "outside", "ranges-of-package",
    # what it is called with
    "array-dtype", "cast", "clone", "leave-texts", "mark-dynamic", "one-form", "one-layout",
    "one-size",
    "one-mode", "one-rank", "one-state", "own-memory", "pad", "pad-few",
    "pad-to-multiple", "pass-argument", "pass-tensor", "same-attributes", "python-numbers",
    "set-outside", "same-keys", "same-object", "same-tensor", "stack", "keep-beside",
    "unbacked", "nothing", "default-dynamic", "set-config", "tensor-lr",
    "fallback-random",
    # settings, versions, and who else can do something
    "allow-rnn", "call-uncompiled",
    "capture-count", "capture-scalars", "capture-size", "freeze", "ignore-logger",
    "instruction-set", "let-through", "name-the-loss", "no-hooks",
    "one-thread", "print-later", "without-input-gradients", "leave-counter",
    "dim-auto", "maybe-mark-dynamic", "drop-last", "reset",
    "compile-model", "after-making", "unequal-first",
    "warn-later", "scripted-class", "register-fake", "register-patterns", "reorder-loops",
    "parameter-symbols", "unspec-int", "in-library", "keep-caches", "raise-limit",
    "record-dynamic", "report",
    "own-code-object", "trace-autograd", "unwrap", "fused", "weight-only",
    # where to begin: the finding that is named has advice of its own
    "breaks-first", "causes-first", "compare-eager", "not-named", "see-breaks", "see-parts",
    "worst-first",
}  # fmt: skip


def moved(text: str) -> str:
    """Return a log as it were if the program's own files were an installed package's."""
    for path in set(OWN.findall(text)):
        if "-packages/" not in path and "/lib/python3" not in path:
            text = text.replace(path, f"{LIBRARY}/{path.rsplit('/', 1)[1]}")
    return text


def folders() -> list[Path]:
    return sorted(one for one in FIXTURES.iterdir() if one.name.startswith(FAMILIES))


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.name[:6])
def test_the_first_advice_about_a_library_needs_no_edit_of_it(folder: Path, tmp_path: Path) -> None:
    wrong = set()
    for log in sorted(folder.glob("fires*.log")):
        if log.stat().st_size > LARGEST:
            continue
        copy = tmp_path / log.name
        copy.write_text(moved(log.read_text(encoding="utf-8")), encoding="utf-8")
        for finding in analyze(str(copy)).findings:
            if finding.where and finding.advice and user_code.package(finding.where.file):
                first = finding.advice[0]
                if finding.code.startswith(FAMILIES) and first.id not in FROM_OUTSIDE:
                    wrong.add(f"{finding.code}/{first.id}: {first.text}")
    assert wrong == set()


def test_what_edits_the_line_comes_last_and_is_for_the_authors() -> None:
    remedies = [Remedy("edit", "Or write it anew.", edits=True), Remedy("set", "Or set it.")]
    given = [
        Advice(id="edit", text="Write it anew.", code="y = x"),
        Advice(id="set", text="Or set it."),
    ]
    first, last = from_outside(given, remedies, "oddlib")
    assert (first.id, first.text) == ("set", "Set it.")
    assert last.text == "For the authors of `oddlib`: write it anew."
    assert last.code is None


def test_where_nothing_else_helps_the_line_is_reported() -> None:
    edit = Remedy("edit", "Write it anew.", edits=True)
    given = [Advice(id="edit", text="Write it anew.")]
    assert [one.id for one in from_outside(given, [edit], "oddlib")] == ["report", "edit"]
    assert from_outside((), [edit], "oddlib") == ()
    report, _ = from_outside(given, [edit], "oddlib")
    # A program that ends there has nothing to measure, and can go on without the call.
    assert "leave the call that leads there out" in report.text
    assert "nothing in your program changes it" not in report.text


def test_the_program_s_own_line_is_its_own_to_edit(tmp_path: Path) -> None:
    (folder,) = FIXTURES.glob("IND009-*")
    log = folder / "fires-index-add.log"
    copy = tmp_path / "run.log"
    copy.write_text(moved(log.read_text(encoding="utf-8")), encoding="utf-8")
    own, theirs = (
        [
            advice.id
            for one in analyze(str(path)).findings
            if one.code == "IND009"
            for advice in one.advice
        ]
        for path in (log, copy)
    )
    assert own == ["gather"]
    assert theirs == ["report", "gather"]


def test_no_edit_is_also_named_as_what_a_user_can_do() -> None:
    edits = {r.id for rule in discover("rules", Rule) for r in rule.remedies if r.edits}
    assert edits
    assert edits & FROM_OUTSIDE <= {"report", "stack"}  # IND019's edits a line, RCP017's none


def test_what_a_module_keeps_is_no_consequence_of_a_break_of_the_model() -> None:
    (folder,) = FIXTURES.glob("RCP007-*")
    report = analyze(str(folder / "fires-kept-behind-a-break.log"))
    by_code = {one.code: one for one in report.findings}
    assert by_code["RCP007"].explained_by is None
    assert by_code["RCP024"].explained_by == by_code["GBR002"].id
    assert "compile-model" not in {advice.id for advice in by_code["RCP007"].advice}


def test_an_error_in_symbolic_sizes_is_the_program_s_and_goes_without_them() -> None:
    (folder,) = FIXTURES.glob("ERR017-*")
    (one,) = [
        finding
        for finding in analyze(str(folder / "fires-symbolic-size.log")).findings
        if finding.code == "ERR017"
    ]
    assert one.where is not None
    assert one.where.file == "/home/ana/proj/train.py"
    assert one.advice[0].code == "torch.compile(model, dynamic=False)"
    (other,) = analyze(str(folder / "fires-lowering.log")).findings
    assert other.advice[0].id != "static-sizes"


RECOMPILE = """\
V1120 14:02:0{n}.000000 7 torch/_dynamo/guards.py:5396] [0/{n}] [__recompiles] Recompiling function scaled in /home/ana/venv/lib/python3.11/site-packages/oddlib/a.py:5
V1120 14:02:0{n}.000000 7 torch/_dynamo/guards.py:5396] [0/{n}] [__recompiles]     triggered by the following guard failure(s):
V1120 14:02:0{n}.000000 7 torch/_dynamo/guards.py:5396] [0/{n}] [__recompiles]     - 0/{last}: {guard}
"""  # noqa: E501 -- lines of a log
SIZES = [
    f"tensor 'x' size mismatch at index 1. expected {a}, actual {b}"
    for a, b in [(16, 24), (24, 32), (32, 40)]
]
#: The same in a function of the program's own.
RECOMPILE_OWN = RECOMPILE.replace(f"{LIBRARY}/a.py", "/home/ana/proj/a.py")
PINNED = "(x.size()[2] // 2)*(x.size()[3] // 2) == 2304"


def advised(tmp_path: Path, code: str, *guards: str) -> list[str]:
    """Return the ids of what a finding about these recompiles advises."""
    return [one.id for one in _advice(tmp_path, code, *guards)]


def advised_texts(tmp_path: Path, code: str, *guards: str) -> list[str]:
    """Return its texts."""
    return [one.text for one in _advice(tmp_path, code, *guards)]


def _advice(tmp_path: Path, code: str, *guards: str, file: str = f"{LIBRARY}/a.py") -> list[Advice]:
    log = tmp_path / "run.log"
    lines = [RECOMPILE.format(n=n, last=n - 1, guard=guard) for n, guard in enumerate(guards, 1)]
    log.write_text("".join(lines).replace(f"{LIBRARY}/a.py", file), encoding="utf-8")
    return [a for one in analyze(str(log)).findings if one.code == code for a in one.advice]


def test_dynamic_false_is_not_blamed_where_other_sizes_are_symbols(tmp_path: Path) -> None:
    own = _advice(tmp_path, "RCP002", *SIZES, file="/home/ana/proj/model.py")
    assert [one.id for one in own] == ["pad", "record-dynamic"]
    assert advised(tmp_path, "RCP002", *SIZES, PINNED) == ["pad", "record-dynamic"]


def test_who_uses_a_package_is_told_first_what_holds_whatever_keeps_the_size(
    tmp_path: Path,
) -> None:
    """A line of the package may need the number: taking out dynamic=False is then no advice."""
    assert advised(tmp_path, "RCP002", *SIZES) == ["pad", "record-dynamic"]


TREE = """\
V1120 14:02:03.500000 7 torch/_dynamo/guards.py:4483] [{frame}] [__guards] TREE_GUARD_MANAGER:
V1120 14:02:03.500000 7 torch/_dynamo/guards.py:4483] [{frame}] [__guards] +- RootGuardManager
V1120 14:02:03.500000 7 torch/_dynamo/guards.py:4483] [{frame}] [__guards] | +- TENSOR_MATCH: check_tensor(L['y'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, size=[{size}, 3], stride=[3, 1])
"""  # noqa: E501 -- lines of a log


@pytest.mark.parametrize(
    ("frame", "size", "why"),
    [
        ("0/2", "None", "others of this function stayed symbols"),
        ("0/2", "16", "held static, by dynamic=False or mark_static, or where"),
        ("1/0", "None", "in other functions sizes are symbols"),
        ("1/0", "16", "held static, by dynamic=False or mark_static, or where"),
    ],
)
def test_a_symbol_in_an_entry_of_any_function_clears_dynamic_false(
    frame: str, size: str, why: str, tmp_path: Path
) -> None:
    lines = [RECOMPILE_OWN.format(n=n, last=n - 1, guard=guard) for n, guard in enumerate(SIZES, 1)]
    log = tmp_path / "run.log"
    log.write_text("".join([*lines[:2], TREE.format(frame=frame, size=size), *lines[2:]]))
    (told,) = [one for one in analyze(str(log)).findings if one.code == "RCP002"]
    assert [one.id for one in told.advice] == ["pad", "record-dynamic"]
    assert why in told.message


SHAPES = (
    "{level}1120 14:02:00.000000 7 torch/fx/experimental/symbolic_shapes.py:3900] [0/0] {text}\n"
)


@pytest.mark.parametrize(
    ("level", "text", "first"),
    [("I", "create_env", "default-dynamic"), ("W", "something that torch warns of", "pad")],
)
def test_dynamic_is_not_to_be_recorded_where_it_is(
    level: str, text: str, first: str, tmp_path: Path
) -> None:
    """A warning of the shape environment comes without the switch."""
    is_recorded = first == "default-dynamic"
    log = tmp_path / "run.log"
    lines = [RECOMPILE_OWN.format(n=n, last=n - 1, guard=guard) for n, guard in enumerate(SIZES, 1)]
    log.write_text(SHAPES.format(level=level, text=text) + "".join(lines), encoding="utf-8")
    (told,) = [one for one in analyze(str(log)).findings if one.code == "RCP002"]
    assert ("record-dynamic" in {one.id for one in told.advice}) is not is_recorded
    assert told.advice[0].id == first


def test_conditions_of_another_function_clear_dynamic_false(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    lines = [RECOMPILE_OWN.format(n=n, last=n - 1, guard=guard) for n, guard in enumerate(SIZES, 1)]
    other = RECOMPILE_OWN.format(n=1, last=0, guard=PINNED).replace("scaled", "padded")
    lines.append(other.replace("[0/", "[1/").replace("- 0/", "- 1/").replace("a.py:5", "a.py:50"))
    log.write_text("".join(lines), encoding="utf-8")
    (told,) = [one for one in analyze(str(log)).findings if one.code == "RCP002"]
    assert "default-dynamic" not in [one.id for one in told.advice]
    assert "in other functions sizes are symbols" in told.message


def test_no_input_is_padded_for_a_condition_that_one_size_meets(tmp_path: Path) -> None:
    assert advised(tmp_path, "RCP023", SIZES[0], PINNED) == ["pad"]
    rest = "(x.size()[1] % 8) == 0"
    assert advised(tmp_path, "RCP023", SIZES[0], rest) == ["pad-to-multiple"]
    nested = "(x.size()[3] + max(x.size()[3] % 2, x.size()[2] % 2)) // 2 <= 64"
    assert advised(tmp_path, "RCP023", SIZES[0], nested) == []


@pytest.mark.parametrize(
    ("guard", "told"),
    [
        # Chunks of 64 in a loop: as many entries as there are numbers of chunks.
        ("((63 + x.size()[1]) // 64) == 5  # chunks = x.split(64)", "An entry serves one value of"),
        ("((63 + x.size()[1]) // 64) == 5  # if many(x) == 5:", "Each side of it is compiled once"),
        ("((63 + x.size()[1]) // 64) <= 5  # y = conv(x)", "Each side of it is compiled once"),
        ("((63 + x.size()[1]) // 64) != 5  # y = conv(x)", "Each side of it is compiled once"),
    ],
)
def test_a_number_of_chunks_is_no_condition_of_two_sides(
    guard: str, told: str, tmp_path: Path
) -> None:
    where = "  # oddlib/a.py:9 in scaled"
    log = tmp_path / "run.log"
    lines = enumerate([SIZES[0], guard + where], 1)
    text = "".join(RECOMPILE.format(n=n, last=n - 1, guard=one) for n, one in lines)
    log.write_text(text, encoding="utf-8")
    (found,) = [one for one in analyze(str(log)).findings if one.code == "RCP023"]
    assert told in found.message


@pytest.mark.parametrize(
    ("guard", "expected"),
    [
        ("(x.size()[1] % 32) > 0", "Pad dimension 1 of `x` to a multiple of 32 in every call"),
        ("(x.size()[1] % 32) != 0", "Pad dimension 1 of `x` to a multiple of 32 in every call"),
        ("(x.size()[1] % 32) == 0", "Pad dimension 1 of `x` to a multiple of 32 in every call"),
        ("(x.size()[1] % 8) != 3", "Pad dimension 1 of `x` to a multiple of 8 in every call"),
        ("((8 + (-1)*(x.size()[2] % 8)) % 8) <= 0", "Pad dimension 2 of `x` to a multiple of 8"),
        ("(8*(x.size()[0] // 8)) == x.size()[0]", "Pad dimension 0 of `x` to a multiple of 8"),
        ("(8*math.ceil(x.size()[0] / 8)) == x.size()[0]", "Pad dimension 0 of `x` to a multiple"),
        (
            "(32*x.size()[1]) == (64*(x.size()[1] // 2))",
            "Pad dimension 1 of `x` to a multiple of 2",
        ),
        (
            "(32*x.size()[1]) != (64*(x.size()[1] // 2))",
            "Pad dimension 1 of `x` to a multiple of 2",
        ),
        ("(((-1) + x.size()[0]) % 8) != 0", "so that `(-1) + x.size()[0]` is a multiple of 8"),
        ("(L['x'].size()[1] % 4) == 0", "Pad dimension 1 of `x` to a multiple of 4"),
    ],
)
def test_a_remainder_is_made_nothing_whatever_it_was_compared_with(
    guard: str, expected: str, tmp_path: Path
) -> None:
    """Both sides were met: to ask for the side that held in one entry can ask for a remainder."""
    (text,) = advised_texts(tmp_path, "RCP023", SIZES[0], guard)
    assert expected in text
    assert "the remainder is then 0" in text


def test_the_other_sizes_of_a_line_are_padded_too(tmp_path: Path) -> None:
    """Where the first condition holds, Python does not look at the second one."""
    line = "  # if rows > 0 or columns > 0:  # oddlib/a.py:9 in scaled"
    (text,) = advised_texts(tmp_path, "RCP023", SIZES[0], "(x.size()[2] % 8) > 0" + line)
    assert "dimension 2 of `x` to a multiple of 8 in every call, other sizes that the" in text


@pytest.mark.parametrize(
    "guard",
    [
        "(n % 8) == 0",
        "((x.size()[0] % 8) % 4) == 0",
        "((x.size()[0] + (x.size()[0] % 8)) % 8) == 0",
        "(8*(x.size()[0] // 4)) == x.size()[0]",
        "(32*x.size()[1]) == (48*(x.size()[1] // 2))",
        "(32*x.size()[1]) == (64*(x.size()[0] // 2))",
        "(x.size()[0] % 8) == x.size()[1]",
    ],
)
def test_what_padding_to_a_multiple_does_not_settle_is_not_padded_to_one(
    guard: str, tmp_path: Path
) -> None:
    assert advised(tmp_path, "RCP023", SIZES[0], guard) == []


def test_two_sizes_that_take_turns_are_no_size_that_keeps_changing(tmp_path: Path) -> None:
    """Two layers of a package share the function: each has its entry after the second call."""
    turns = [SIZES[0], "tensor 'x' size mismatch at index 1. expected 24, actual 16", SIZES[0]]
    assert advised(tmp_path, "RCP002", *turns) == []
    assert advised(tmp_path, "RCP002", *SIZES) != []


def test_a_library_s_function_is_left_out_by_assignment(tmp_path: Path) -> None:
    (folder,) = FIXTURES.glob("GBR013-*")
    log = folder / "fires-the-rest.log"
    copy = tmp_path / "run.log"
    copy.write_text(moved(log.read_text(encoding="utf-8")), encoding="utf-8")
    own, theirs = (
        [one.advice[0].code or "" for one in analyze(str(path)).findings if one.code == "GBR013"]
        for path in (log, copy)
    )
    assert set(own) == {"@torch.compiler.disable"}
    assert theirs
    for code in theirs:
        ast.parse(code)
        assert 'importlib.import_module("oddlib.' in code


def test_a_library_s_number_is_captured_only_after_modules_are_left_out() -> None:
    """What a package does with the number is not known: a branch on it breaks the graph again."""
    line = {"family": "scalar", "line": 3, "code": "n = x.sum().item() + 1"}
    theirs = BreakData(file=f"{LIBRARY}/a.py", package="oddlib", **line)
    own = BreakData(file="/home/ana/proj/a.py", **line)
    ids = [one.id for one in ScalarFromTensor().advise(theirs)]
    assert ids == ["not-named", "capture-scalars"]
    ids = [one.id for one in ScalarFromTensor().advise(own)]
    assert ids == ["keep-tensor", "capture-scalars", "read-outside"]


def test_a_library_s_unknown_size_is_captured_where_no_module_is_named() -> None:
    """A view that a package takes of the result may need the number: modules come first."""
    line = {"family": "dynamic_shape", "line": 3, "code": "y = x.masked_select(m)"}
    theirs = BreakData(file=f"{LIBRARY}/a.py", package="oddlib", **line)
    own = BreakData(file="/home/ana/proj/a.py", **line)
    ids = [one.id for one in DynamicOutputShape().advise(theirs)]
    assert ids == ["capture-size", "not-named"]
    beside = theirs.model_copy(update={"beside": ("self.encoder",)})
    ids = [one.id for one in DynamicOutputShape().advise(beside)]
    assert ids == ["compile-inner", "capture-size"]
    assert [one.id for one in DynamicOutputShape().advise(own)] == ["capture-size", "keep-size"]


def test_the_calls_that_lead_to_a_library_s_line_are_named() -> None:
    (folder,) = FIXTURES.glob("GBR001-*")
    found = next(
        f for f in analyze(str(folder / "fires-library.log")).findings if f.code == "GBR001"
    )
    (inner,) = [one for one in found.advice if one.id == "see-parts"]
    assert inner.text.endswith("It is reached through pool/glob.py:63.")


RECOMPILED = (
    "V1121 23:24:30.232000 2055 torch/_dynamo/guards.py:4786] [0/1] [__recompiles] {}\n".format
)


@pytest.mark.parametrize(
    ("files", "first"),
    [
        ([f"{LIBRARY}/net.py"], "report"),
        (["/home/ana/proj/net.py"], "channels-last-within"),
        ([f"{LIBRARY}/net.py", "/home/ana/proj/net.py"], "channels-last-within"),
        ([], "channels-last-within"),
    ],
)
def test_who_uses_a_model_of_a_package_edits_none_of_it(
    files: list[str], first: str, tmp_path: Path
) -> None:
    """Lines of oneDNN's name no file; the functions that the run compiles do."""
    (folder,) = FIXTURES.glob("ONE004-*")
    log = tmp_path / "run.log"
    records = [
        RECOMPILED(text).replace("[0/1]", f"[{number}/1]")
        for number, file in enumerate(files)
        for text in (
            f"Recompiling function forward in {file}:10",
            "    triggered by the following guard failure(s):",
            f"    - {number}/0: tensor 'x' size mismatch at index 1. expected 8, actual 9",
        )
    ]
    text = (folder / "fires-image-made-within.log").read_text(encoding="utf-8")
    log.write_text("".join(records) + text, encoding="utf-8")
    (finding,) = (one for one in analyze(str(log)).findings if one.code == "ONE004")
    assert finding.advice[0].id == first
    if first == "report":
        assert finding.advice[-1].text.startswith("For the authors of `oddlib`: no compiled graph")
