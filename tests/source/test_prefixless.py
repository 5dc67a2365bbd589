"""Torch's messages in a paste that leaves their prefix out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Report, TracelensError, analyze
from tracelens.plugins import manifest
from tracelens.source.kinds import Kinds
from tracelens.source.segment import Segmenter

OLD_BREAK = """\
Graph break: call_function BuiltinVariable(print) [ConstantVariable(str)] {} from user code at:
  File "/home/ana/proj/model.py", line 7, in forward
    print("here")
"""
TUPLE = (
    "('Recompiling function fn in /home/ana/proj/model.py:4', 'triggered by the following guard "
    "failures: [\"___check_type_id(L[\\'obj\\'], 94834370481168)\", \"L[\\'obj\\'].x == -0.5\"]')\n"
)
#: A part without its prefix, and the rule that says what it shows.
TELLING = {
    OLD_BREAK: "GBR003",
    "compile_threads set to 1\n": "CMP004",
    "[0/0] Skip layout opt because found grouped convolution with >1 in_channels!\n": "IND024",
    "    - 0/1: Cache line invalidated because L['keep'] got deallocated\n": "RCP008",
    "    - 0/0: BACKEND_MATCH failure: torch.compile detected different backend callables.\n": (
        "RCP021"
    ),
}
#: A part in which no rule can find anything, and a word of what it is.
NAMED = {
    "Graph break in user code at /home/ana/proj/model.py:44\n": "model.py:44, without its reason",
    "TRACE LOAD_ATTR relu [NullVariable, LazyVariableTracker(unrealized)]\n": "bytecode",
    "  found 13 possible fusions\n".strip() + "\n": "fus",
    "skipping: _fn (reason: in skipfiles, file: /home/ana/proj/m.py)\n": "Dynamo notes",
    "eval Ne(s0, 1) [statically known]\n": "sizes",
    "    tmp0 = tl.load(in_ptr0 + (x0), xmask)\n": "generated code",
    "TRACE RESUME 0 []\n": "bytecode",
    "TRACE FX call mul from /home/ana/proj/m.py:3 in f (f)\n": "Dynamo traces",
    "static input idxs compile_fx_inner: [0, 1]\n": "CUDA graphs",
    "[0/0] set_replacement s26 = 1 (range_refined_to_singleton) VR[1, 1]\n": "`s26`",
    "track_symint L['y'].size()[0] 16 None\n": "sizes",
    "k == 1            # y = x * k  # proj/model.py:6 in forward\n": "guards",
    "    - 0/1: 2 <= kwargs['input_ids'].size()[0]  # a = {  # proj/m.py:3 in f\n": "recompile",
    "        vc[idx] = at::vec::fmadd(va, vb[col], vc[idx]);\n    };\n"
    "        c10::ForcedUnroll<ROWS * COLS>{}(compute, k);\n": "generated code",
    '        sub: "f32[2048, 512][512, 1]cpu" = a - b;  a = b = None\n': "graph",
    'V1120 15:32:16.219000 19186 torch/_inductor/compile_fx.py:1149] {"artifact": {"name": '
    '"fx_graph_cache_bypass", "encoding": "json"}, "has_payload": "d57e79"}\n': "structured log",
}
#: What other programs print, and a C++ file of theirs.
OTHERS = [
    "Skipping frame 12 of 400\n",
    "[1/4] Building CXX object app.dir/main.cpp.o\n[2/4] Linking CXX executable app\n",
    "Specializing the template for 3 types\n",
    "Found 13 possible matches\nmatching op1 with op2\n",
    "for (int k = 0; k < K; ++k) {\n    auto tmp = x[k];\n    sum += tmp;\n}\n",
    "- 1/2: half of it is done\n- 2/2: all of it is done\n",
    "created_symbols = 3\neval loss 0.3 [best]\n",
    "a == b  # compared\n",
    "TRACE [main] starting\nTRACE handler called\n",
    "TRACE REQUEST_IN /api/v1/users [req-12]\nTRACE FX call of the bank\n",
    "skipping: foo.rpm (reason: already installed)\n",
    "eval mmlu 5-shot [trivial baseline] acc=0.25\nMAGIC number 42\n",
    "Building\n[1/3] Step 1: fetch packages\n[2/3] Generated 12 files\n[3/3] scheduling jobs\n",
    "Baseline peak memory: 12 GB\nGraph Metrics:\n  nodes: 12\n",
    "Running warmup of function f\nRunning eager of function f\n",
    "-- checking\nOpenMP support not found, building without\n",
    "TensorFloat32 tensor cores are on\n",
    "import torch\naten = torch.ops.aten\nasync_compile = True\n",
    "@triton.jit\ndef add(x_ptr, out_ptr):\n    tl.store(out_ptr + pid, tl.load(x_ptr + pid))\n",
    "Release notes\n  - 3/2: speed > 3 times\n  - 1/4: passed / all == 10\n",
    "wrapped\nto include these operations in the captured graph.\n",
]


def _told(text: str, tmp_path: Path) -> Report:
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(str(path))


@pytest.mark.parametrize("text", TELLING)
@pytest.mark.parametrize("around", ["{}", "Hi,\nI see this, and wonder:\n\n```\n{}```\nThanks!\n"])
def test_a_rule_answers_without_the_prefix(around: str, text: str, tmp_path: Path) -> None:
    report = _told(around.format(text), tmp_path)
    assert report.told[0].code == TELLING[text]


@pytest.mark.parametrize("text", NAMED)
def test_what_tells_no_rule_anything_is_named(text: str, tmp_path: Path) -> None:
    report = _told(text, tmp_path)
    assert report.told[0].code == "LOG001"
    assert NAMED[text] in f"{report.told[0].title} {report.told[0].message}"


def test_an_old_recompile_lists_its_guards(tmp_path: Path) -> None:
    report = _told(TUPLE, tmp_path)
    (found,) = [one for one in report.findings if one.code.startswith("RCP")]
    assert found.code == "RCP009"
    assert [(row.line, "___check_type_id" in row.text) for row in found.evidence] == [(1, True)]
    assert report.coverage.share == 1


@pytest.mark.parametrize("text", OTHERS)
def test_what_other_programs_print_is_theirs(text: str) -> None:
    segmenter = Segmenter(Kinds(manifest.current().logs), "run.log")
    segmenter.feed([line.encode() for line in text.splitlines(keepends=True)])
    evidence = segmenter.finish()
    assert (dict(evidence.kinds), evidence.known, evidence.unread) == ({}, {}, [])


def test_the_text_of_a_failure_stays_whole(tmp_path: Path) -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/home/ana/proj/train.py", line 9, in <module>\n    step(x)\n'
        '  File "/tmp/torchinductor_ana/ab/cab.py", line 63, in recursively_apply_fns\n'
        "torch._dynamo.exc.Unsupported: Data-dependent branching\n"
        "  For more details about this graph break, please visit: https://example.org/gb0170.html\n"
    )
    assert _told(text, tmp_path).told[0].severity == "error"


def test_a_long_log_of_a_program_is_left_to_it(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text("step\n" * 200 + "TRACE LOAD_ATTR relu [NullVariable]\n", encoding="utf-8")
    with pytest.raises(TracelensError):
        analyze(str(path))


@pytest.mark.parametrize(
    "text",
    [
        (
            "[2023-03-31 05:58:27,551] torch._dynamo.convert_frame.__recompiles: [DEBUG] "
            "('Recompiling function <graph break in forward> in /home/ana/proj/model.py:8', "
            "\"triggered by the following guard failure: tensor 'L['x']' size mismatch at index 0. "
            'expected 2, actual 3")\n'
        ),
        (
            "[0/1] [__recompiles] Recompiling function <graph break in forward> in "
            "/home/ana/m.py:8\n"
            "[0/1] [__recompiles]     triggered by the following guard failure(s):\n"
            "[0/1] [__recompiles]     - tensor 'x' size mismatch at index 0. expected 2, actual 3\n"
        ),
    ],
)
def test_the_rest_of_a_function_has_a_name_with_blanks(text: str, tmp_path: Path) -> None:
    report = _told(text, tmp_path)
    assert report.coverage.share == 1
    assert [row["function"] for row in report.tables["recompiles"]] == ["<graph break in forward>"]


def test_lines_that_tell_an_error_are_not_unread_as_well(tmp_path: Path) -> None:
    head = "E1118 11:35:26.548000 12607 venv/lib/python3.10/site-packages/torch/_guards.py:300] "
    text = "".join(
        f"{head}[0/0] {line}\n"
        for line in (
            "    raise ConstraintViolationError(",
            (
                "torch.fx.experimental.symbolic_shapes.ConstraintViolationError: Constraints "
                'violated (seq)! For more information, run with TORCH_LOGS="+dynamic".'
            ),
            (
                "  - Not all values of seq = L['x'].size()[1] in the specified range seq <= 128 "
                "are valid because seq was inferred to be a constant (6)."
            ),
        )
    )
    report = _told(text, tmp_path)
    assert [one.code for one in report.findings] == ["DYN002"]
    assert report.coverage.share == 1


def test_a_record_that_ends_in_its_head_tells_the_function(tmp_path: Path) -> None:
    line = "DEBUG:torch._dynamo.guards.__recompiles:Recompiling function forward in /home/ana/m\n"
    (found,) = _told(line, tmp_path).told
    assert (found.code, found.title.count("`forward` is compiled again")) == ("LOG001", 1)


def test_a_symbol_that_is_specialised_was_not_marked_for_all_that_is_told(tmp_path: Path) -> None:
    line = "[2023-03-02 09:57:04,270] torch._dynamo.guards: [WARNING] Specializing s1 to 10:\n"
    first = _told(f'{line}  File "/home/ana/m.py", line 38, in forward\n', tmp_path).told[0]
    assert "marked" not in first.title + first.message
    assert "10:" not in first.title + first.message


def test_a_builtin_that_dynamo_cannot_trace_is_named(tmp_path: Path) -> None:
    line = (
        "/home/ana/venv/lib/python3.11/site-packages/torch/_dynamo/variables/functions.py:725: "
        "UserWarning: Graph break due to unsupported builtin fast._C.PyCapsule.quantize. This "
        "function is either a Python builtin (e.g. _warnings.warn) or a third-party extension.\n"
    )
    (found,) = _told(line, tmp_path).told
    assert found.code == "GBR009"
    assert "`fast._C.PyCapsule.quantize`" in found.title
    assert "torch.library.custom_op" in found.advice[0].text
    assert found.advice[-1].env == 'TORCH_LOGS="graph_breaks"'


def test_a_structured_log_whose_payloads_are_there_is_no_list_of_heads(tmp_path: Path) -> None:
    head = (
        'V1120 12:00:10.120000 4000 torch/_inductor/debug.py:765] {"artifact": {"name": '
        '"inductor_collective_schedule", "encoding": "json"}, "rank": 0, "frame_id": 0, '
        '"frame_compile_id": 0, "attempt": 0, "has_payload": "0a881a3cb681e461b50b011a8b23692e"}\n'
    )
    log = tmp_path / "run.log"
    log.write_text(f'{head}\t["torch.ops._c10d_functional.wait_tensor.default"]\n')
    assert not analyze(str(log)).told


def test_a_warning_with_a_relative_path_and_a_record_in_a_pane_are_read(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(
        "torch/_inductor/lowering.py:1639: UserWarning: Torchinductor does not support code "
        "generation for complex operators. Performance may be worse than eager.\n"
    )
    assert [one.code for one in analyze(str(log)).told] == ["IND010"]
    log.write_text(
        "\u2502 INFO 03-21 20:15:44 [monitor.py:33] torch.compile takes 28.77 s in total      \n",
        encoding="utf-8",
    )
    assert "CMP006" in {one.code for one in analyze(str(log)).findings}
