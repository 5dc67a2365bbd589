"""Words of torch's that other programs print, too, are torch's only where something says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Report, analyze
from tracelens.errors import SourceError

HEAD = (
    "Traceback (most recent call last):\n"
    '  File "/home/ana/proj/app.py", line 12, in main\n'
    "    work()\n"
    '  File "/home/ana/proj/lib.py", line 100, in work\n'
)
TORCH = "/home/ana/venv/lib/python3.12/site-packages/torch"
OTHERS = {
    "constraint": (
        '    raise ConstraintViolationError("duplicate key")\n'
        'db.ConstraintViolationError: duplicate key value violates unique constraint "x"\n'
    ),
    "metadata": (
        '    raise MetadataMismatchError("checksum differs")\n'
        "ds.MetadataMismatchError: checksum differs\n"
    ),
    "bare": "    reload()\nRecompileError: template changed\n",
    "recompile": "    reload()\nds.RecompileError: template changed\n",
    "mode": "    open()\nValueError: Unrecognized mode=fast, should be one of r, w\n",
    "cut": '    templates.compile()\n    raise UserError("duplicate key")\n',
}
OURS = {
    "constraint": "torch.fx.experimental.symbolic_shapes.ConstraintViolationError: Constraints violated (batch)!\n",  # noqa: E501
    "metadata": (
        f'  File "{TORCH}/_functorch/aot_autograd.py", line 3, in f\n'
        "    f()\nMetadataMismatchError: a view of an input\n"
    ),
    "mode": (
        f'  File "{TORCH}/__init__.py", line 2500, in compile\n    f()\n'
        "RuntimeError: Unrecognized mode=fast, should be one of: default\n"
    ),
    "cut": f'  File "{TORCH}/_dynamo/exc.py", line 300, in f\n    raise UserError(\n',
}


def report(text: str, folder: Path) -> Report:
    path = folder / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(str(path))


@pytest.mark.parametrize("name", OTHERS)
def test_a_name_of_another_program_is_not_torchs(name: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        report(HEAD + OTHERS[name], tmp_path)


@pytest.mark.parametrize("name", OURS)
def test_the_same_under_torch_is(name: str, tmp_path: Path) -> None:
    assert report(HEAD + OURS[name], tmp_path).told


def test_a_scheduler_of_jobs_is_no_engine(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        report(f"Scheduler hit an exception: {HEAD}    do()\nValueError: bad\n", tmp_path)


def test_autograd_alone_meets_a_tensor_of_inference_mode(tmp_path: Path) -> None:
    frame = f'  File "{TORCH}/nn/functional.py", line 100, in linear\n    f()\n'
    error = "RuntimeError: Inference tensors cannot be saved for backward.\n"
    first = report(HEAD + frame + error, tmp_path).told[0]
    assert first.title.startswith("autograd met a tensor")
    assert [one.id for one in first.advice] == ["no-grad"]
    compiled = frame.replace("nn/functional", "_functorch/_aot_autograd/runtime_wrappers")
    assert "compiled code met" in report(HEAD + compiled + error, tmp_path).told[0].title


LIMIT = "W0101 10:00:00.000000 100 torch/_dynamo/convert_frame.py:906] [0/8] "
CACHE = "W0101 10:00:05.000000 100 torch/_inductor/remote_cache.py:417] "
CAUGHT = (
    "Override manifold cache failed\nTraceback (most recent call last):\n"
    f'  File "{TORCH}/_inductor/remote_cache.py", line 200, in get\n'
    "    return self.backend.get(key)\n"
    "ConnectionError: Error 111 connecting to localhost:6379. Connection refused.\n"
)


def logged(text: str, prefix: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


def test_a_warning_about_the_recompile_limit_suppresses_no_error(tmp_path: Path) -> None:
    limit = (
        "torch._dynamo hit config.recompile_limit (8)\n"
        "   function: 'forward' (/home/ana/proj/model.py:94)\n"
        "   last reason: 0/7: tensor 'x' size mismatch at index 0. expected 4, actual 5\n"
    )
    text = f"{logged(limit, LIMIT)}step 1 ok\n{logged(CAUGHT, CACHE)}step 2 ok\n"
    codes = [one.code for one in report(text, tmp_path).told]
    assert "RCP001" in codes
    assert not [code for code in codes if code.startswith("ERR")]


def test_nor_does_the_error_of_a_function_make_others_of_the_log_failures(tmp_path: Path) -> None:
    error = CAUGHT.replace("Override manifold cache failed\n", "").replace("remote_cache", "lower")
    both = logged(error.replace("ConnectionError", "ValueError"), LIMIT) + logged(CAUGHT, CACHE)
    first = report(both, tmp_path).told[0]
    assert first.data["exception"] == "ValueError"


def test_an_engine_that_was_running_did_start(tmp_path: Path) -> None:
    prefix = "(EngineCore_0 pid=100) ERROR 08-14 12:59:46 [core.py:700] "
    text = (
        "EngineCore encountered a fatal error.\nTraceback (most recent call last):\n"
        '  File "/home/ana/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 691,'
        " in run_engine_core\n    engine_core.run_busy_loop()\nValueError: no room\n"
    )
    first = report(logged(text, prefix), tmp_path).told[0]
    assert first.title == "the engine stopped in an error: no room"
    assert [one.id for one in first.advice if one.id.startswith("engine")] == ["engine-eager"]


def test_weights_of_compiled_models_both_are_no_matter_of_compiling(tmp_path: Path) -> None:
    head = f"{HEAD}    model.load_state_dict(x)\nRuntimeError: Error(s) in loading state_dict for"
    keys = ' Net:\n\tMissing key(s) in state_dict: "{}fc.w".\n\tUnexpected key(s): "_orig_mod.x".\n'
    first = report(head + keys.format(""), tmp_path).told[0]
    assert first.title.startswith("the weights are of a compiled model")
    assert "Error(s) in loading" in first.message
    first = report(head + keys.format("_orig_mod."), tmp_path).told[0]
    assert first.title.startswith("the weights are not those of this model")


def test_the_exporter_that_traces_is_not_torch_export(tmp_path: Path) -> None:
    frame = f'  File "{TORCH}/onnx/utils.py", line 551, in export\n    f()\n'
    error = "torch.onnx.errors.UnsupportedOperatorError: Exporting the operator 'aten::x'\n"
    assert not report(HEAD + frame + error, tmp_path).told[0].advice


def test_a_mode_and_options_are_told_as_what_they_are(tmp_path: Path) -> None:
    error = "RuntimeError: Either mode or options can be specified, but both can't be specified.\n"
    first = report(error, tmp_path).told[0]
    assert first.title.startswith("torch.compile was given a mode and options")
    assert [one.id for one in first.advice] == ["mode-as-options"]


def test_a_library_that_triton_itself_misses_is_none_that_torch_generated(tmp_path: Path) -> None:
    frame = f'  File "{TORCH}/_inductor/runtime/triton_helpers.py", line 9, in <module>\n    f()\n'
    error = "ImportError: libcupti.so.12: cannot open shared object file: No such file\n"
    assert report(HEAD + frame + error, tmp_path).told[0].code == "ERR000"
