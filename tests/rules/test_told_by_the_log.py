"""Advice that depends on the program is printed where the log speaks for it, and not elsewhere."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding, Severity
from tracelens.rules.cmp._advice import REMEDIES, CompileData

RULES = Path(__file__).parents[2] / "fixtures" / "rules"


def log_of(code: str, name: str) -> Path:
    (found,) = RULES.glob(f"{code}-*/{name}")
    return found


def found_in(path: Path, code: str) -> list[Finding]:
    return [one for one in analyze(str(path)).findings if one.code == code]


def ids(one: Finding) -> list[str]:
    return [advice.id for advice in one.advice]


def test_sizes_that_never_became_symbols_are_held_static(tmp_path: Path) -> None:
    """The log of ``dynamic`` has each compilation's symbols: here there are none."""
    log = log_of("RCP002", "fires-held-static-2.13.log")
    (one,) = found_in(log, "RCP002")
    assert ids(one) == ["default-dynamic", "pad"]
    assert one.advice[0].text.startswith("Take out what holds the size static")
    without = tmp_path / "run.log"
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    without.write_text("".join(line for line in lines if "[__recompiles]" in line))
    (one,) = found_in(without, "RCP002")
    assert ids(one) == ["pad", "record-dynamic"]


SYMBOL = (
    "I1128 05:25:06.010000 15537 torch/fx/experimental/symbolic_shapes.py:5000] [{frame}] "
    "create_symbol s11 = 32 for L['weight'].size()[1] [2, int_oo] y = x @ weight  # "
    "proj/rcp002_sizes.py:18 in block\n"
)


def test_a_symbol_of_the_function_speaks_against_dynamic_false(tmp_path: Path) -> None:
    text = log_of("RCP002", "fires-held-static-2.13.log").read_text(encoding="utf-8")
    path = tmp_path / "run.log"
    path.write_text(text + SYMBOL.format(frame="0/3"), encoding="utf-8")
    (one,) = found_in(path, "RCP002")
    assert "default-dynamic" not in ids(one)
    assert "others of this function stayed symbols" in one.message
    path.write_text(text + SYMBOL.format(frame="1/0"), encoding="utf-8")
    (one,) = found_in(path, "RCP002")
    assert ids(one)[0] == "default-dynamic", "another function may have been compiled otherwise"


def test_parameters_and_buffers_have_constant_sizes_whatever_the_program_asks_for(
    tmp_path: Path,
) -> None:
    text = log_of("RCP002", "fires-held-static-2.13.log").read_text(encoding="utf-8")
    path = tmp_path / "run.log"
    path.write_text(text.replace("tensor 'x'", "tensor 'self._buffers['table']'"))
    (one,) = found_in(path, "RCP002")
    assert "default-dynamic" not in ids(one)


LEAVE, PAD = "leave it out (`drop_last=True`", "ad the smaller batch to the usual size"
BOTH = "in training leave it out"


@pytest.mark.parametrize(
    ("kind", "mode", "told"),
    [
        ("forward", "true", LEAVE),
        ("inference", "true", PAD),  # gradients were left on, and no backward was compiled
        ("forward", "false", PAD),  # the run trains, and these calls do not
        ("", "false", PAD),
        ("", "true", BOTH),
        ("forward", "", BOTH),
    ],
)
def test_a_smaller_batch_is_left_out_in_training_and_padded_in_inference(
    kind: str, mode: str, told: str, tmp_path: Path
) -> None:
    text = log_of("RCP003", "fires-training-and-validation.log").read_text(encoding="utf-8")
    text = text.replace('"grad_mode":true', f'"grad_mode":{mode}' if mode else '"mode":0')
    code = gzip.decompress(log_of("RCP003", "fires-trained-last-batch.log.gz").read_bytes())
    lines = code.decode().splitlines(keepends=True)
    made = [one for one in lines if "[__output_code]" in one]
    if kind == "inference":
        made = [
            one.replace("_forward'", "_inference'").replace("_backward'", "_inference'")
            for one in made
        ]
    path = tmp_path / "run.log"
    path.write_text(text + "".join(made if kind else []), encoding="utf-8")
    advice = [a for one in found_in(path, "RCP003") for a in one.advice if a.id == "drop-last"]
    assert advice
    assert all(told in one.text for one in advice)
    assert all(("in inference" in one.text) is (told == BOTH) for one in advice)


@pytest.mark.parametrize("with_guards", [True, False])
def test_a_float_of_each_entry_is_to_be_changed_with_the_name(
    tmp_path: Path, *, with_guards: bool
) -> None:
    """Looked up outside, the name left eight of eight entries to the time."""
    text = gzip.decompress(log_of("RCP006", "fires-named-and-timed-2.13.log.gz").read_bytes())
    lines = text.decode().splitlines(keepends=True)
    path = tmp_path / "run.log"
    path.write_text("".join(one for one in lines if with_guards or "[__recompiles]" in one))
    (one,) = found_in(path, "RCP006")
    assert ids(one) == ["look-up-outside"]
    assert " With it, change `t`" in one.advice[0].text
    assert "The entries differ in `t` (0.05, 0.1, " in one.message


def test_a_name_alone_may_have_a_function_per_value() -> None:
    (one,) = found_in(log_of("RCP006", "fires-named-alone-2.13.log.gz"), "RCP006")
    assert ids(one) == ["look-up-outside", "one-per-value"]
    assert "With it" not in one.advice[0].text


RECOMPILE = (
    "V1120 12:00:0{n}.000000 7 torch/_dynamo/guards.py:5396] [0/{n}] [__recompiles] {text}\n"
)


@pytest.mark.parametrize(
    ("source", "values", "is_few"),
    [
        ("mode", ("'fine'", "'plain'", "'bold'"), True),
        ("mode", ("'mode 1'", "'mode 2'", "'mode 3'"), True),
        ("text", ("'a fine day'", "'no, thanks'", "'why not'"), False),
        ("texts[0]", ("'fine'", "'plain'", "'bold'", "'wild'"), False),
        ("self.modes[0]", ("'fine'", "'plain'", "'bold'", "'wild'"), True),
        ("adapter", ("'tenant-1'", "'tenant-2'", "'tenant-3'"), True),
    ],
)
def test_texts_are_no_values_that_are_few_and_known(
    source: str, values: tuple[str, ...], tmp_path: Path, *, is_few: bool
) -> None:
    lines = []
    for n, value in enumerate(values, 1):
        reason = f"    - 0/{n - 1}: {source} == {value}  # if {source} in KNOWN:  # app.py:5 in f"
        lines += [
            RECOMPILE.format(n=n, text="Recompiling function f in /home/ana/proj/app.py:4"),
            RECOMPILE.format(n=n, text="    triggered by the following guard failure(s):"),
            RECOMPILE.format(n=n, text=reason),
        ]
    path = tmp_path / "run.log"
    path.write_text("".join(lines), encoding="utf-8")
    (one,) = found_in(path, "RCP006")
    assert ("one-per-value" in ids(one) or "keep-chosen" in ids(one)) is is_few
    assert "raise-limit" not in ids(one)


def test_a_number_of_layers_with_weights_of_several_sizes_is_no_matter_of_symbols() -> None:
    (one,) = found_in(log_of("RCP007", "fires-layers-of-several-sizes-2.13.log.gz"), "RCP007")
    assert ids(one) == ["compile-model"]
    assert "Parameters differ in size as well" in one.message
    (one,) = found_in(log_of("RCP007", "fires-layers-of-one-size-2.13.log.gz"), "RCP007")
    assert ids(one) == ["unspec-int", "buffer"]


def test_a_loop_without_layers_may_be_computed_with_tensors(tmp_path: Path) -> None:
    """``fires-slice-of-layers`` is the other side: what is called there are layers."""
    (one,) = found_in(log_of("RCP004", "fires-range.log"), "RCP004")
    assert ids(one) == ["compile-body", "no-loop"]
    text = log_of("RCP004", "fires-range.log").read_text(encoding="utf-8")
    path = tmp_path / "run.log"
    path.write_text("".join(one for one in text.splitlines(True) if "[__guards]" not in one))
    (one,) = found_in(path, "RCP004")
    assert ids(one) == ["compile-body"], "without guards the log does not tell"


@pytest.mark.parametrize(("is_static", "first"), [(True, "default-dynamic"), (False, None)])
def test_dynamic_false_holds_a_number_where_the_log_tells(
    tmp_path: Path, *, is_static: bool, first: str | None
) -> None:
    lines = []
    for n in range(1, 5):
        head = f"V1120 12:00:0{n}.000000 7 torch/fx/experimental/symbolic_shapes.py:3900] [0/{n}] "
        lines += [
            RECOMPILE.format(n=n, text="Recompiling function f in /home/ana/proj/app.py:4"),
            RECOMPILE.format(n=n, text="    triggered by the following guard failure(s):"),
            RECOMPILE.format(n=n, text=f"    - 0/{n - 1}: n == {n + 1}  # x + n  # a.py:5 in f"),
            *([head + "create_env\n"] if is_static else []),
        ]
    path = tmp_path / "run.log"
    path.write_text("".join(lines), encoding="utf-8")
    (one,) = found_in(path, "RCP004")
    assert ids(one) == ([first, "pass-tensor"] if first else ["pass-tensor", "record-dynamic"])


AGAIN = "V1122 06:25:06.976000 31221 torch/_dynamo/guards.py:5396] [0/2] [__recompiles] {text}\n"


@pytest.mark.parametrize("case", ["layers", "another reason", "first with a gradient"])
def test_layers_are_told_from_a_model_whose_calls_differ(case: str, tmp_path: Path) -> None:
    text = log_of("RCP012", "fires-layers.log").read_text(encoding="utf-8")
    if case == "another reason":
        for line in (
            "Recompiling function forward in /home/ana/proj/rcp012_layers.py:13",
            "    triggered by the following guard failure(s):",
            "    - 0/1: GLOBAL_STATE changed: grad_mode",
        ):
            text += AGAIN.format(text=line)
    if case == "first with a gradient":
        text = text.replace("expected requires_grad=0", "expected requires_grad=1")
    path = tmp_path / "run.log"
    path.write_text(text, encoding="utf-8")
    (one,) = found_in(path, "RCP012")
    assert ids(one) == (["compile-model"] if case == "layers" else [])


@pytest.mark.parametrize(
    ("us", "advised", "said"),
    [
        ("909.69", ["skip-module-guards"], None),
        ("790.00", [], "one check of them took 0.79 ms"),
        ("90000.00", [], "what a check takes is not known"),
    ],
)
def test_many_guards_are_left_out_where_they_are_known_to_take_long(
    us: str, advised: list[str], said: str | None, tmp_path: Path
) -> None:
    text = gzip.decompress(log_of("GRD002", "fires-modules.log.gz").read_bytes()).decode()
    path = tmp_path / "run.log"
    path.write_text(text.replace("909.69", us), encoding="utf-8")
    (one,) = found_in(path, "GRD002")
    assert ids(one) == advised
    assert (one.harmless or "").startswith(said or "")
    assert (one.severity is Severity.NONE) is (said is not None)


def test_values_that_torch_s_own_layers_read_are_no_configuration(tmp_path: Path) -> None:
    """Their attributes are guarded, too: nobody can read them elsewhere."""
    text = gzip.decompress(log_of("GRD002", "fires-modules.log.gz").read_bytes()).decode()
    path = tmp_path / "run.log"
    path.write_text(text.replace("nn/modules/", "proj/").replace("torch/_dynamo/", "proj/"))
    (one,) = found_in(path, "GRD002")
    assert ids(one) == ["flat-configuration", "skip-module-guards"]


@pytest.mark.parametrize(
    ("entry", "advised"), [("0/0", ["cpp-guards", "static-sizes"]), ("0/1", ["cpp-guards"])]
)
def test_sizes_that_changed_are_not_to_be_made_static(
    entry: str, advised: list[str], tmp_path: Path
) -> None:
    """The symbols of a later entry came from changes."""
    text = gzip.decompress(log_of("GRD004", "fires-sizes.log.gz").read_bytes()).decode()
    path = tmp_path / "run.log"
    path.write_text(text.replace("[0/0]", f"[{entry}]"), encoding="utf-8")
    (one,) = found_in(path, "GRD004")
    assert ids(one) == advised


def test_all_of_skipping_guards_is_for_what_takes_5_ms(tmp_path: Path) -> None:
    text = gzip.decompress(log_of("GRD001", "fires-modules.log.gz").read_bytes()).decode()
    path = tmp_path / "run.log"
    (one,) = found_in(log_of("GRD001", "fires-modules.log.gz"), "GRD001")
    assert ids(one) == ["skip-module-guards"]
    path.write_text(text.replace("909.69", "5900.00"), encoding="utf-8")
    (one,) = found_in(path, "GRD001")
    assert ids(one) == ["skip-module-guards", "skip-guard-eval"]


def test_a_recording_is_no_advice_beside_a_change() -> None:
    """The log tells its clocks alone, and the caches may be kept all the same."""
    (one,) = found_in(log_of("RCP002", "fires-unrolled-by-clocks.log.gz"), "CMP001")
    assert ids(one) == ["keep-caches"]
    (phases,) = [one for one in REMEDIES if one.id == "record-phases"]
    for siblings, applies in ((0, False), (8, True)):
        data = CompileData(seconds=9.0, compilations=1, is_measured=False, siblings=siblings)
        assert phases.applies(data) is applies


def test_a_flag_of_the_first_call_beside_a_float_is_told_by_its_own_rule(tmp_path: Path) -> None:
    """What is said of floats beside a name has no place in what RCP031 holds."""
    text = log_of("RCP031", "fires-flag.log").read_text(encoding="utf-8")
    for n in range(2, 6):
        head = (
            f"V1120 14:56:2{n}.519000 20803 torch/_dynamo/guards.py:5396] [0/{n}] [__recompiles] "
        )
        text += f"{head}Recompiling function forward in /home/ana/proj/rcp_modules.py:43\n"
        text += f"{head}    triggered by the following guard failure(s):\n"
        text += f"{head}    - 0/{n - 1}: t == 0.{n}  # x * t  # proj/rcp_modules.py:45 in forward\n"
    path = tmp_path / "run.log"
    path.write_text(text, encoding="utf-8")
    report = analyze(str(path))
    assert {one.code for one in report.findings} >= {"RCP005", "RCP031"}
    assert not [one for one in report.verdicts if one.verdict == "crashed"]
