"""Runs one program of the bench in a process of its own, with a setting before it.

    python child.py PROGRAM OUT [SETTING]
    python child.py --serve

The second form imports torch once and forks for each line of JSON that it reads: program, out,
setting, ``TORCH_LOGS``. That is for programs which need no other variable of the environment.

The program defines ``step(number)``, which is called ``STEPS`` times (12 where it does not say), as
a program would be; then the same steps are called until half a second of CPU time has passed, which
gives the time of a step. Prints one line of JSON: seconds of CPU of the first steps (compiling
included), milliseconds of CPU of a later one, graphs that were compiled, a sum of what the first
step returned. ``TRACE`` set to True records the later steps with torch's profiler; a program that
records them itself writes its trace into the folder ``OUT``.
"""

import contextlib
import fcntl
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

MARK = "advice bench: "
SECONDS = 0.5
#: The comment of a program that needs a GPU.
ON_GPU = "# device: cuda\n"
LIMIT_S = 240


def main(program: str, out: str, setting: str = "") -> None:
    import torch

    module = sys.modules["program"] = ModuleType("program")
    names: dict[str, Any] = module.__dict__
    names |= {"__file__": program, "torch": torch, "OUT": out}
    if setting:
        import torch._dynamo
        import torch._functorch.config
        import torch._inductor.config

        exec(setting, names)  # noqa: S102 -- what the report prints, as its reader would paste it
    torch.manual_seed(0)
    text = Path(program).read_text()
    clock = _Gpu() if ON_GPU in text else _Cpu()
    exec(compile(text, program, "exec"), names)  # noqa: S102
    step, steps = names["step"], names.get("STEPS", 12)
    begin = clock.now()
    value = _sum(step(0))
    for number in range(1, steps):
        step(number)
    found = {"run_s": clock.now() - begin, "value": value, "device": clock.name}
    with clock, _profiled(Path(out) / "trace.json" if names.get("TRACE") else None):
        found["step_ms"] = _milliseconds(step, steps, clock.now)
    found["graphs"] = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    print(f"\n{MARK}{json.dumps(found)}", flush=True)  # noqa: T201 -- to the bench


class _Cpu(contextlib.nullcontext[None]):
    """CPU time of this process."""

    name = ""
    now = staticmethod(time.process_time)


class _Gpu:
    """The time on the wall until the GPU is done, measured by one process of the bench at once."""

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.name = torch.cuda.get_device_name()

    def now(self) -> float:
        self.torch.cuda.synchronize()
        return time.perf_counter()

    def __enter__(self) -> None:
        self.lock = (Path(tempfile.gettempdir()) / "tracelens-advice.lock").open("w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)

    def __exit__(self, *error: object) -> None:
        self.lock.close()  # which lets go of it


def _milliseconds(step: Any, steps: int, now: Callable[[], float]) -> float:
    begin, count = now(), 0
    while now() - begin < SECONDS:
        for number in range(steps):
            step(number)
        count += steps
    return (now() - begin) / count * 1000


@contextlib.contextmanager
def _profiled(path: Path | None) -> Any:
    if path is None:
        yield
        return
    import torch

    with torch.profiler.profile(record_shapes=True) as profile:
        yield
    profile.export_chrome_trace(str(path))


def _sum(value: Any) -> float | None:
    import torch

    if not isinstance(value, torch.Tensor):
        return None
    return float(value.detach().double().abs().sum())


def serve() -> None:
    import torch._dynamo  # noqa: F401 -- before it forks

    for line in sys.stdin:
        program, out, setting, logs = json.loads(line)
        process = os.fork()
        if not process:
            _forked(program, out, setting, logs)
        _, status = os.waitpid(process, 0)
        print(status, flush=True)  # noqa: T201 -- to the bench


def _forked(program: str, out: str, setting: str, logs: str) -> None:
    signal.alarm(LIMIT_S)
    log = os.open(Path(out) / "log.txt", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    if logs != "none":
        from torch._logging import _internal

        os.environ["TORCH_LOGS"] = logs
        _internal._init_logs()
    try:
        main(program, out, setting)
        code = 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["--serve"] else main(*sys.argv[1:])
