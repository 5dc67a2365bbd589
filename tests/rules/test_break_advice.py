"""What the rules about graph breaks advise, by what the log shows of the line and of the way."""

import ast
import gzip
from collections.abc import Sequence
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.dynamo.reporting import reports
from tracelens.report import Advice, Finding
from tracelens.rules.gbr import _parts
from tracelens.rules.gbr._break_data import BreakData
from tracelens.rules.gbr.data_dependent_branch import DataDependentBranch

OWN = "/home/ana/proj/model.py"
PACKAGE = "/home/ana/venv/lib/python3.11/site-packages/chatty/_core.py"
BRANCH = """Data-dependent branching
  Explanation: Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`).

  Developer debug context: attempted to jump with TensorVariable()
"""
ITEM = """Unsupported Tensor.item() call with capture_scalar_outputs=False
  Explanation: Dynamo does not support tracing `Tensor.item()`.

  Developer debug context: call_method TensorVariable() item () {}
"""
SKIPPED = """Attempted to call function marked as skipped
  Explanation: Dynamo does not know how to trace the builtin `{module}.{name}.`

  Developer debug context: module: {module}, qualname: {name}, skip reason: <missing reason>
"""
DISABLED = """Skip inlining `torch.compiler.disable()`d function
  Explanation: Skip inlining function <function update at 0x7f00> since it was wrapped with it

  Developer debug context: <function update at 0x7f00>
"""
LOOP = """
*** While handling this graph break, another graph break occurred: ***

graph break in loop
  Explanation: torch.compile detected a graph break in a for/while loop.

  Developer debug context: frame skipped: {function} ({file} line 3)
"""


def stack(*frames: tuple[str, int, str, str]) -> str:
    return "".join(
        f'  File "{f}", line {n}, in {name}\n    {code}\n' for f, n, name, code in frames
    )


def broken(room: Path, reason: str, *frames: tuple[str, int, str, str]) -> Finding:
    """Return the first finding of a log that holds one graph break, at the last of the frames."""
    file, line = frames[-1][:2]
    text = (
        f"Graph break in user code at {file}:{line}\nGraph Break Reason: {reason}\n"
        f"User code traceback:\n{stack(*frames)}"
    )
    prefix = "V1120 12:06:10.834000 77 torch/_dynamo/symbolic_convert.py:5124] [0/0] "
    log = room / "run.log"
    log.write_text("".join(f"{prefix}[__graph_breaks] {one}\n" for one in text.split("\n")))
    return analyze(str(log)).shown[0]


def failed(room: Path, message: str, *frames: tuple[str, int, str, str]) -> Finding:
    """Return the finding of a program that the same break ended, under ``fullgraph=True``."""
    log = room / "run.log"
    log.write_text(
        f'Traceback (most recent call last):\n  File "{OWN}", line 90, in <module>\n    main()\n'
        f"torch._dynamo.exc.Unsupported: {message}\nfrom user code:\n{stack(*frames)}\n"
        'Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace. For even more, set TORCH_LOGS="+dy'
        'namo"\n'
    )
    (finding,) = (f for f in analyze(str(log)).shown if f.code == "ERR016")
    return finding


def ids(finding: Finding) -> list[str]:
    return [advice.id for advice in finding.advice]


def code(finding: Finding, name: str) -> str:
    (advice,) = (one for one in finding.advice if one.id == name)
    return advice.code or ""


def test_what_keeps_a_number_keeps_no_gradient(tmp_path: Path) -> None:
    line = "self.ema = 0.9 * self.ema + 0.1 * loss.item()"
    found = broken(tmp_path, ITEM, (OWN, 7, "loss", line))
    assert code(found, "keep-in-buffer") == line.replace(".item()", ".detach()")
    line = "self.mean = loss.item() / len(x)"
    found = broken(tmp_path, ITEM, (OWN, 7, "loss", line))
    assert code(found, "keep-tensor") == line.replace(".item()", ".detach()")


@pytest.mark.parametrize(
    ("line", "is_kept"),
    [
        ("x = x[: lengths.max().item()]", False),
        ("mask = torch.arange(lengths.max().item())", False),
        ("x = x.view(n.item(), -1)", False),
        ("return Output(loss=loss.item())", True),
        ("scale = w.max().item() * self.gain[0]", True),
        ("y = f(x) * s.item()", True),
    ],
)
def test_a_tensor_in_place_of_a_size_is_read_all_the_same(
    tmp_path: Path, line: str, is_kept: bool
) -> None:
    found = broken(tmp_path, ITEM, (OWN, 7, "forward", line))
    assert ("keep-tensor" in ids(found)) == is_kept


@pytest.mark.parametrize(
    ("line", "first", "is_captured"),
    [
        ("meter.update(loss.item(), 8)", "read-outside", False),
        ("ptr = int(self.queue_ptr)", "read-outside", False),
        ("ptr = self.ptr[0].item()", "read-outside", False),
        ("self.last = float(loss.item())", "read-outside", False),
        ("n = lengths.max().item()", "keep-tensor", True),
        ("n = int(lengths.max())", "capture-scalars", True),
        ("x = x[: lengths.max().item()]", "capture-narrow", False),
        ("rows.mul_(scale.item())", "capture-scalars", True),
        ("torch._check(count.item() > 0)", "capture-scalars", True),
        ("self.__init__(loss.item())", "read-outside", False),
        ("y = x @ chain[parents[i]]", "indices-in-python", False),
        ("y = x @ chain[self.parents[i].item()]", "indices-in-python", False),
        ("y = x @ chain[last.item()]", "read-outside", False),
        ("x = self.blocks[int(which)](x)", "read-outside", False),
        ("x = x[rows[i] : rows[j]]", "ranges-in-python", False),
        ("x = x[:, 0 : rows[j].item()]", "capture-narrow", False),
    ],
)
def test_a_number_that_python_keeps_is_no_symbol_of_a_graph(
    tmp_path: Path, line: str, first: str, *, is_captured: bool
) -> None:
    """It would be guarded in the next step, where it is another one."""
    found = ids(broken(tmp_path, ITEM, (OWN, 7, "forward", line)))
    assert found[0] == first
    assert ("capture-scalars" in found) is is_captured


def test_a_call_that_wants_a_number_is_given_no_tensor(tmp_path: Path) -> None:
    line = 'self.writer.add_scalar("loss", loss.item())'
    found = broken(tmp_path, ITEM, (OWN, 7, "loss", line))
    assert ids(found)[0] == "report-in-eager"
    assert code(found, "report-in-eager").split("\n")[1].strip() == line
    assert "keep-tensor" not in ids(found)
    kept = broken(tmp_path, ITEM, (OWN, 7, "loss", "losses.append(loss.item())"))
    assert ids(kept)[0] == "keep-tensor"
    for line in ("self.losses.append(loss.item())", "stats[name].append(loss.item())"):
        grows = broken(tmp_path, ITEM, (OWN, 7, "loss", line))  # an entry for each length
        assert "keep-tensor" not in ids(grows)


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("if torch.isnan(x).any():", "raise-in-graph"),
        ("if not torch.isfinite(loss):", "raise-in-graph"),
        ("if pad.any():", "select"),
        ("if probs.max() > self.threshold:", "select"),
        ("if (x < 0).any():", "select"),
        ("if x.sum() > 0: return x", "compile-parts"),
        ("if conf > self.threshold: return logits, number", "compile-parts"),
    ],
)
def test_only_a_check_of_nan_is_taken_for_a_check(tmp_path: Path, line: str, first: str) -> None:
    assert ids(broken(tmp_path, BRANCH, (OWN, 7, "forward", line)))[0] == first


def test_a_function_without_modules_selects_what_it_returns(tmp_path: Path) -> None:
    line = (OWN, 7, "gate", "if x.sum() > 0: return x")
    assert ids(broken(tmp_path, BRANCH, line))[0] == "select"


def test_parts_that_no_guard_names_are_not_told_to_be_compiled(tmp_path: Path) -> None:
    line = ("/usr/lib/python3.11/site-packages/oddlib/net.py", 7, "forward", "if x.sum() > 0:")
    found = broken(tmp_path, BRANCH, line)
    assert "compile-inner" not in ids(found)
    assert ids(found)[0] == "see-parts"
    assert found.advice[0].env == 'TORCH_LOGS="graph_breaks,recompiles,guards"'


def test_a_branch_on_nan_that_may_mend_it_is_left_out_by_no_word(tmp_path: Path) -> None:
    """Half precision is clamped where it overflows: without that the results are others."""
    line = (OWN, 7, "forward", "if torch.isinf(hidden).any():")
    [only] = broken(tmp_path, BRANCH, line).advice
    assert only.id == "raise-in-graph"
    assert "If the branch only raises" in only.text
    assert "torch.where(torch.isinf(hidden).any()" in only.text
    assert "compile what `forward` calls" in only.text
    shown = (OWN, 7, "forward", 'if torch.isinf(hidden).any(): raise ValueError("overflow")')
    raised = {one.id: one for one in broken(tmp_path, BRANCH, shown).advice}
    assert list(raised) == ["raise-in-graph", "check-in-eager"]
    assert not any("If" in one.text for one in raised.values())


def test_what_may_be_a_check_is_told_both_ways_and_never_left_out(tmp_path: Path) -> None:
    [only] = broken(tmp_path, BRANCH, (OWN, 7, "forward", "if (x < 0).any():")).advice
    assert only.id == "select"
    assert '`torch._assert_async(~(x < 0).any(), "~(x < 0).any()")`' in only.text
    [plain] = broken(tmp_path, BRANCH, (OWN, 7, "forward", "if x.sum() < 0:")).advice
    assert "_assert_async" not in plain.text


GIVEN_UP = (
    "Failed to handle graph break gracefully. Skipping the function and falling back to eager. "
    f"Graph break encountered:\n\n{BRANCH}"
)


def test_a_branch_that_ends_the_loop_is_neither_selected_nor_asserted(tmp_path: Path) -> None:
    reason = GIVEN_UP + LOOP.format(function="decode", file=OWN)
    line = (OWN, 7, "decode", "if (token == EOS).all():")
    found = ids(broken(tmp_path, reason, line))
    assert found[0] == "compile-parts"
    assert not {"select", "cond", "raise-in-graph"} & set(found)


def test_a_branch_in_what_the_loop_calls_is_told_as_any_other(tmp_path: Path) -> None:
    reason = GIVEN_UP + LOOP.format(function="forward", file=OWN)
    way = (OWN, 4, "forward", "x = block(x, pad)"), (OWN, 20, "attend", "if pad.any():")
    found = ids(broken(tmp_path, reason, *way))
    assert found[0] == "select"
    assert "compile-parts" not in found


def test_what_is_disabled_is_called_outside(tmp_path: Path) -> None:
    line = "self.metric.update(pred, y)"
    found = broken(tmp_path, DISABLED, (OWN, 7, "forward", line))
    assert found.code == "GBR005"
    assert "`self.metric.update` after the compiled function" in found.advice[0].text
    used = broken(tmp_path, DISABLED, (OWN, 7, "forward", "w = self.weigh(x)"))
    assert "before the compiled function, or after it" in used.advice[0].text


def test_a_context_manager_of_the_program_is_entered_outside(tmp_path: Path) -> None:
    found = broken(
        tmp_path,
        SKIPPED.format(module="time", name="perf_counter"),
        (OWN, 20, "forward", 'with timed("encoder"):'),
        ("/usr/lib/python3.11/contextlib.py", 137, "__enter__", "return next(self.gen)"),
        (OWN, 7, "timed", "start = time.perf_counter()"),
    )
    assert ids(found) == ["call-outside"]
    assert '`timed("encoder")` around the call of the compiled function' in found.advice[0].text
    assert "proj/model.py:20" in found.advice[0].text


def test_what_enters_a_context_manager_is_given_up(tmp_path: Path) -> None:
    """The context manager is a generator: Dynamo compiles none by itself."""
    lost = (
        "Failed to handle graph break gracefully. Skipping the function and falling back to eager. "
        "Graph break encountered:\n\n" + SKIPPED.format(module="time", name="perf_counter")
    )
    line = (OWN, 7, "timed", "start = time.perf_counter()")
    entered = (
        (OWN, 20, "forward", 'with timed("encoder"):'),
        ("/usr/lib/python3.11/contextlib.py", 137, "__enter__", "return next(self.gen)"),
    )
    broken(tmp_path, lost, *entered, line)
    (found,) = [f for f in analyze(str(tmp_path / "run.log")).findings if f.code == "GBR006"]
    assert found.title.startswith("`forward` (proj/model.py:20) runs eagerly")
    broken(tmp_path, lost, (OWN, 20, "forward", "x = timed(x)"), line)
    (found,) = [f for f in analyze(str(tmp_path / "run.log")).findings if f.code == "GBR006"]
    assert found.title.startswith("`timed` ")


def test_the_step_of_an_optimizer_is_no_operator(tmp_path: Path) -> None:
    found = broken(
        tmp_path,
        "Attempted to inline function marked as skipped\n  Explanation: Dynamo developers have "
        "intentionally marked that the function `Optimizer.zero_grad` should not be traced.\n\n"
        "  Developer debug context: qualname: Optimizer.zero_grad, name: zero_grad, filename: "
        "`/home/ana/venv/lib/python3.11/site-packages/torch/optim/optimizer.py`, skip reason: no",
        (OWN, 7, "step", "self.opt.zero_grad()"),
    )
    assert ids(found) == ["step-outside"]


FRAME = SKIPPED.format(module="sys", name="_getframe")
WAY = (
    (OWN, 7, "forward", 'logger.debug("batch of {}", x.shape[0])'),
    (PACKAGE, 90, "debug", "self._log(message)"),
    (PACKAGE, 40, "_log", "frame = get_frame(2)"),
)


def test_a_line_that_only_reports_is_left_to_eager_runs(tmp_path: Path) -> None:
    found = broken(tmp_path, FRAME, *WAY)
    assert ids(found)[0] == "report-in-eager"
    assert code(found, "report-in-eager").startswith("if not torch.compiler.is_compiling():\n")
    outside = (OWN, 99, "main", "print(compiled(x))"), (OWN, 7, "forward", "x = native(x)")
    assert "report-in-eager" not in ids(broken(tmp_path, FRAME, *outside))
    used = (OWN, 7, "forward", "x = logger.mark(x)"), *WAY[1:]
    assert ids(broken(tmp_path, FRAME, *used))[0] == "leave-call-out"


@pytest.mark.parametrize(
    "line",
    [
        "self.log_alpha_optimizer.step()",
        "log_alpha.backward()",
        "x.log_()",
        "self.log_std.clamp_(-5, 2)",
        "warning_count.add_(1)",
        "log_probs.append(x.item())",
        "info.update(loss=x.item())",
        "self.log.update(loss=x.item())",
    ],
)
def test_what_changes_something_is_no_report_for_its_name(line: str) -> None:
    """Left to runs that are not compiled, nothing would be trained."""
    assert reports(line) == ""


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("pbar.update(1)", "update"),
        ("pbar.set_postfix(loss=loss.item())", "set_postfix"),
        ('wandb.log({"loss": loss.item()})', "log"),
        ('self.logger.experiment.add_scalar("loss", loss)', "add_scalar"),
        ('logging.getLogger(__name__).error("x")', "error"),
        ('self.log("loss", loss)', "log"),
        ("log_metrics(loss.item())", "log_metrics"),
        ("print(x)", "print"),
    ],
)
def test_what_writes_somewhere_is_a_report(line: str, name: str) -> None:
    assert reports(line) == name


def test_a_failure_under_fullgraph_is_advised_by_the_line_as_a_break_is(tmp_path: Path) -> None:
    found = failed(tmp_path, FRAME, *WAY)
    assert ids(found)[0] == "report-in-eager"
    assert ids(found)[-1] == "allow"
    assert "reached from proj/model.py:7" in found.message
    line = (OWN, 7, "check", "if torch.isnan(x).any():")
    checked = failed(tmp_path, BRANCH, (OWN, 30, "forward", "self.check(x)"), line)
    assert ids(checked) == ["raise-in-graph", "allow"]
    assert "~torch.isnan(x).any()" in code(checked, "raise-in-graph")


def test_a_missing_implementation_is_named_and_no_error_of_the_program(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(
        f'Traceback (most recent call last):\n  File "{OWN}", line 90, in <module>\n    main()\n'
        "torch._dynamo.exc.TorchRuntimeError: RuntimeError when making fake tensor call\n"
        "  Explanation: Dynamo failed to run FX node with fake tensors: call_function "
        "dsp.smooth.default(*(FakeTensor(..., size=(4, 64)),), **{}): got RuntimeError('There was "
        "no fake impl registered for <CustomOpDef(dsp::smooth)>. This is necessary for "
        "torch.compile/export/fx tracing to work.')\n\nfrom user code:\n"
        + stack((OWN, 7, "forward", "h = smooth(h)"))
    )
    (finding,) = (f for f in analyze(str(log)).shown if f.code == "ERR015")
    assert ids(finding) == ["fake-kernel"]
    assert '@torch.library.register_fake("dsp::smooth")' in code(finding, "fake-kernel")


DRAWN = """Unsupported method call
  Explanation: Dynamo does not know how to trace method `random` of class `Generator`

  Developer debug context: call_method UserDefinedObjectVariable(Generator) random [] {}
"""


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("if rng.random() < self.p:", "torch.rand(()) < self.p"),
        ("if 0.5 >= rng.random():", "0.5 >= torch.rand(())"),
        ("x = x * rng.random()", None),
        ("if rng.random(3) is y:", None),
        ("if not (rng.random() < self.p):", None),
        ("if self.always or rng.random() < self.p:", None),
        ("if rng.uniform(low=-1.0, high=1.0) < self.p:", None),
        ("if rng.random() < self.p and rng.random() < self.q:", None),
    ],
)
def test_a_branch_on_a_drawn_number_is_selected(
    tmp_path: Path, line: str, given: str | None
) -> None:
    found = broken(tmp_path, DRAWN, (OWN, 7, "forward", line))
    assert found.code == "GBR016"
    if given:
        assert code(found, "select") == f"torch.where({given}, if_true, if_false)"
        assert "torch-random" not in ids(found)
    else:
        assert "select" not in ids(found)


def test_what_else_the_branch_asks_for_is_asked_still(tmp_path: Path) -> None:
    """Layers are dropped in training alone."""
    line = "if self.training and rng.random() < self.p:"
    (select,) = code(broken(tmp_path, DRAWN, (OWN, 7, "forward", line)), "select").split("\n")[1:]
    assert select == "    x = torch.where(torch.rand(()) < self.p, if_true, if_false)"
    assert code(broken(tmp_path, DRAWN, (OWN, 7, "forward", line)), "select").startswith(
        "if self.training:\n"
    )


@pytest.mark.parametrize(
    ("reason", "way"),
    [
        (
            SKIPPED.format(module="tqdm.std", name="tqdm.__new__"),
            [(OWN, 7, "forward", "for i in bar(range(3)):")],
        ),
        (
            SKIPPED.format(module="torch._C._VariableFunctions", name="_pack"),
            [(OWN, 30, "main", "f(x)"), (OWN, 7, "forward", "x = torch._pack(x)")],
        ),
    ],
)
def test_neither_an_object_nor_the_forward_pass_becomes_an_operator(
    tmp_path: Path, reason: str, way: list[tuple[str, int, str, str]]
) -> None:
    assert ids(broken(tmp_path, reason, *way)) == ["call-outside"]


@pytest.mark.parametrize(
    ("function", "first"), [("_hasattr_static", "leave-call-out"), ("forward", "disable")]
)
def test_an_error_in_a_package_names_the_program_s_own_call(
    tmp_path: Path, function: str, first: str
) -> None:
    """A module of the package is nothing that its user can leave out."""
    log = tmp_path / "run.log"
    log.write_text(
        f'Traceback (most recent call last):\n  File "{OWN}", line 90, in <module>\n    main()\n'
        "torch._dynamo.exc.InternalTorchDynamoError: NotImplementedError: \n\nfrom user code:\n"
        + stack(
            (OWN, 7, "centers", "km = cluster(z.detach().numpy())"),
            (PACKAGE, 90, function, "return getattr_static(obj, attr)"),
            (PACKAGE, 40, "_inner", "return obj.attr"),
        )
    )
    (finding,) = (f for f in analyze(str(log)).shown if f.code == "ERR018")
    assert ids(finding)[0] == first
    assert "reached from proj/model.py:7" in finding.message


ITERATED = """
Stack variable source attribution:
  ListIteratorVariable(length=2, index=1) originated from:
  File "/home/ana/proj/model.py", line 8
            for p in parameters:
            ^^^^^^^^^^^^^^^^^^^^
                norm = p.norm().item()
                ^^^^^^^^^^^^^^^^^^^^^^
                {}
"""


@pytest.mark.parametrize(
    ("later", "is_kept"),
    [
        ("ratio = 1 / norm if norm > 0 else 1.0", False),
        ("p.mul_(min(norm, 1.0))", False),
        ("p.mul_(1 / norm)", True),
        ("ratio = 1.0 if p.is_leaf else 2.0", True),
        ("ratio = 1.0 if normal else 2.0", True),
    ],
)
def test_a_number_that_python_decides_by_later_is_not_kept_a_tensor(
    later: str, is_kept: bool, tmp_path: Path
) -> None:
    """A branch on the tensor would break the graph one line further down."""
    frame = (OWN, 9, "step", "norm = p.norm().item()")
    found = broken(tmp_path, ITEM + ITERATED.format(later), frame)
    assert ("keep-tensor" in [advice.id for advice in found.advice]) is is_kept


BUILTIN = """Failed to trace builtin operator
  Explanation: Dynamo does not know how to trace builtin operator `min`.

  Developer debug context: builtin min [<class 'int'>] False
"""
KL = "/usr/lib/python3.11/site-packages/torch/distributions/kl.py"


@pytest.mark.parametrize(
    ("code", "behind", "advice", "says"),
    [
        (
            "loss = kl_divergence(q, p) - px.log_prob(x)",
            [(KL, 180, "kl_divergence", "fun = find(p, q)"), (KL, 127, "_dispatch_kl", "min(x)")],
            "call-first",
            "`kl_divergence` looks up the formula",
        ),
        (
            "best = statistics.pick(sizes)",
            [("/usr/lib/python3.11/statistics.py", 20, "pick", "return min(sizes)")],
            "call-outside",
            "Call `statistics.pick`, which calls `min`, before the compiled function",
        ),
        ("best = min(sizes)", [], "call-outside", "Call `min` before the compiled function"),
    ],
)
def test_a_builtin_is_named_by_what_the_line_calls(
    code: str, behind: list[tuple[str, int, str, str]], advice: str, says: str, tmp_path: Path
) -> None:
    found = broken(tmp_path, BUILTIN, (OWN, 7, "forward", code), *behind)
    assert found.code == "GBR003"
    assert ids(found) == [advice]
    assert says in found.advice[0].text


BRANCH = """Data-dependent branching
  Explanation: Detected data-dependent branching.

  Developer debug context: attempted to jump with TensorVariable()
"""


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("while scores.max() > low:", "compile-parts"),
        ("if scores.max() > low:", "select"),
        ("if scores.max() > low and low:", "check-outside"),
    ],
)
def test_a_loop_on_a_tensor_is_left_to_python(line: str, advice: str, tmp_path: Path) -> None:
    """What it asks changes in each round: nobody can check it before or after."""
    found = broken(tmp_path, BRANCH, (OWN, 7, "suppress", line))
    assert found.code == "GBR002"
    told = set(ids(found)) & {"compile-parts", "select", "check-outside"}
    assert told == {advice}


def test_gradients_within_compiled_code_can_be_traced(tmp_path: Path) -> None:
    reason = (
        "using `torch.autograd.grad` with `torch._dynamo.config.trace_autograd_ops=False`\n"
        "  Explanation: Attempted to call `torch.autograd.grad` with config set to `False`.\n\n"
        "  Developer debug context: trace_autograd_ops=False\n"
    )
    found = broken(tmp_path, reason, (OWN, 9, "adapt", "g = torch.autograd.grad(loss, weights)"))
    assert found.code == "GBR010"
    assert "torch.autograd.grad()" in found.title
    assert [one.id for one in found.advice] == ["trace-grad"]


def test_a_copied_module_is_told_at_the_line_that_copies_it(tmp_path: Path) -> None:
    reason = (
        "Attempted to copy.deepcopy a tensor\n"
        "  Explanation: Dynamo does not support copy.deepcopy() on tensors.\n\n"
        "  Developer debug context: copy.deepcopy(TensorVariable())\n"
    )
    frames = [
        (OWN, 6, "adapt", "fast = copy.deepcopy(net)"),
        ("/usr/lib/python3.11/copy.py", 153, "deepcopy", "y = copier(memo)"),
    ]
    found = broken(tmp_path, reason, *frames)
    assert (found.code, found.where.line if found.where else 0) == ("GBR009", 6)
    assert [one.id for one in found.advice] == ["functional-call", "call-outside"]


def test_a_clock_in_a_context_manager_that_is_a_class_is_told_with_its_with(
    tmp_path: Path,
) -> None:
    reason = SKIPPED.format(module="time", name="perf_counter")
    frames = [
        (OWN, 13, "forward", 'with section("stem"):'),
        (OWN, 6, "__enter__", "self.begun = time.perf_counter()"),
    ]
    found = broken(tmp_path, reason, *frames)
    (advice,) = found.advice
    assert 'Enter `section("stem")` around the call' in (advice.text or "")


MODULE_CALL = "/home/ana/venv/lib/python3.11/site-packages/torch/nn/modules/module.py"
CALLS = ((MODULE_CALL, 1778, "_wrapped_call_impl", "x"), (MODULE_CALL, 1789, "_call_impl", "x"))


@pytest.mark.parametrize(("wrapped", "named"), [(False, True), (True, False)])
def test_the_compiled_module_itself_is_no_path(
    tmp_path: Path, *, wrapped: bool, named: bool
) -> None:
    """`self.net` is what was compiled, where torch's call of a module stands there twice."""
    outer = PACKAGE.replace("_core", "wrapper")
    finding = broken(
        tmp_path,
        BRANCH,
        (OWN, 9, "<module>", "loss = wrapper(x)"),
        (outer, 149, "forward", "return self.net(x)"),
        *(CALLS * (2 if wrapped else 1)),
        (PACKAGE, 5, "forward", "if x.sum() > 0:"),
    )
    [text] = [one.text for one in finding.advice if one.id == "see-parts"]
    assert ("`self.net`" in text) is named
    assert ("wrapper.py:149" in text) is named


NET = PACKAGE.replace("_core", "net")


def with_children(
    room: Path, broken_in: int, *children: tuple[str, str], others: Sequence[str] = ()
) -> list[str]:
    """Return the advice about an ``item()`` that ``self.head`` leads to, in one of its functions.

    The guards name what the function with ``self.head`` calls, and what ``others`` of one name in
    its file do, from line 20 on.
    """
    lines = []
    for index in range(broken_in):
        at = PACKAGE.replace("_core", f"_part{index}")
        frames = ((NET, 9, "forward", "x = self.head(x)"), (at, 5, "forward", "n = x.sum().item()"))
        text = (
            f"Graph break in user code at {at}:5\nGraph Break Reason: {ITEM}\n"
            f"User code traceback:\n{stack((OWN, 3, '<module>', 'model(x)'), *frames)}"
        )
        lines += [f"symbolic_convert.py:5124] [0/0] [__graph_breaks] {o}" for o in text.split("\n")]
    guards = ["TREE_GUARD_MANAGER:", "+- RootGuardManager"]
    guards += [
        f"| +- TYPE_MATCH: ___check_type_id(L['self']._modules['{name}'], 94708105250656), "
        f"type=<class '{kind}'>  # x = self.{name}(x)  # b/python3.11/site-packages/chatty/net.py:"
        f"{9 if name == 'head' else 8} in forward (HINT: type X)"
        for name, kind in children
    ]
    lines += [f"guards.py:4483] [0/0] [__guards] {one}" for one in guards]
    for number, other in enumerate(others, 20):
        path = "".join(f"._modules['{one}']" for one in other.split("."))
        guard = (
            f"| +- TYPE_MATCH: ___check_type_id(L['self']{path}, 94708105250656), type=<class "
            f"'chatty.net.Block'>  # x = self.{other.rpartition('.')[2]}(x)  # "
            f"b/python3.11/site-packages/chatty/net.py:{number} in forward (HINT: type Block)"
        )
        frame = 0 if "." in other else number
        begun = guards[:2] if frame else []
        lines += [f"guards.py:4483] [{frame}/0] [__guards] {one}" for one in (*begun, guard)]
    log = room / "run.log"
    log.write_text("".join(f"V1120 12:06:10.834000 77 torch/_dynamo/{one}\n" for one in lines))
    finding = next(f for f in analyze(str(log)).shown if f.code == "GBR001")
    return [advice.text for advice in finding.advice]


HEAD = ("head", "chatty.core.Head")
LINEAR = ("fc", "torch.nn.modules.linear.Linear")
ENCODER = ("encoder", "chatty.encoders.Encoder")


def test_what_is_called_beside_the_break_is_named(tmp_path: Path) -> None:
    first = with_children(tmp_path, 3, HEAD, LINEAR, ENCODER)[0]
    assert "such as `self.encoder`, each" in first
    assert "`self.fc`" not in first


@pytest.mark.parametrize("other", ["encoder.block", "head.block", "inner"])
def test_what_another_class_of_the_file_calls_is_not_beside_the_break(
    other: str, tmp_path: Path
) -> None:
    first = with_children(tmp_path, 3, HEAD, ENCODER, others=(other,))[0]
    assert "such as `self.encoder`, each" in first


@pytest.mark.parametrize("broken_in", [3, 2])
def test_a_single_layer_beside_a_part_full_of_breaks_is_nothing_to_compile(
    tmp_path: Path, broken_in: int
) -> None:
    (only,) = with_children(tmp_path, broken_in, HEAD, LINEAR)
    assert only.startswith("Let Dynamo capture the number")


WRAPPER = (
    (
        "/home/ana/venv/lib/python3.11/site-packages/torch/nn/modules/module.py",
        1,
        name,
        "return f()",
    )
    for name in ("_wrapped_call_impl", "_call_impl") * 2
)
WRAPPED = ((OWN, 3, "<module>", "model(x)"), *WRAPPER)


def broken_in_its_own_forward(
    room: Path, begun: str, resumed: str, *way: str, lines_cut: int = 6
) -> list[Advice]:
    """Return the advice about an ``item()`` in the ``forward`` of what is compiled.

    The guards name a module that it calls before it and layers behind it, in methods of the
    classes ``begun`` and ``resumed``. The functions on the ``way`` call each other. The ``forward``
    breaks at several lines, or at one.
    """
    frames = [(NET, 9, "forward", "n = size(x)"), *((NET, 30, one, "y = f(x)") for one in way)]
    text = (
        f"Graph break in user code at {NET}:{frames[-1][1]}\nGraph Break Reason: {ITEM}\n"
        f"User code traceback:\n{stack(*WRAPPED, *frames)}"
    )
    lines = [f"symbolic_convert.py:5124] [0/0] [__graph_breaks] {one}" for one in text.split("\n")]
    for at in range(40, 39 + lines_cut):
        again = (
            f"Graph break in user code at {NET}:{at}\nGraph Break Reason: {BRANCH}\n"
            f"User code traceback:\n{stack(*WRAPPED, (NET, at, 'forward', 'if x.sum() > 0:'))}"
        )
        lines += [
            f"symbolic_convert.py:5124] [0/0] [__graph_breaks] {one}" for one in again.split("\n")
        ]
    for number, kind, function, line, parts in (
        (0, begun, "forward", 8, ["encoder", "norm"]),
        (1, resumed, "torch_dynamo_resume_in_forward_at_9", 11, ["layers.0", "layers.1"]),
    ):
        guards = ["TREE_GUARD_MANAGER:", "+- RootGuardManager"]
        for path in ["", *parts]:
            kept = "".join(f"._modules['{one}']" for one in path.split(".") if one)
            part = "chatty.net.Block" if path != "norm" else "torch.nn.modules.LayerNorm"
            guards.append(
                f"| +- TYPE_MATCH: ___check_type_id(L['self']{kept}, 94708105250656), type=<class "
                f"'{part if path else kind}'>  # x = self.f(x)  # b/python3.11/site-packages/"
                f"chatty/net.py:{line} in {function} (HINT: type X)"
            )
        lines += [f"guards.py:4483] [{number}/0] [__guards] {one}" for one in guards]
    log = room / "run.log"
    log.write_text("".join(f"V1120 12:06:10.834000 77 torch/_dynamo/{one}\n" for one in lines))
    finding = next(f for f in analyze(str(log)).shown if f.code == "GBR001")
    return list(finding.advice)


@pytest.mark.parametrize("way", [(), ("size",)])
def test_what_the_compiled_module_itself_calls_is_compiled_instead(
    way: tuple[str, ...], tmp_path: Path
) -> None:
    first = broken_in_its_own_forward(tmp_path, "chatty.net.Net", "chatty.net.Net", *way)[0]
    assert first.id == "compile-called-parts"
    assert first.code == (
        "model.encoder = torch.compile(model.encoder)\n"
        "for n, part in enumerate(model.layers):\n"
        "    if part is not None:\n"
        "        model.layers[n] = torch.compile(part)"
    )


@pytest.mark.parametrize("lines_cut", [1, 5])
def test_parts_that_are_more_graphs_than_breaks_leave_are_not_compiled(
    lines_cut: int, tmp_path: Path
) -> None:
    """Three modules in place of a `forward` that breaks at one line, or at five."""
    net = "chatty.net.Net"
    advice = broken_in_its_own_forward(tmp_path, net, net, lines_cut=lines_cut)
    assert all(one.id != "compile-called-parts" for one in advice)
    assert all(one.id != "leave-break" for one in advice)


@pytest.mark.parametrize(
    ("part", "printed"),
    [
        ("encoder", "model.encoder = torch.compile(model.encoder)"),
        ("net.encoder", "model.net.encoder = torch.compile(model.net.encoder)"),
        (
            "layers.0",
            (
                "for n, part in enumerate(model.layers):\n    if part is not None:\n"
                "        model.layers[n] = torch.compile(part)"
            ),
        ),
        (
            "layers.3.1",
            (
                "for layer in model.layers:\n    for n, part in enumerate(layer):\n"
                "        if part is not None:\n            layer[n] = torch.compile(part)"
            ),
        ),
        (
            "layers.0.attn",
            (
                'for layer in model.layers:\n    if hasattr(layer, "attn"):\n'
                "        layer.attn = torch.compile(layer.attn)"
            ),
        ),
        (
            "a.0.b.1.c",
            (
                "for layer in model.a:\n    for layer2 in layer.b:\n"
                '        if hasattr(layer2, "c"):\n            layer2.c = torch.compile(layer2.c)'
            ),
        ),
    ],
)
def test_a_part_is_compiled_by_lines_of_python(part: str, printed: str) -> None:
    assert _parts._statement(part.split(".")) == printed
    ast.parse(printed)


@pytest.mark.parametrize(
    ("resumed", "way"), [("chatty.net.Head", ()), ("chatty.net.Net", ("forward",))]
)
def test_a_module_within_the_compiled_one_is_not_taken_for_it(
    resumed: str, way: tuple[str, ...], tmp_path: Path
) -> None:
    """A record may leave out modules on the way; the class of ``self`` tells."""
    advice = broken_in_its_own_forward(tmp_path, "chatty.net.Net", resumed, *way)
    assert "compile-called-parts" not in [one.id for one in advice]


def test_a_line_that_an_inner_function_breaks_at_too_is_not_of_the_outer_one(
    tmp_path: Path,
) -> None:
    """torch merges `forward` with the `forward` that it calls: a stack has one of them."""
    broken_in_its_own_forward(tmp_path, "chatty.net.Net", "chatty.net.Net")
    log = tmp_path / "run.log"
    again = (
        "V1120 12:06:11.834000 77 torch/_dynamo/symbolic_convert.py:5131] [{}] [__graph_breaks] "
        "Graph break (user stack suppressed due to duplicate graph break) in user code at "
        f"{NET}:9\n"
    )
    prefix = again.partition("Graph break")[0]
    again += "".join(f"{prefix}{one}\n" for one in f"Graph Break Reason: {ITEM}".splitlines())
    text = log.read_text()
    for frame, advised in (("0/1", True), ("2/0", False)):
        log.write_text(text + again.replace("{}", frame, ITEM.count("\n") + 2))
        finding = next(f for f in analyze(str(log)).shown if f.code == "GBR001")
        assert finding.data["records"] == 2
        assert ("compile-called-parts" in [one.id for one in finding.advice]) is advised


def test_guards_that_name_no_module_say_nothing_about_what_is_beside(tmp_path: Path) -> None:
    (only,) = with_children(tmp_path, 3)
    assert only.startswith("Let Dynamo capture the number")


@pytest.mark.parametrize(
    ("caller", "lost", "is_advised"),
    [("forward", "nms", True), ("forward", "forward", False), ("<module>", "nms", False)],
)
def test_a_loop_over_values_is_called_outside_where_another_function_calls_it(
    caller: str, lost: str, is_advised: bool, tmp_path: Path
) -> None:
    reason = (
        "Data dependent operator\n"
        "  Explanation: Operator `aten._local_scalar_dense.default` has a data-dependent output.\n"
        "\n  Developer debug context: aten._local_scalar_dense.default\n"
        + LOOP.format(function=lost, file=OWN)
    )
    frames = [(OWN, 13, caller, "kept = nms(b)"), (OWN, 32, "nms", "near = boxes[order[1:]]")]
    found = broken(tmp_path, reason, *frames)
    assert ("function-outside" in {one.id for one in found.advice}) == is_advised
    assert ("in-python" in {one.id for one in found.advice}) != is_advised


def test_modules_that_torch_leaves_out_of_a_stack_are_named_by_the_guards() -> None:
    """`forward` of the model calls that of `self.head`, and the stack has the inner one alone."""
    folder = next((Path(__file__).parents[2] / "fixtures" / "rules").glob("GBR002-*"))
    log = folder / "fires-library-inner.log"
    first = next(f for f in analyze(str(log)).shown if f.code == "GBR002").advice[0]
    assert first.id == "compile-inner"
    assert "`self.trunk`" in first.text
    assert "It is reached through `self.head`." in first.text


@pytest.mark.parametrize("known", [True, False])
def test_modules_on_a_way_of_three_are_named_class_by_class(tmp_path: Path, *, known: bool) -> None:
    """Three `forward` call each other; what is beside the last is called by the second."""
    folder = next((Path(__file__).parents[2] / "fixtures" / "rules").glob("GBR002-*"))
    text = gzip.decompress((folder / "fires-library-twice-merged.log.gz").read_bytes()).decode()
    if not known:  # the class in between is another than the one that the model holds
        text = text.replace("type=<class 'oddlib.Backbone'>  # x = ", "type=<class 'oddlib.B'>  # ")
    log = tmp_path / "run.log"
    log.write_text(text)
    found = next(f for f in analyze(str(log)).shown if f.code == "GBR002")
    assert [one.id for one in found.advice][:1] == ["compile-inner"] * known
    told = " ".join(one.text for one in found.advice[:1])
    assert ("`self.model.encoder`, each" in told) == known
    assert ("It is reached through `self.model" in told) == known


def test_the_body_of_a_class_is_not_told_as_a_function_that_was_given_up(tmp_path: Path) -> None:
    """Its break stands at the line of the class, which is what cannot be traced."""
    folder = next((Path(__file__).parents[2] / "fixtures" / "rules").glob("GBR012-*"))
    text = (folder / "fires-class-body.log").read_text()
    log = tmp_path / "run.log"
    log.write_text(text)
    codes = [found.code for found in analyze(str(log)).shown]
    assert "GBR012" in codes
    assert "GBR006" not in codes
    log.write_text(text.replace("LOAD_NAME", "LOAD_LOCALS"))  # something else that was given up
    assert "GBR006" in [found.code for found in analyze(str(log)).shown]


def test_a_class_that_no_guard_names_is_not_taken_for_the_one_that_breaks(tmp_path: Path) -> None:
    """The class of the inner `self` is another than those that the compiled module holds."""
    folder = next((Path(__file__).parents[2] / "fixtures" / "rules").glob("GBR002-*"))
    text = (folder / "fires-library-inner.log").read_text()
    head, own, inner = text.partition("[1/0] [__guards] GUARDS:")
    assert own
    log = tmp_path / "run.log"
    log.write_text(head + own + inner.replace("oddlib.Head", "oddlib.Neck"))
    finding = next(f for f in analyze(str(log)).shown if f.code == "GBR002")
    assert finding.advice == ()
    assert "the record does not tell by which modules it is reached." in finding.message


def test_what_asks_for_no_change_is_said_in_the_message() -> None:
    """Modules beside the line that are single layers, and a branch, which no setting captures."""
    rule = DataDependentBranch()
    data = BreakData(family="branch", file=NET, line=9, package="chatty", alone=True)
    for advice, said in (
        (rule.advise(data), "more graphs than the break leaves"),
        (rule.advise(data.model_copy(update={"alone": False})), "the record does not tell"),
    ):
        finding = rule.finding("it", title="it", message="It breaks.", advice=advice)
        assert finding.advice == ()
        assert finding.message.startswith("It breaks. No change is named: the line is in `chatty`,")
        assert said in finding.message
    both = (*rule.advise(data), Advice(id="change", text="Do so."))
    finding = rule.finding("it", title="it", message="It breaks.", advice=both)
    assert ids(finding) == ["change"]
    assert finding.message == "It breaks."


def test_a_gradient_in_each_round_is_compiled_by_itself() -> None:
    """Traced, those of all rounds would be one graph; what is marked for it belongs to it."""
    rules = Path(__file__).parents[2] / "fixtures" / "rules"
    log = rules / "GBR010-autograd-inside-graph" / "fires-in-rounds-2.13.log"
    taken, marked = (one for one in analyze(str(log)).findings if one.code == "GBR010")
    assert [one.id for one in taken.advice] == ["one-gradient"]
    assert marked.title.startswith("`requires_grad_()`")
    assert marked.explained_by == taken.id
