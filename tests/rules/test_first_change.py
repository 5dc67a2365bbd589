"""A size that changed once is a symbol afterwards, or a constant again: the guards tell."""

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Severity

RULES = Path(__file__).parents[2] / "fixtures" / "rules"

PREFIX = "V1120 14:02:01.000000 7 torch/_dynamo/guards.py:4483] [0/1] "
LOG = (
    PREFIX
    + "[__recompiles] Recompiling function forward in /home/ana/proj/net.py:5\n"
    + PREFIX
    + "[__recompiles]     triggered by the following guard failure(s):\n"
    + PREFIX
    + "[__recompiles]     - 0/0: tensor 'ids' size mismatch at index 1. expected 16, actual 5\n"
    + PREFIX
    + "[__guards] TREE_GUARD_MANAGER:\n"
    + PREFIX
    + "[__guards] +- RootGuardManager\n"
    + PREFIX
    + "[__guards] | +- GuardManager: source=L['ids'], accessed_by=FrameLocalsGuardAccessor("
    "key='ids', framelocals_idx=1), type=<class 'torch.Tensor'>, tag_safe=(False, False)\n"
    + PREFIX
    + "[__guards] | | +- TENSOR_MATCH: check_tensor(L['ids'], Tensor, DispatchKeySet(CPU), "
    "torch.int64, device=None, requires_grad=False, size=[8, {size}], stride=[None, 1])\n"
)


@pytest.mark.parametrize(("size", "is_symbol"), [("None", True), ("5", False)])
def test_further_sizes_fit_only_where_the_entry_has_a_symbol(
    size: str, is_symbol: bool, tmp_path: Path
) -> None:
    """A loop over ``ids.size(1)`` needs the number: the second size is compiled as the first."""
    log = tmp_path / "run.log"
    log.write_text(LOG.format(size=size))
    (found,) = [one for one in analyze(str(log)).findings if one.code == "RCP003"]
    assert found.severity is Severity.NONE
    assert ("fits further values" in found.message) is is_symbol
    assert ("needs the number" in found.message) is not is_symbol
    assert found.harmless == (
        "further values fit the entry with the symbol"
        if is_symbol
        else "two sizes need two entries"
    )
    # The guards are the same under ``dynamic=False``, where no line needs it.
    assert ("dynamic=False" in found.message) is not is_symbol
    assert [one.id for one in found.advice] == (["mark-dynamic"] if is_symbol else ["pad"])


def test_a_later_recompile_whose_reasons_are_cut_off_leaves_it_open(tmp_path: Path) -> None:
    head = PREFIX + "[__recompiles] Recompiling function forward in /home/ana/proj/net.py:5\n"
    recompiled = LOG.split(PREFIX + "[__guards]", 1)[0]
    log = tmp_path / "run.log"
    log.write_text(recompiled + head.replace("[0/1]", "[0/2]"))
    (found,) = [one for one in analyze(str(log)).findings if one.code == "RCP003"]
    assert (found.severity, found.harmless) == (Severity.INFO, None)
    assert "why is not in the log" in found.message
    assert "later-reasons" in [one.id for one in found.advice]
    log.write_text(recompiled)
    (found,) = [one for one in analyze(str(log)).findings if one.code == "RCP003"]
    assert found.severity is Severity.NONE


def test_a_part_of_an_object_that_the_entry_holds_is_no_symbol(tmp_path: Path) -> None:
    """Neither ``dynamic=True`` nor further values fit what a line of code needs."""
    log = tmp_path / "run.log"
    for size, advised in (("None", ["nothing"]), ("5", ["pad"])):
        text = LOG.format(size=size).replace("'ids'", "'past[0][1]'")
        log.write_text(text.replace("L['past[0][1]']", "L['past'][0][1]"))
        (found,) = [one for one in analyze(str(log)).findings if one.code == "RCP003"]
        assert [one.id for one in found.advice] == advised


@pytest.mark.parametrize(
    ("conditions", "said", "advised"),
    [
        ([], "fits further values", ["mark-dynamic"]),
        (["ids.size()[1] % 2 == 0"], "conditions on it needed more", ["mark-dynamic"]),
        (
            ["ids.size()[1] % 2 == 0", "2*ids.size()[1] == 8*(ids.size()[1] // 4)"],
            "conditions on it needed more",
            ["pad-few"],
        ),
        (["mask.size()[1] % 2 == 0", "mask.size()[1] % 4 == 0"], "fits", ["mark-dynamic"]),
    ],
)
def test_marking_is_advised_unless_the_symbol_itself_is_compiled_for_again(
    conditions: list[str], said: str, advised: list[str], tmp_path: Path
) -> None:
    """Marked from the first call on, such a function was compiled more often than without."""
    text = LOG.format(size="None")
    for number, condition in enumerate(conditions, 2):
        head = PREFIX.replace("[0/1]", f"[0/{number}]")
        text += f"{head}[__recompiles] Recompiling function forward in /home/ana/proj/net.py:5\n"
        text += f"{head}[__recompiles]     triggered by the following guard failure(s):\n"
        text += f"{head}[__recompiles]     - 0/{number - 1}: {condition}  # y = x.view(-1, 2)  # "
        text += "proj/net.py:7 in forward\n"
    log = tmp_path / "run.log"
    log.write_text(text)
    (found,) = [one for one in analyze(str(log)).findings if one.code == "RCP003"]
    assert said in found.message
    assert [one.id for one in found.advice] == advised


def test_sizes_that_change_one_after_the_other_are_marked_together(tmp_path: Path) -> None:
    """Marked one by one, another call that is not marked began with the other size again."""
    second = LOG.format(size="None").replace("size=[8, None]", "size=[None, None]")
    second = second.replace("[0/1]", "[0/2]").replace("- 0/0:", "- 0/1:")
    second = second.replace("at index 1. expected 16", "at index 0. expected 8")
    log = tmp_path / "run.log"
    log.write_text(LOG.format(size="None") + second)
    found = [one for one in analyze(str(log)).findings if one.code == "RCP003"]
    marks = [one for each in found for one in each.advice if one.id == "mark-dynamic"]
    both = {f"torch._dynamo.maybe_mark_dynamic(ids, {at})" for at in (0, 1)}
    assert [set((one.code or "").splitlines()) for one in marks] == [both, both]
    assert all("less for each of them that changes" in one.text for one in marks)
    log.write_text(LOG.format(size="None"))
    (alone,) = [one for one in analyze(str(log)).findings if one.code == "RCP003"]
    assert "less for each" not in alone.advice[0].text


VALIDATED = (
    Path(__file__).parents[2]
    / "fixtures/rules/RCP003-first-dynamic-recompile/fires-training-and-validation.log"
)


def test_a_function_that_validation_calls_too_has_two_last_batches(tmp_path: Path) -> None:
    def said(text: str) -> str:
        log = tmp_path / "run.log"
        log.write_text(text)
        first = analyze(str(log), select=["RCP003"]).findings[0]
        return next(one.text for one in first.advice if one.id == "drop-last")

    text = VALIDATED.read_text()
    trained = "".join(line for line in text.splitlines(keepends=True) if "[0/2]" not in line)
    assert "Validation" in said(text)
    assert "Validation" not in said(trained)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("kwargs['input_ids']", "dimension 1 of what is passed as `input_ids`, with"),
        ("args[0]", "dimension 1 of what is passed as the first argument, with"),
        ("batch['ids']", "before the first call, in every loop"),
        ("cache.layers[0].keys", ""),  # what the model makes itself
        ("past[0][1]", ""),
    ],
)
def test_an_entry_of_an_argument_is_marked_as_its_caller_names_it(
    source: str, said: str, tmp_path: Path
) -> None:
    """A decorator takes `*args` and `**kwargs`: its caller has the tensor before the call."""
    log = tmp_path / "run.log"
    log.write_text(LOG.partition(PREFIX + "[__guards]")[0].replace("'ids'", f"'{source}'"))
    (found,) = [one for one in analyze(str(log)).findings if one.code == "RCP003"]
    marks = [one for one in found.advice if one.id == "mark-dynamic"]
    assert bool(marks) == bool(said)
    assert all(said in one.text for one in marks)
    if source == "batch['ids']":
        assert marks[0].code == "torch._dynamo.maybe_mark_dynamic(batch['ids'], 1)"


def test_a_value_that_the_first_call_set_asks_for_the_same_recompile() -> None:
    """A recompile tells the first guard that fails; the trees of both entries hold the other."""
    folder = next(RULES.glob("RCP003-*"))
    report = analyze(str(folder / "fires-config-set-meanwhile.log.gz"))
    (found,) = [one for one in report.shown if one.code == "RCP003"]
    assert "for that alone it would have been compiled again" in found.message
    assert [one.id for one in found.advice] == ["set-and-mark"]
    assert found.advice[0].code == "model.config.problem_type = 'single_label_classification'"
    plain = analyze(str(folder / "fires-several-arguments.log"))
    (found,) = [one for one in plain.findings if one.code == "RCP003"]
    assert "for that alone" not in found.message
    assert "mark-dynamic" in [one.id for one in found.advice]


@pytest.mark.parametrize("name", ["config.kind", "mask"])
def test_where_more_was_set_no_mark_alone_is_advised(name: str, tmp_path: Path) -> None:
    guard = "V1120 14:02:00.000000 7 torch/_dynamo/guards.py:4483] [0/0] [__guards] "
    old = "TREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- NONE_MATCH: L['self'].{} is None"
    before = "".join(f"{guard}{one}\n" for one in old.format(name).split("\n"))
    after = f"{PREFIX}[__guards] | +- EQUALS_MATCH: L['self'].{name} == 'two'\n"
    log = tmp_path / "run.log"
    log.write_text(before + LOG.format(size="None") + after)
    (found,) = [one for one in analyze(str(log)).findings if one.code == "RCP003"]
    assert found.data["since"] == {f"self.{name}": "'two'"}
    ids = [one.id for one in found.advice]
    assert "mark-dynamic" not in ids
    assert ("set-and-mark" in ids) == name.startswith("config.")
    log.write_text(before + LOG.format(size="None"))
    (found,) = [one for one in analyze(str(log)).findings if one.code == "RCP003"]
    assert [one.id for one in found.advice] == ["mark-dynamic"]


@pytest.mark.parametrize(
    ("name", "fits"),
    [("fires-conv-fewer-than-16.log", "2 to 15"), ("fires-conv-16-and-more.log", "")],
)
def test_a_mark_is_advised_where_one_entry_fits_both_sizes(name: str, fits: str) -> None:
    """Of 16 images on, and of fewer, a convolution without a stride asks for other code.

    With the batch marked before the first call, 32 and then 4 images are compiled twice all the
    same, and 32 and then 20 once.
    """
    (log,) = RULES.glob(f"RCP003-*/{name}")
    (found,) = [one for one in analyze(str(log)).findings if one.code == "RCP003"]
    ids = [one.id for one in found.advice]
    assert found.data["fits"] == fits
    assert ("mark-dynamic" in ids, "pad-few" in ids) == (not fits, bool(fits))
    needs = f"which fits {fits}: the size before needs an entry of its own."
    assert (needs in found.message) == bool(fits)


@pytest.mark.parametrize(
    ("guard", "fits"),
    [
        ("2 <= L['args'][0].size()[0] <= 31", "2 to 31"),
        ("2 <= L['args'][0].size()[0] <= 32", ""),
        ("32 <= L['args'][0].size()[0]", ""),
        ("33 <= L['args'][0].size()[0]", "33 and more"),
        ("L['args'][0].size()[0] <= 31", "0 to 31"),
        ("33 <= L['args'][0].size()[1]", ""),
        ("33 <= L['args'][1].size()[0]", ""),
        ("33 <= L['args'][0].size()[0] + 1", ""),
    ],
)
def test_the_size_before_is_in_the_range_of_the_new_entry(
    guard: str, fits: str, tmp_path: Path
) -> None:
    (log,) = RULES.glob("RCP003-*/fires-conv-fewer-than-16.log")
    text = log.read_text(encoding="utf-8")
    mended = text.replace("2 <= L['args'][0].size()[0] <= 15", guard)
    assert mended != text or not fits
    path = tmp_path / "run.log"
    path.write_text(mended, encoding="utf-8")
    (found,) = [one for one in analyze(str(path)).findings if one.code == "RCP003"]
    assert found.data["fits"] == fits


def test_what_begins_further_up_is_another_change() -> None:
    """A mask keeps other rows in each batch; then a smaller batch comes, from the outside in."""
    log = RULES / "RCP003-first-dynamic-recompile" / "fires-mask-and-last-batch.log"
    found = [one for one in analyze(str(log)).findings if one.code == "RCP003"]
    assert [(one.data["source"], one.data["values"], one.count) for one in found] == [
        ("x", ["8", "5"], 3),
        ("___stack0", ["7", "6"], 2),
    ]
