"""Where `inference_mode` comes from: of the program's own `with`, or of a method's decorator."""

from pathlib import Path

import pytest

from tracelens import analyze

LIBRARY = "/home/ana/venv/lib/python3.11/site-packages/"
HEAD = f'''Traceback (most recent call last):
  File "/home/ana/proj/app.py", line 16, in <module>
    y = model(x)
  File "{LIBRARY}torch/_dynamo/eval_frame.py", line 1183, in compile_wrapper
    raise e.remove_dynamo_frames() from None
  File "{LIBRARY}torch/_dynamo/output_graph.py", line 3147, in _call_user_compiler
    raise BackendCompilerFailed(
torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:
RuntimeError: Cannot set version_counter for inference tensor

Original traceback:
  File "{{file}}", line 96, in forward
    audio = self.decode(features)
'''
WRAPPER = f'''  File "{LIBRARY}torch/utils/_contextlib.py", line 124, in decorate_context
    return func(*args, **kwargs)
'''
TAIL = """  File "{file}", line 113, in decode
    audio = self.head(x)

"""


@pytest.mark.parametrize(
    ("wrapper", "file", "says"),
    [
        (WRAPPER, f"{LIBRARY}vocoder/model.py", ["`decode` (vocoder/model.py:113)", "`self.head`"]),
        (WRAPPER, "/home/ana/proj/model.py", ["or use `torch.no_grad()` for it"]),
        ("", f"{LIBRARY}vocoder/model.py", ["run it under `torch.no_grad()`"]),
    ],
)
def test_a_decorated_method_is_not_mended_by_the_caller(
    tmp_path: Path, wrapper: str, file: str, says: list[str]
) -> None:
    log = tmp_path / "run.log"
    log.write_text(HEAD.format(file=file) + wrapper + TAIL.format(file=file))
    advice = analyze(str(log)).shown[0].advice[0]
    assert all(one in (advice.text or "") for one in says)
    assert ("torch.no_grad()" in (advice.text or "")) is ("no_grad" in says[0])


def test_what_the_decorator_is_the_log_does_not_show(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    file = "/home/ana/proj/model.py"
    head = f'  File "{file}", line 20, in head\n    return self.net(x)\n\n'
    log.write_text(HEAD.format(file=file) + WRAPPER + TAIL.format(file=file)[:-1] + head)
    text = analyze(str(log)).shown[0].advice[0].text or ""
    assert "decorated to run under" not in text  # it may be no_grad, with inference_mode within
    assert "`self.head`" not in text  # a method, no module
