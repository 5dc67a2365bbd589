"""A size that changes: a length is marked, channels of layers are not."""

from __future__ import annotations

from pathlib import Path

from tracelens import Finding, analyze

PREFIX = "V1024 16:27:53.546000 1770485 torch/_dynamo/guards.py:2813] [1/4] [__recompiles] "
LIMIT = "W0618 02:37:09.733472 6171 torch/_dynamo/convert_frame.py:964] [1/8] "
MISMATCH = "tensor 'kwargs['ids']' size mismatch at index 1. expected 1128, actual 1122"
REST = "torch_dynamo_resume_in_forward_at_72"


def told(lines: list[str], folder: Path, prefix: str = PREFIX) -> dict[str, Finding]:
    path = folder / "run.log"
    path.write_text("".join(f"{prefix}{line}\n" for line in lines), encoding="utf-8")
    return {one.code: one for one in analyze(str(path)).findings}


def recompile(sizes: list[int], function: str = "forward") -> list[str]:
    *before, came = sizes
    reasons = [
        f"    - 1/{n}: tensor 'L['x']' size mismatch at index 1. expected {one}, actual {came}"
        for n, one in enumerate(before)
    ]
    head = f"Recompiling function {function} in /home/ana/proj/net.py:15"
    return [head, "    triggered by the following guard failure(s):", *reversed(reasons)]


def test_channels_of_layers_are_not_to_be_marked(tmp_path: Path) -> None:
    found = told(recompile([128, 256, 512, 512, 1024]), tmp_path)["RCP002"]
    ids = [one.id for one in found.advice]
    assert ids[0] == "layers-share"
    assert "default-dynamic" not in ids
    assert "recompile_limit" in found.advice[0].text
    assert "4 entries from before the log begins" in found.message


def test_a_length_is_no_matter_of_layers(tmp_path: Path) -> None:
    found = told(recompile([1128, 1122, 1131, 1125]), tmp_path)["RCP002"]
    assert "layers-share" not in [one.id for one in found.advice]
    assert found.advice[0].id == "pad"


def test_a_length_that_the_limit_names_is_to_be_marked(tmp_path: Path) -> None:
    lines = [
        "torch._dynamo hit config.recompile_limit (8)",
        "   function: 'forward' (/home/ana/venv/lib/python3.11/site-packages/lib/run.py:8)",
        f"   last reason: 1/2: {MISMATCH}",
    ]
    found = told(lines, tmp_path, LIMIT)["RCP001"]
    assert found.advice[0].code == 'torch._dynamo.maybe_mark_dynamic(batch["ids"], 1)'
    lines[2] = lines[2].replace("1128", "256").replace("1122", "512")
    found = told(lines, tmp_path, LIMIT)["RCP001"]
    assert found.advice[0].id == "layers-share"


def test_many_entries_behind_a_break_are_not_harmless(tmp_path: Path) -> None:
    many = told(recompile([11, 12, 13, 14, 15], REST), tmp_path)["RCP024"]
    assert (many.severity, many.harmless) == ("warning", None)
    one = told(recompile([11, 12], REST), tmp_path, PREFIX.replace("1/4", "1/1"))["RCP024"]
    assert one.severity == "none"
    assert one.harmless


def test_a_reason_alone_does_not_promise_one_entry(tmp_path: Path) -> None:
    found = told(recompile([128, 1024])[2:], tmp_path, "")["LOG001"]
    assert "one entry serve all" not in found.message
    assert "maybe_mark_dynamic" in found.message
    assert "channels" in found.message
