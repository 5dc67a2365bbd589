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
