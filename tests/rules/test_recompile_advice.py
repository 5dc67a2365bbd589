"""What is advised about a recompile fits the guard, and its numbers are those of the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding
from tracelens.rules.rcp._data import Guard, RecompileData
from tracelens.rules.rcp._remainder import MAX_BRACKETS, Multiple, multiples
from tracelens.rules.rcp.dtype_mismatch import DtypeMismatch

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
TORCH = "/home/ana/venv/lib/python3.11/site-packages/torch"
HEAD = "V1122 09:15:3{}.073000 528 torch/_dynamo/guards.py:5396] [0/{}] [__recompiles] "


def recompiled(function: str, *reasons: str) -> str:
    """Return a log in which every entry of a function fails for the reason of its number."""
    lines: list[str] = []
    for number, reason in enumerate(reasons, 1):
        head = HEAD.format(number, number)
        lines += [
            f"{head}Recompiling function {function} in /home/ana/proj/net.py:14",
            f"{head}    triggered by the following guard failure(s):",
            f"{head}    - 0/{number - 1}: {reason}",
        ]
    return "\n".join(lines) + "\n"


def told(code: str, text: str, folder: Path) -> Finding:
    path = folder / "run.log"
    path.write_text(text, encoding="utf-8")
    (found,) = (one for one in analyze(str(path)).findings if one.code == code)
    return found


def ids(finding: Finding) -> list[str]:
    return [advice.id for advice in finding.advice]


@pytest.mark.parametrize(
    ("source", "is_advised"),
    [("self.membrane", True), ("self._modules['backbone']._parameters['weight']", False)],
)
def test_a_call_leaves_state_and_no_flag_of_a_parameter(
    source: str, is_advised: bool, tmp_path: Path
) -> None:
    reason = f"tensor '{source}' requires_grad mismatch. expected requires_grad=0"
    found = told("RCP012", recompiled("forward", reason), tmp_path)
    assert ("call-first" in ids(found)) == is_advised


@pytest.mark.parametrize(("function", "form"), [("total", False), ("wrapper", True)])
def test_who_takes_args_for_itself_is_not_told_to_call_in_one_form(
    function: str, form: bool, tmp_path: Path
) -> None:
    reasons = [f"len(args) == {length}" for length in (2, 3, 4)]
    found = told("RCP017", recompiled(function, *reasons), tmp_path)
    assert ("one-form" in ids(found)) == form
    assert ("stack" in ids(found)) != form


def test_an_empty_batch_is_answered_as_one_of_one_is(tmp_path: Path) -> None:
    for at, words in ((0, "leave out an empty batch"), (1, "a length of 0 or 1")):
        reasons = [
            f"tensor 'x' size mismatch at index {at}. expected {n}, actual 0" for n in (4, 6)
        ]
        found = told("RCP016", recompiled("forward", *reasons), tmp_path)
        (pad,) = (one for one in found.advice if one.id == "pad")
        assert words in (pad.text or "")


@pytest.mark.parametrize(("depth", "is_read"), [(1, True), (MAX_BRACKETS, True), (5_000, False)])
def test_brackets_that_no_program_writes_are_not_looked_through(depth: int, is_read: bool) -> None:
    """Each pair is looked at from end to end: as many passes as there are pairs take seconds."""
    name = f"{'(' * depth}x.size()[0] % 8{')' * depth}"
    guard = Guard(kind="value", name=name, scope="L", operator="==", expected="0")
    assert multiples([guard]) == ((Multiple("x.size()[0]", "8"),) if is_read else ())


@pytest.mark.parametrize(("last", "said"), [(2, "3 of 8 are used"), (14, "15 are used")])
def test_a_raised_limit_is_not_made_up(last: int, said: str, tmp_path: Path) -> None:
    text = (FIXTURES / "RCP030-shared-decorator-cache" / "fires-classes.log").read_text()
    assert "[0/2]" in text
    found = told("RCP030", text.replace("[0/2]", f"[0/{last}]"), tmp_path)
    assert said in found.message


def test_a_batch_of_inference_is_padded_whatever_it_is_called(tmp_path: Path) -> None:
    text = (FIXTURES / "DYN003-needless-dynamic-kernel" / "fires-scored.log").read_text()
    named = text.replace("'x'", "'kwargs['input_ids']'").replace(
        "L['x']", "L['kwargs']['input_ids']"
    )
    assert named != text
    (advice,) = told("DYN003", named, tmp_path).advice
    assert (advice.id, advice.code) == ("pad", None)
    whole = told("DYN003", text, tmp_path)
    assert [one.code is not None for one in whole.advice if one.id == "pad"] == [True]


def test_all_arguments_of_a_size_are_marked_since_one_that_is_not_holds_it() -> None:
    log = FIXTURES / "RCP003-first-dynamic-recompile" / "fires-several-arguments.log"
    (found,) = (one for one in analyze(str(log)).findings if one.code == "RCP003")
    (advice,) = found.advice
    # The third is of shape (2, n); the table, whose size stays, is no argument.
    assert "dimension 0 of what is passed as `heads` and `tails`, and dimension 1" in advice.text
    assert "`noise`" in advice.text
    assert "table" not in advice.text
    assert advice.knob is not None
    given = str(advice.knob.call["mark_dynamic"])
    assert set(given.split("; ")) == {"heads, 0", "tails, 0", "noise, 1"}


def test_without_guards_it_is_said_that_other_arguments_may_have_the_size(tmp_path: Path) -> None:
    reason = "tensor 'x' size mismatch at index 0. expected 16, actual 24"
    (advice,) = told("RCP003", recompiled("forward", reason), tmp_path).advice
    assert advice.code == "torch._dynamo.maybe_mark_dynamic(x, 0)"
    assert "other arguments of that size" in advice.text
    waits = told("RCP003", recompiled("resume", reason.replace("'x'", "'___stack0'")), tmp_path)
    assert "mark-dynamic" not in ids(waits)  # no name of the program's
    alone = FIXTURES / "RCP003-first-dynamic-recompile" / "fires-first-change.log"
    (found,) = (one for one in analyze(str(alone)).findings if one.code == "RCP003")
    assert "other arguments" not in found.advice[0].text  # guards show that there are none


def test_a_number_that_gave_way_to_a_tensor_is_no_symbol(tmp_path: Path) -> None:
    log = FIXTURES / "RCP005-float-argument-specialised" / "quiet-a-tensor-afterwards.log"
    (found,) = (one for one in analyze(str(log)).findings if one.code == "RCP005")
    assert "a tensor in the next" in found.title
    assert "symbol" not in f"{found.message} {found.harmless}"
    number = told("RCP005", recompiled("forward", "self.v == 0.5"), tmp_path)
    assert "symbol" in str(number.harmless)


def test_an_array_of_numpy_is_converted_and_no_mask_made_of_it() -> None:
    values = {"cause": "RCP013", "function": "forward", "values": ("Double", "Float")}
    own = RecompileData(file="/home/ana/proj/a.py", line=3, source="___from_numpy(obs)", **values)
    (advice,) = DtypeMismatch().advise(own)
    assert (advice.id, advice.code) == ("array-dtype", 'obs = obs.astype("float32")')
    library = own.model_copy(update={"file": "/home/ana/venv/lib/python3.11/site-packages/a/b.py"})
    (advice,) = DtypeMismatch().advise(library)
    assert advice.code is None
    assert "what" not in advice.text
    assert "passed as `obs`" in advice.text
    masks = own.model_copy(update={"values": ("Bool", "Long"), "source": "mask"})
    assert [one.id for one in DtypeMismatch().advise(masks)] == ["one-dtype"]


def flags(*layers: int) -> list[str]:
    return [
        f"tensor 'self._modules['body']._modules['{n}']._parameters['bias']' "
        "requires_grad mismatch. expected requires_grad=0"
        for n in layers
    ]


def test_layers_that_are_unfrozen_in_turn_are_one_finding_with_advice(tmp_path: Path) -> None:
    found = told("RCP012", recompiled("forward", *flags(3, 2, 1)), tmp_path)
    assert found.count == 3
    assert found.title.endswith("and 2 more parameters")
    assert ids(found) == ["one-optimizer-group"]


def test_one_change_of_a_flag_names_its_parameter_alone(tmp_path: Path) -> None:
    found = told("RCP012", recompiled("forward", *flags(3)), tmp_path)
    assert "more parameter" not in found.title
    assert ids(found) == []


def test_a_reason_without_its_function_is_said_without_a_name(tmp_path: Path) -> None:
    reason = (
        "tensor 'self._parameters['weight']' size mismatch at index 0. expected 8, actual 16. "
        "Guard failed on a parameter, consider using "
        "torch._dynamo.config.force_parameter_static_shapes = False to allow dynamism on "
        "parameters."
    )
    path = tmp_path / "run.log"
    path.write_text(f"    - 0/0: {reason}\n", encoding="utf-8")
    (found,) = (one for one in analyze(str(path)).findings if one.code == "RCP018")
    assert "?" not in found.title
    assert found.title.startswith("a function is compiled")


def both(*reasons: str) -> str:
    """Return a log of which the last recompile lists all entries, the newest first."""
    lines = recompiled("forward", reasons[0]).splitlines()
    head = HEAD.format(2, 2)
    lines += [
        f"{head}Recompiling function forward in /home/ana/proj/net.py:14",
        f"{head}    triggered by the following guard failure(s):",
        *(f"{head}    - 0/{1 - at}: {reason}" for at, reason in enumerate(reasons[1:])),
    ]
    return "\n".join(lines) + "\n"


MODE = "GLOBAL_STATE changed: grad_mode "


def test_a_mode_is_no_cause_where_an_entry_of_the_same_mode_failed(tmp_path: Path) -> None:
    """The second recompile is back in the first entry's mode, whose string differs."""
    text = both(MODE, MODE, "kind == 'mean'")
    found = told("RCP010", text, tmp_path)
    assert (found.count, found.harmless is not None) == (1, True)
    assert told("RCP006", text, tmp_path).count == 1


def test_a_mode_is_the_cause_where_all_entries_are_of_another(tmp_path: Path) -> None:
    found = told("RCP010", both(MODE, MODE, MODE), tmp_path)
    assert (found.count, found.harmless) == (2, None)


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("i = self.timesteps[self.index]", "look-up-before"),
        ("sigma = self.sigmas[self.index + 1]", "look-up-before"),
        ("x = x[:, : self.index]", "unspec-int"),
        ("self.index += 1", "unspec-int"),
        ("x = self.layers[0](x) * self.index", "unspec-int"),
    ],
)
def test_a_list_needs_the_number_itself(line: str, first: str, tmp_path: Path) -> None:
    reasons = [
        f"self.index == {number}  # {line}  # proj/net.py:15 in forward" for number in range(4)
    ]
    assert ids(told("RCP007", recompiled("forward", *reasons), tmp_path))[0] == first


EVEN = "(4 + 4*(((-1) + x.size()[{0}]) // 4)) == x.size()[{0}]"


@pytest.mark.parametrize(
    ("reason", "advised", "said"),
    [
        (EVEN.format(3), "pad-to-multiple", "dimension 3 of `x` to a multiple of 4"),
        ("(1.0 + clip) == 1.1833", "keep-tensor", "`clip`"),
        ("x.size()[0] == 24", "pad", ""),
    ],
)
def test_a_number_with_a_point_is_no_size_and_a_multiple_has_other_forms(
    reason: str, advised: str, said: str, tmp_path: Path
) -> None:
    line = "  # y = helper(x)  # proj/net.py:15 in forward"
    first = "tensor 'x' size mismatch at index 0. expected 8, actual 9"
    found = told("RCP023", recompiled("forward", first, reason + line), tmp_path)
    assert advised in ids(found)
    (advice,) = (one for one in found.advice if one.id == advised)
    assert said in advice.text
    if advised == "keep-tensor":
        assert "sizes" not in found.message
        assert "pad" not in ids(found)


def test_a_number_that_a_line_branches_on_is_not_made_a_tensor(tmp_path: Path) -> None:
    """The graph breaks at a branch on a tensor."""
    line = "  # if 1.0 + clip == 1.2:  # proj/net.py:15 in forward"
    first = "tensor 'x' size mismatch at index 0. expected 8, actual 9"
    text = recompiled("forward", first, f"(1.0 + clip) == 1.2{line}")
    assert ids(told("RCP023", text, tmp_path)) == ["branch-outside"]


LIMIT = (
    "W1120 20:15:49.100000 7 torch/_dynamo/convert_frame.py:1016] [0/8] "
    "torch._dynamo hit config.recompile_limit ({limit})\n"
    "W1120 20:15:49.100000 7 torch/_dynamo/convert_frame.py:1016] [0/8]    function: 'forward' "
    "(/home/ana/proj/net.py:14)\n"
    "W1120 20:15:49.100000 7 torch/_dynamo/convert_frame.py:1016] [0/8]    last reason: 0/{last}: "
    "mode == 'm{last}'\n"
)


@pytest.mark.parametrize(("count", "is_hit"), [(8, True), (8, False), (4, True)])
def test_names_that_used_up_the_entries_may_have_more(
    count: int, is_hit: bool, tmp_path: Path
) -> None:
    """With four of them something else used up the entries, which a limit multiplies."""
    line = "# y = MODES[mode] * x  # proj/net.py:15 in forward"
    text = recompiled("forward", *(f"mode == 'm{number}'  {line}" for number in range(count)))
    if is_hit:
        text += LIMIT.format(limit=8, last=count - 1)
    found = told("RCP006", text, tmp_path)
    assert ("raise-limit" in ids(found)) == (is_hit and count == 8)
    for one in found.advice:
        if one.id == "raise-limit":
            assert one.setting == "torch._dynamo.config.recompile_limit = 64"


@pytest.mark.parametrize(
    ("line", "chosen"),
    [("return self.adapters[lang](x)", True), ("return x * self.factors[lang]", False)],
)
def test_a_name_that_selects_what_is_called_cannot_be_looked_up_outside(
    line: str, chosen: bool, tmp_path: Path
) -> None:
    reasons = [f"lang == '{name}'  # {line}  # proj/net.py:20 in forward" for name in "abc"]
    found = told("RCP006", recompiled("forward", *reasons), tmp_path)
    assert ("compile-chosen" in ids(found)) == chosen
    assert ("look-up-outside" in ids(found)) != chosen


@pytest.mark.parametrize(
    ("source", "values", "line", "is_beside"),
    [
        ("name", "abcd", 'return {"name": "of-" + name, "vector": y}', True),
        ("name", "abcd", "log(name)", True),
        ("name", "abcd", "names = [name]", True),
        ("name", "abc", "log(name)", False),  # three may be all that there are
        ("name", "abcdb", "log(name)", False),  # one came twice
        ("name", "abcd", "return x * FACTORS[name]", False),
        ("name", "abcd", "return x * FACTORS.get(name, 1.0)", False),
        ("name", "abcd", "y = getattr(self, name)", False),
        ("name", "abcd", "if name not in known:", False),
        ("name", "abcd", 'if "head" == name:', False),
        ("name", "abcd", 'if name == "head":', False),
        ("name", "abcd", "match name:", False),
        ("self.name", "abcd", "log(self.name)", False),
    ],
)
def test_a_name_that_each_call_has_of_its_own_is_kept_beside_it(
    source: str, values: str, line: str, is_beside: bool, tmp_path: Path
) -> None:
    """One function for each of them is then no advice, and a look-up only where there is one."""
    reasons = [f"{source} == '{one}'  # {line}  # proj/net.py:20 in forward" for one in values]
    found = told("RCP006", recompiled("forward", *reasons), tmp_path)
    assert (ids(found)[0] == "keep-beside") == is_beside
    assert ("keep-beside" in ids(found)) == is_beside
    assert ("one-per-value" in ids(found)) != is_beside
    if is_beside:
        assert found.advice[1].text.startswith("Or, where the function looks something up by it")


@pytest.mark.parametrize(
    ("file", "severity"),
    [("/home/ana/proj/net.py", "info"), ("/usr/lib/python3.11/copyreg.py", "none")],
)
def test_objects_that_python_itself_copies_are_a_note(
    file: str, severity: str, tmp_path: Path
) -> None:
    reasons = [f"___check_obj_id(cls, {number}), type=<class 'type'>" for number in (7, 8)]
    text = recompiled("made", *reasons).replace("/home/ana/proj/net.py", file)
    assert told("RCP008", text, tmp_path).severity == severity


@pytest.mark.parametrize(
    ("source", "line", "lengths", "is_filled"),
    [
        ("G['stats']['kl']", 'stats["kl"].append(kl)', (1, 5, 6), True),
        ("self.kept", "if len(self.kept) > 0:", (1, 2, 3, 4), True),
        ("self.kept", "if len(self.kept) > 0:", (1, 4, 2, 3), False),
        ("self.kept", "if len(self.kept) > 0:", (1, 2, 3), False),
        ("G['kept']['kl']", "if kept['kl']:", (1, 2, 3, 4), True),
        ("batch['items']", "for item in batch['items']:", (1, 2, 3, 4), False),
        ("images", "h = max(i.shape[-2] for i in images)", (1, 2, 3, 4), False),
    ],
)
def test_a_list_that_calls_fill_is_emptied_and_not_stacked(
    source: str, line: str, lengths: tuple[int, ...], is_filled: bool, tmp_path: Path
) -> None:
    reasons = [f"len({source}) == {n}  # {line}  # proj/net.py:20 in forward" for n in lengths]
    found = told("RCP017", recompiled("forward", *reasons), tmp_path)
    assert ("empty" in ids(found)) == is_filled
    assert ("stack" in ids(found)) != is_filled


@pytest.mark.parametrize(
    ("reasons", "line", "is_filled"),
    [
        (["not self.labels"], "self.labels[device] = labels", True),
        (["not G['loss'].labels"], "self.labels.setdefault(device, labels)", True),
        (["not self.labels"], "self.labels.append(labels)", False),
        (["not self.labels"], "if not self.labels:", False),
        (["not self.labels"], "if self.labels[device] == labels:", False),
        (["not self.labels", "len(self.labels) == 1"], "self.labels[device] = labels", False),
        (["len(self.labels) == 1"], "self.labels[device] = labels", False),
    ],
)
def test_what_the_first_call_alone_found_empty_is_filled_before(
    reasons: list[str], line: str, is_filled: bool, tmp_path: Path
) -> None:
    """A list that is appended to, or another number of items later, goes on changing."""
    failed = [f"{one}  # {line}  # proj/net.py:20 in forward" for one in reasons]
    found = told("RCP017", recompiled("forward", *failed), tmp_path)
    assert (ids(found)[:1] == ["call-first"]) is is_filled
    assert (found.severity == "info" and found.harmless is None) >= is_filled
    assert ("had filled" in found.title) is is_filled


@pytest.mark.parametrize(("line", "counts"), [("Mix.calls += 1", True), ("x * Mix.calls", False)])
def test_a_counter_in_a_class_is_counted_outside(line: str, counts: bool, tmp_path: Path) -> None:
    reasons = [f"G['Mix'].calls == {n}  # {line}  # proj/net.py:20 in forward" for n in (0, 2, 4)]
    found = told("RCP007", recompiled("forward", *reasons), tmp_path)
    assert ids(found)[:1] == (["count-outside"] if counts else ["pass-argument"])


@pytest.mark.parametrize(
    ("low", "high", "is_range"), [(1284, 2560, True), (3, 2560, True), (2, 2560, False)]
)
def test_a_range_with_two_ends_needs_more_than_two_entries(
    low: int, high: int, is_range: bool, tmp_path: Path
) -> None:
    grew = "tensor 'x' size mismatch at index 2. expected 4096, actual 2048"
    left = f"{low} <= x.size()[2] <= {high}  # return F.conv1d(  # net.py:21 in forward"
    text = recompiled("forward", grew, left)
    bounds = told("RCP023", text, tmp_path)
    assert ids(bounds)[:1] == (["warm-up"] if is_range else [])
    assert ("Nothing is known that spares" in bounds.message) != is_range
    assert ("each of which may have a range" in bounds.message) == is_range
    assert ("pad-few" in ids(told("RCP003", text, tmp_path))) == is_range


@pytest.mark.parametrize(
    ("file", "code"),
    [("/home/ana/proj/net.py", "RCP031"), (f"{TORCH}/_dynamo/external_utils.py", "RCP009")],
)
def test_what_torch_wraps_is_one_module_and_another(file: str, code: str, tmp_path: Path) -> None:
    kept = "fn._modules['0']._buffers['eps']"
    reason = f"expected type of '{kept}' to be a tensor type, ' but found <class 'NoneType'>"
    text = recompiled("inner", reason).replace("/home/ana/proj/net.py", file)
    assert told(code, text, tmp_path).code == code
