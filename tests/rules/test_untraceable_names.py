"""A function that Dynamo cannot trace is called what the program calls it."""

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding
from tracelens.rules.gbr._break_data import BreakData
from tracelens.rules.gbr.untraceable_function import UntraceableFunction

VARIABLE = "_LegacyVariableBase.__new__"
LOGS = Path(__file__).parents[2] / "fixtures" / "rules" / "GBR009-untraceable-function"


@pytest.fixture(scope="module")
def found() -> dict[str, Finding]:
    report = analyze(str(LOGS / "fires-inlined-2.13.log"))
    return {f.data["name"]: f for f in report.findings if f.code == "GBR009"}


@pytest.mark.parametrize(
    ("name", "in_title", "in_advice"),
    [
        # "qualname: DataLoader.__init__, name: __init__, filename: ...", called in the line
        ("DataLoader.__init__", "DataLoader.__init__", "torch.utils.data.DataLoader"),
        ("GradScaler.__init__", "GradScaler.__init__", "torch.amp.GradScaler"),
        ("TestCase.__init__", "TestCase.__init__", "D"),
        # the line calls what calls it, in the standard library
        ("_thread.get_ident", "_thread.get_ident", "threading.Thread"),
        ("sys._getframe", "sys._getframe", "inspect.stack"),
        ("posix.urandom", "posix.urandom", "uuid.uuid4"),
        ("_hashlib.openssl_md5", "_hashlib.openssl_md5", "hashlib.md5"),
    ],
)
def test_title_and_advice_name_the_call(
    found: dict[str, Finding], name: str, in_title: str, in_advice: str
) -> None:
    finding = found[name]
    assert f"`{in_title}`" in finding.title
    (advice,) = [one for one in finding.advice if one.id == "call-outside"]
    assert advice.text == f"Call `{in_advice}` before or after the compiled function."


def test_python_s_own_functions_are_not_to_be_operators(found: dict[str, Finding]) -> None:
    for finding in found.values():
        for advice in finding.advice:
            assert "mine::get_ident" not in (advice.code or "")
            assert "mine::openssl_md5" not in (advice.code or "")


def test_a_function_of_an_extension_may_be_one() -> None:
    report = analyze(str(LOGS / "fires-scipy.log"))
    (finding,) = [f for f in report.findings if f.code == "GBR009"]
    assert "`linear_sum_assignment`" in finding.title


@pytest.mark.parametrize(
    ("log", "advice"),
    [
        ("fires-beartype.log", ["unwrap"]),
        ("fires-python.log", ["torch-random", "draw-before"]),
    ],
)
def test_a_wrapper_that_checks_arguments_is_taken_off(log: str, advice: list[str]) -> None:
    report = analyze(f"fixtures/rules/GBR016-random-or-numpy-state/{log}")
    found = [one for one in report.findings if one.code == "GBR016"]
    assert found
    for one in found:
        assert [each.id for each in one.advice] == advice


@pytest.mark.parametrize(
    ("name", "scripted"),
    [
        ("ScriptModule.__getattr__", True),
        ("RecursiveScriptModule.__getattr__", True),
        ("Proxy.__getattr__", False),
        ("ScriptModule.save", False),
    ],
)
def test_a_method_of_torchscript_is_left_out_and_not_called_elsewhere(
    name: str, scripted: bool, tmp_path: Path
) -> None:
    at = "V1124 00:00:59.833000 23 torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks]"
    lines = [
        " Graph break in user code at /home/ana/proj/model.py:18",
        " Graph Break Reason: Attempted to inline function marked as skipped",
        (
            "   Explanation: Dynamo developers have intentionally marked that the function "
            f"`{name}` should not be traced."
        ),
        "",
        (
            f"   Developer debug context: qualname: {name}, name: {name.rpartition('.')[2]}, "
            "filename: `/usr/torch/jit/_script.py`, skip reason: file matches MOD_SKIPLIST"
        ),
        "",
        " User code traceback:",
        '   File "/home/ana/proj/model.py", line 18, in walk',
        "     return self.one(x)",
        "",
    ]
    log = tmp_path / "run.log"
    log.write_text("".join(f"{at}{line}\n" for line in lines))
    (finding,) = [f for f in analyze(str(log)).findings if f.code == "GBR009"]
    ids = [one.id for one in finding.advice]
    assert (ids[0] == "scripted-class") is scripted
    assert ("call-outside" in ids) is not scripted


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("m = torch.autograd.Variable(m, requires_grad=False) / keep", "m = m.detach() / keep"),
        ("y = Variable(a + b, requires_grad=True)", "y = (a + b).detach().requires_grad_()"),
        ("if Variable(x).sum() > 0:", "if x.detach().sum() > 0:"),
        ("h = Variable(x.data, volatile=True)", "h = x.data.detach()"),
        ("h = Variable(x, requires_grad=self.training)", None),  # a value decides
        ("h = [Variable(a), Variable(b)]", None),
        ("h = Variable(", None),  # the first line of a call
    ],
)
def test_a_variable_is_a_tensor_that_is_detached(line: str, instead: str | None) -> None:
    data = BreakData(family="skipped", file="/home/ana/proj/a.py", line=3, name=VARIABLE, code=line)
    (advice,) = UntraceableFunction().advise(data)
    assert (advice.id, advice.code) == ("detach", instead)
    other = UntraceableFunction().advise(data.model_copy(update={"name": "mine.Variable"}))
    assert "detach" not in [one.id for one in other]


def test_a_variable_of_a_package_is_for_its_authors_to_change() -> None:
    rule = UntraceableFunction()
    file = "/home/ana/venv/lib/python3.11/site-packages/oddlib/drop.py"
    data = BreakData(family="skipped", file=file, line=3, name=VARIABLE, package="oddlib")
    finding = rule.finding("it", title="it", message="It breaks.", advice=rule.advise(data))
    assert finding.advice == ()
    assert finding.message.endswith("a change for the authors of `oddlib`.")
