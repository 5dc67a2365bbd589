# ruff: noqa: E501, S108 -- lines that torch prints
"""What people write around an excerpt, and excerpts without what torch prints before them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Report, TracelensError, analyze
from tracelens.render import Options
from tracelens.render.text import Text

COMPARED = """\
Tensor-likes are not close!

Mismatched elements: 2 / 96 (2.1%)
Greatest absolute difference: 0.001953125 at index (1, 0) (up to 1e-05 allowed)
Greatest relative difference: 0.01953125 at index (1, 0) (up to {} allowed)
"""


def report(text: str, folder: Path) -> Report:
    path = folder / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(str(path))


@pytest.mark.parametrize("error", ["", "AssertionError: "])
@pytest.mark.parametrize("before", ["", "fp32 case: 1e-07\nbf16 case: 0.002\n"])
def test_a_comparison_is_read_without_its_traceback(
    error: str, before: str, tmp_path: Path
) -> None:
    found = report(f"{before}{error}{COMPARED.format('0.016')}", tmp_path).told
    assert [one.code for one in found] == ["NUM001"]
    assert "0.002" in found[0].message


def test_a_comparison_of_float32_is_no_rounding(tmp_path: Path) -> None:
    said = COMPARED.format("1.3e-06")
    assert "NUM001" not in {one.code for one in report(said, tmp_path).findings}
    raised = report(f"AssertionError: {said}", tmp_path).told
    assert [one.code for one in raised] == ["ERR000"]


@pytest.mark.parametrize(
    ("text", "accuses"),
    [
        ("With torch.compile my model is slower. What can I do?\n", False),
        ("epoch 1 loss 0.3\nepoch 2 loss 0.2\n", True),
        ("using torch 2.9\n" + "epoch 1 loss 0.3\n" * 200, True),
    ],
)
def test_prose_about_torch_is_not_accused(text: str, accuses: bool, tmp_path: Path) -> None:
    with pytest.raises(TracelensError) as raised:
        report(text, tmp_path)
    hint = raised.value.hint or ""
    assert ("nothing was compiled" in hint) is accuses
    assert ("tracebacks whole" in hint) is not accuses
    assert ("was recognised" in str(raised.value)) is not accuses


OLD = "[2022-12-22 03:54:{}] torch._dynamo.convert_frame: [WARNING] torch._dynamo hit config.cache_size_limit (64)\n   function: '{}' (/home/ana/proj/model.py:{})\n   reasons:  {}\n"
KEYS = OLD.format("03,390", "run", 5, "set(kwargs.keys()) == {'ids', 'mask'}")
OBJECT = OLD.format("04,390", "forward", 861, "___check_obj_id({}, 94636661886208)")
STRIDES = OLD.format("05,390", "attend", 396, "tensor '{}' strides mismatch at index 0. expected 8")


@pytest.mark.parametrize("fence", ["", "```"])
def test_a_warning_is_read_on_the_line_that_opens_a_fence(fence: str, tmp_path: Path) -> None:
    found = report(f"It is slow:\n\n{fence}{KEYS}", tmp_path).told
    assert [one.code for one in found] == ["RCP001"]
    assert "`run`" in found[0].title
    assert "The only reason in the log is" in found[0].message


def test_each_warning_has_a_reason_of_its_own(tmp_path: Path) -> None:
    found = report(KEYS + OBJECT.format("processor"), tmp_path).told
    assert len(found) == 2
    assert not any("reason in the log" in one.message for one in found)


@pytest.mark.parametrize(
    ("source", "is_cache"),
    [("past_key_values", True), ("past_key_value[0]", True), ("processor", False)],
)
@pytest.mark.parametrize("reason", [OBJECT, STRIDES])
def test_a_cache_of_keys_and_values_is_to_have_one_size(
    reason: str, source: str, is_cache: bool, tmp_path: Path
) -> None:
    (found,) = report(reason.format(source), tmp_path).told
    ids = [one.id for one in found.advice]
    assert ("static-cache" in ids) is is_cache
    assert not is_cache or not {"same-object", "raise-limit"} & set(ids)
    assert is_cache or reason is STRIDES or "same-object" in ids


RECORDED = "".join(f"Recording cudagraph tree for symint key {n}\n" for n in (10, 13, 16, 19))


@pytest.mark.parametrize(
    ("line", "is_set"),
    [
        ("inductor_config.triton.cudagraph_skip_dynamic_graphs = True", True),
        ("torch._inductor.config.triton.cudagraph_skip_dynamic_graphs=True", True),
        ("# torch._inductor.config.triton.cudagraph_skip_dynamic_graphs = True", False),
        ("inductor_config.triton.cudagraph_skip_dynamic_graphs = False", False),
        ("set torch._inductor.config.triton.cudagraph_skip_dynamic_graphs=True.", False),
    ],
)
def test_a_setting_that_the_program_has_is_no_way_out(
    line: str, is_set: bool, tmp_path: Path
) -> None:
    (found,) = report(f"import torch\n{line}\n\n{RECORDED}", tmp_path).told
    ids = [one.id for one in found.advice]
    assert found.code == "CGR004"
    assert ("skip-dynamic" in ids) is not is_set
    assert ("no-graphs" in ids) is is_set


HIT = "W0810 18:28:53.521000 4242 torch/_dynamo/convert_frame.py:964] [2/256] {}\n"
PACKAGE = "/home/ana/venv/lib/python3.12/site-packages/{}"


@pytest.mark.parametrize(
    ("function", "file", "is_helper"),
    [
        ("check_memory", PACKAGE.format("oddlib/offload.py"), True),
        ("forward_hook", PACKAGE.format("oddlib/modules.py"), True),
        ("forward", PACKAGE.format("oddlib/modules.py"), False),
        ("forward_hook", "/home/ana/proj/model.py", False),
    ],
)
def test_a_helper_that_wraps_modules_is_named(
    function: str, file: str, is_helper: bool, tmp_path: Path
) -> None:
    lines = (
        "torch._dynamo hit config.accumulated_recompile_limit (256)",
        f"   function: '{function}' ({file}:22)",
        "   last reason: 2/255: len(args) == 1",
    )
    (found,) = report("".join(map(HIT.format, lines)), tmp_path).told
    assert found.code == "RCP028"
    assert ("leave-helper-out" in {one.id for one in found.advice}) is is_helper


def row(name: str, host: tuple[str, str], device: tuple[str, str], calls: int) -> str:
    (ms, share), (on_device, of_device) = host, device
    cells = (name, share, ms, share, ms, ms, on_device, of_device, on_device, on_device, calls)
    return "".join(f"{cell:>40}  " for cell in cells) + "\n"


def test_shares_tell_the_totals_of_a_table(tmp_path: Path) -> None:
    rows = row("aten::addmm", ("100.000us", "5.00%"), ("40.000us", "10.00%"), 3)
    rows += row("cudaLaunchKernel", ("90.000us", "4.50%"), ("0.000us", "0.00%"), 17)
    message = report(rows, tmp_path).told[0].message
    assert "all rows of the table take 2 ms of the host and 0.4 ms of the device" in message
    assert "works 5 times as long" in message
    busy = rows.replace("40.000us", "400.000us")
    assert "launches are the limit" not in report(busy, tmp_path).told[0].message


ERROR = (
    "/tmp/torchinductor_ana/tt/cttmyl2lv36rbbkefb5sp35rxqrshbhalcvq7emapkzdm53zblgs.py:56:26: "
    "error: operand #0 does not dominate this use\n    tmp18 = libdevice.cos(tmp13)\n"
)
CODE = "module {\n  tt.func public @triton_per_fused_cos_52(%arg0: !tt.ptr<f32>) {\n"


@pytest.mark.parametrize(
    ("text", "dumped"),
    [
        (f"{ERROR}{CODE}", False),
        (CODE, True),
        (f"{ERROR}// -----// IR Dump Before Inliner (inline) //----- //\n{CODE}", True),
    ],
)
def test_what_triton_prints_with_an_error_is_no_dump(
    text: str, dumped: bool, tmp_path: Path
) -> None:
    found = report(text, tmp_path).findings
    assert any("dump of Triton" in one.title for one in found) is dumped


def test_tf32_slows_down_nothing_but_float32(tmp_path: Path) -> None:
    said = (
        "UserWarning: TensorFloat32 tensor cores for float32 matrix multiplication available but "
        "not enabled. Consider setting `torch.set_float32_matmul_precision('high')`\n"
    )
    shown = Text.render(report(said, tmp_path), Options())
    assert "slows down everything" not in shown
    assert "products in float32, and nothing else" in shown
