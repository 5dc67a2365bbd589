"""What is left out where a graph breaks in a package: all calls that lead there, by real names."""

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding

OWN = "/home/ana/proj/model.py"
PACKAGE = "/home/ana/venv/lib/python3.11/site-packages/waves/_core.py"
FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
BRANCH = """Data-dependent branching
  Explanation: Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`).

  Developer debug context: attempted to jump with TensorVariable()
"""
MAKING = """Unsupported method call
  Explanation: Dynamo does not know how to trace method `__new__` of class `type`

  Developer debug context: call_method UserDefinedClassVariable(<class 'waves._core.Wave'>) \
__new__ [UserDefinedClassVariable(<class 'waves._core.Wave'>)] {}
"""
PRINTED = "Graph break in user code at"
KNOWN = "Graph break (user stack suppressed due to duplicate graph break) in user code at"
FIRST = (OWN, 7, "forward", "x = waves.up(x)"), (PACKAGE, 40, "up", "if x.max() > 1:")
SECOND = (OWN, 9, "forward", "x = waves.down(x)"), (PACKAGE, 40, "down", "if x.max() > 1:")


def findings(
    room: Path, *records: tuple[str, tuple[tuple[str, int, str, str], ...]], reason: str = BRANCH
) -> list[Finding]:
    """Return what is found in a log of breaks at one line: numbers of functions, and ways."""
    lines = []
    for number, way in records:
        text = f"{PRINTED if way else KNOWN} {PACKAGE}:40\nGraph Break Reason: {reason}"
        if way:
            steps = (f'  File "{f}", line {n}, in {name}\n    {c}\n' for f, n, name, c in way)
            text += f"User code traceback:\n{''.join(steps)}"
        prefix = (
            "V1120 12:06:10.834000 77 torch/_dynamo/symbolic_convert.py:5124] "
            f"[{number}] [__graph_breaks] "
        )
        lines += [prefix + line for line in text.splitlines()]
    log = room / "run.log"
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return list(analyze(str(log)).findings)


def advised(found: list[Finding], code: str = "GBR002") -> str:
    (one,) = [one for one in found if one.code == code]
    return next(advice.text for advice in one.advice if advice.id == "leave-call-out")


def test_each_of_the_calls_that_lead_there_is_named(tmp_path: Path) -> None:
    text = advised(findings(tmp_path, ("0/0", FIRST), ("1/0", SECOND)))
    assert text.startswith(
        "The calls at proj/model.py:7 and proj/model.py:9 lead there: leave them"
    )
    assert "Other calls" not in text


@pytest.mark.parametrize(
    ("numbers", "others"),
    [
        (("1/0",), False),  # `up` itself, behind the break in `forward`
        (("0/1", "1/0", "1/1"), False),  # the same two functions for other sizes
        (("1/0", "2/0", "3/0"), True),
    ],
)
def test_calls_that_torch_does_not_print_may_lead_there_too(
    tmp_path: Path, numbers: tuple[str, ...], *, others: bool
) -> None:
    text = advised(findings(tmp_path, ("0/0", FIRST), *((number, ()) for number in numbers)))
    assert text.startswith("The call at proj/model.py:7 leads there: leave it out")
    assert ("Other calls of `waves` may lead there" in text) == others


def test_the_class_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (found,) = [
        one for one in findings(tmp_path, ("0/0", FIRST), reason=MAKING) if one.code == "GBR012"
    ]
    assert found.title.endswith("Unsupported method call (making a `waves._core.Wave`)")
    (other,) = [
        one
        for one in findings(tmp_path, ("0/0", FIRST), reason=MAKING.replace("__new__ ", "wave "))
        if one.code == "GBR012"
    ]
    assert other.title.endswith("Unsupported method call")


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("torch_dynamo_resume_in_fold_at_40", "Leave `fold`"),
        ("fold", "Leave `fold`"),
        ("<lambda>", "Leave the function that holds"),
    ],
)
def test_what_is_left_out_has_the_name_that_the_program_gave_it(
    tmp_path: Path, written: str, told: str
) -> None:
    text = (FIXTURES / "GBR013-suppressed-errors/fires-one-operator.log").read_text("utf-8")
    log = tmp_path / "run.log"
    log.write_text(text.replace(", in forward\n", f", in {written}\n"), encoding="utf-8")
    (found,) = [one for one in analyze(str(log)).findings if one.code == "GBR013"]
    advice = next(one for one in found.advice if one.id == "leave-out")
    assert advice.text.startswith(told)
    assert "resume_in" not in f"{advice.text}{advice.code}"
    assert bool(advice.code) == (written != "<lambda>")


PLAIN = "DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU)"


@pytest.mark.parametrize(
    ("keys", "first"),
    [
        ("CPU, BackendSelect, FuncTorchDynamicLayerFrontMode", "RCP011"),
        ("CPU, BackendSelect", "GBR006"),  # of inference mode: no cause of what is given up
    ],
)
def test_what_is_given_up_under_a_transformation_follows_from_its_tensors(
    tmp_path: Path, keys: str, first: str
) -> None:
    given_up = (FIXTURES / "GBR006-break-in-loop-skips-frame/fires-under-vmap.log").read_text()
    prefix = "V1124 00:10:41.000000 27202 torch/_dynamo/guards.py:5396] [0/1] [__recompiles] "
    actual = f"DispatchKeySet({keys})"
    lines = (
        "Recompiling function scaled in /home/ana/proj/model.py:6",
        "    triggered by the following guard failure(s):",
        f"    - 0/0: tensor 'x' dispatch key set mismatch. expected {PLAIN}, actual {actual}",
    )
    log = tmp_path / "run.log"
    text = "".join(f"{prefix}{line}\n" for line in lines) + given_up.replace("[0/0]", "[0/1]")
    log.write_text(text, encoding="utf-8")
    found = [one for one in analyze(str(log)).findings if one.severity != "none"]
    assert found[0].code == first
    (lost,) = [one for one in found if one.code == "GBR006"]
    assert (lost.explained_by is not None) == (first == "RCP011")


PROXY = """Failed to convert args/kwargs to proxy
  Explanation: Missing `as_proxy()` implementation for some arg/kwarg.

  Developer debug context: call_function args: UserDefinedObjectVariable(Wave) TensorVariable()
"""


@pytest.mark.parametrize(("at", "told"), [(FIRST, False), (FIRST[:1], True)])
def test_nobody_edits_the_class_of_a_package(
    tmp_path: Path, at: tuple[tuple[str, int, str, str], ...], *, told: bool
) -> None:
    found = findings(tmp_path, ("0/0", at), reason=PROXY)
    if told:  # the line is the program's own, and the class may be
        log = tmp_path / "run.log"
        log.write_text(log.read_text().replace(f"{PACKAGE}:40", f"{OWN}:7"), encoding="utf-8")
        found = list(analyze(str(log)).findings)
    (one,) = [one for one in found if one.code == "GBR012"]
    assert ("flatten" in {advice.id for advice in one.advice}) == told


@pytest.mark.parametrize("own", [True, False])
def test_a_package_s_gradients_are_not_the_program_s_losses(tmp_path: Path, *, own: bool) -> None:
    text = (FIXTURES / "ERR020-donated-buffer-used-again/fires-retained.log").read_text()
    log = tmp_path / "run.log"
    log.write_text(text if own else text.replace("/home/ana/proj/", PACKAGE[:-8]), encoding="utf-8")
    (one,) = [one for one in analyze(str(log)).findings if one.code == "ERR020"]
    assert [advice.id for advice in one.advice] == (["off", "once"] if own else ["off"])


SKIPPING = """Failed to handle graph break gracefully. Skipping the function and falling back to \
eager. Graph break encountered:

"""
LOOP = """
*** While handling this graph break, another graph break occurred: ***

graph break in loop
  Explanation: torch.compile detected a graph break in a for/while loop.

  Developer debug context: frame skipped: {function} (/home/ana/proj/model.py line 3)
"""


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("torch_dynamo_resume_in_forward_at_3", "the rest of `forward` ("),
        ("forward", "`forward` ("),
    ],
)
def test_a_function_that_dynamo_made_is_told_as_the_rest_of_the_program_s(
    tmp_path: Path, function: str, told: str
) -> None:
    reason = SKIPPING + BRANCH + LOOP.format(function=function)
    (lost,) = [
        one for one in findings(tmp_path, ("0/0", FIRST), reason=reason) if one.code == "GBR006"
    ]
    assert lost.title.startswith(told)


def test_a_title_about_recompiles_names_the_program_s_function() -> None:
    log = FIXTURES / "RCP007-module-int-attribute/fires-kept-behind-a-break.log"
    titles = [one.title for one in analyze(str(log)).findings if one.code == "RCP007"]
    assert any(title.startswith("the rest of `forward` ") for title in titles)
    assert not any("_resume_in_" in title for title in titles)


@pytest.mark.parametrize(
    ("kept", "is_behind"),
    [
        ("[2/0] [2/1] [2/2] [2/3] [2/4]", True),
        ("", False),  # it does not break there: nothing tells why it is compiled by itself
    ],
)
def test_what_is_compiled_by_itself_behind_a_break_follows_from_it(
    tmp_path: Path, kept: str, *, is_behind: bool
) -> None:
    text = (FIXTURES / "RCP006-string-or-constant-key/fires-behind-a-break.log").read_text()
    lines = [
        line
        for line in text.splitlines()
        if "[__graph_breaks]" not in line or "[2/" not in line or line.split("] ")[1] + "]" in kept
    ]
    log = tmp_path / "run.log"
    log.write_text("\n".join(lines) + "\n")
    found = {one.code: one for one in analyze(str(log)).findings if one.severity != "none"}
    assert (found["RCP006"].explained_by == found["GBR002"].id) == is_behind


@pytest.mark.parametrize("again", [False, True])
def test_the_programs_own_function_follows_where_what_calls_it_is_compiled_once(
    tmp_path: Path, *, again: bool
) -> None:
    """Else it may be what the program compiles: its recompiles are a matter of their own."""
    text = (FIXTURES / "RCP006-string-or-constant-key/fires-behind-a-break.log").read_text()
    text = text.replace("venv/lib/python3.11/site-packages/fieldlib", "proj/fieldlib")
    if again:
        at = "V1126 18:00:00.000000 7 torch/_dynamo/guards.py:5396] [0/1] [__recompiles] "
        at = at.replace(" 7 ", f" {text.split()[2]} ")
        text += f"{at}Recompiling function loss in /home/ana/proj/spots.py:6\n"
        text += f"{at}    triggered by the following guard failure(s):\n"
        text += f"{at}    - 0/0: tensor 'x' rank mismatch. expected 2, actual 3\n"
    log = tmp_path / "run.log"
    log.write_text(text)
    found = {one.code: one for one in analyze(str(log)).findings if one.severity != "none"}
    assert (found["RCP006"].explained_by is None) == again
