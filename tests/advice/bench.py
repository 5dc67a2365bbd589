"""The advice bench: each advice, applied literally to a program that shows its finding.

A program is ``tests/advice/CODE/ID.py``, or ``ID--more.py`` where one advice has several. Run as it
is, its log has the finding, and the finding prints the advice ``ID``. What is then applied is what
was printed: every ``setting`` (executed before the program) and ``env`` by itself, or the variables
of the program's that an advice says to unset; where the advice has none of them, the program's own
blocks are exchanged::

    # before:
    y = x.item()
    # after:
    # y = x
    # end

Each line of a printed ``code``, up to a comment, must be among the lines after. Comments at the
top of the program say what differs from the usual::

    # logs: recompiles              TORCH_LOGS; the usual is graph_breaks,recompiles,guards,dynamic
    # recorded: tracelens run       the program is recorded by it, with everything
    # device: cuda                  it needs a GPU; times are then those on the wall
    # env: ONEDNN_VERBOSE=1         more variables; {out} is a folder all of which is analyzed
    # adapted: names differ         why the printed code is not literally in the block
    # results: differ               the advice changes them on purpose, and why
    # graphs: 0                     nothing need be compiled afterwards
    # expect: fewer                 the finding stays with a smaller count
    # expect: faster                it stays, and a step takes less CPU time
"""

import atexit
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.advice.child import LIMIT_S, MARK, ON_GPU
from tracelens import analyze
from tracelens.errors import SourceError
from tracelens.report import Advice, Finding, Severity

HERE = Path(__file__).parent
LOGS = "graph_breaks,recompiles,guards,dynamic"
HEADER = re.compile(
    r"^# (logs|recorded|device|env|adapted|results|graphs|expect): (\S.*)$", re.MULTILINE
)
BLOCK = re.compile(
    r"^ *# before:\n(?P<before>.*?)^ *# after:\n(?P<after>.*?)^ *# end\n?",
    re.MULTILINE | re.DOTALL,
)
#: Findings that other programs on the machine cause.
OF_THE_MACHINE = {"ENV001", "TUN001"}
#: Variables that an advice says to unset.
UNSET = re.compile(r"`unset ([A-Z_]+(?: [A-Z_]+)*)`")


@dataclass(frozen=True)
class Program:
    """A file of the bench."""

    path: Path

    @property
    def code(self) -> str:
        return self.path.parent.name

    @property
    def advice(self) -> str:
        return self.path.stem.partition("--")[0]

    @property
    def name(self) -> str:
        """Return what ``Remedy.proof`` holds."""
        return f"tests/advice/{self.code}/{self.path.name}"

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def header(self, key: str) -> list[str]:
        return [value.strip() for name, value in HEADER.findall(self.text) if name == key]

    @property
    def needs_gpu(self) -> bool:
        return ON_GPU in self.text

    @property
    def after(self) -> str:
        """Return the program with its blocks exchanged."""
        return BLOCK.sub(lambda match: _uncommented(match["after"]), self.text)

    @property
    def lines_after(self) -> set[str]:
        """Return the lines that the exchange brings, without indents and comments."""
        found = "".join(_uncommented(match["after"]) for match in BLOCK.finditer(self.text))
        return {_bare(line) for line in found.split("\n")}

    @property
    def result(self) -> Path:
        """Return where the campaign keeps what came of it."""
        return self.path.with_suffix(".json")


@dataclass(frozen=True)
class Ran:
    """What came of one run."""

    findings: tuple[Finding, ...]
    run_s: float
    step_ms: float
    graphs: int
    value: float | None
    device: str = ""

    def of(self, code: str) -> list[Finding]:
        return [finding for finding in self.findings if finding.code == code]


class BenchError(AssertionError):
    """An advice that did not do what it promises."""


def programs() -> list[Program]:
    return [Program(path) for path in sorted(HERE.glob("[A-Z][A-Z][A-Z][0-9][0-9][0-9]/*.py"))]


def run(
    program: Program, text: str, out: Path, *, setting: str = "", env: dict[str, str] | None = None
) -> Ran:
    """Run the text of a program in a new process and analyze what it left.

    Raises:
        BenchError: It raised.
    """
    out.mkdir(parents=True)
    script = out.parent / f"{out.name}.py"
    script.write_text(text, encoding="utf-8")
    given = dict(item.split("=", 1) for item in program.header("env"))
    given = {name: value.format(out=out) for name, value in given.items()} | (env or {})
    given = {name: value for name, value in given.items() if value}
    logs = next(iter(program.header("logs")), LOGS)
    log = out / "log.txt"
    if given or program.header("recorded") or program.needs_gpu:
        recorded = bool(program.header("recorded"))
        code = _alone([str(script), str(out), setting], log, given, logs, recorded=recorded)
    else:
        code = _server().run(str(script), str(out), setting, logs)
    kept = log.read_text(encoding="utf-8", errors="replace")
    body, mark, told = kept.rpartition(f"\n{MARK}")
    if code or not mark:
        raise BenchError(f"raised:\n{kept[-3000:]}")
    # oneDNN's lines wait in a buffer of the C library until the process ends.
    told, _, late = told.partition("\n")
    log.write_text(f"{body}\n{late}", encoding="utf-8")
    return Ran(_shown(out), **json.loads(told))


def _environment() -> dict[str, str]:
    base = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH", "ONEDNN"))}
    base |= {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1", "COLUMNS": "100"}
    return base | {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}


def _alone(
    arguments: list[str], log: Path, env: dict[str, str], logs: str, *, recorded: bool
) -> int:
    """Run a program that needs an environment of its own, or that ``tracelens run`` records."""
    base = _environment() | ({} if logs == "none" else {"TORCH_LOGS": logs}) | env
    command = [sys.executable, str(HERE / "child.py"), *arguments]
    if recorded:
        words = ["run", "-q", "-o", str(log.parent / "recorded"), "--", *command]
        command = [sys.executable, "-m", "tracelens", *words]
    with log.open("wb") as stream:
        ended = subprocess.run(
            command, stdout=stream, stderr=subprocess.STDOUT, env=base, timeout=LIMIT_S, check=False
        )
    return ended.returncode


class _Server:
    """A process that has imported torch, and forks for each program."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "child.py"), "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=_environment(),
        )
        atexit.register(self.close)

    def run(self, *request: str) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{json.dumps(request)}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline() or "1")

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:  # a busy machine
            self.process.kill()


@cache
def _server() -> _Server:
    return _Server()


def _shown(out: Path) -> tuple[Finding, ...]:
    """Return what the user gets to see; nothing where torch had nothing to say."""
    try:
        return analyze(*(str(path) for path in sorted(out.iterdir()))).shown
    except SourceError:
        return ()


def ways(advice: Advice) -> list[tuple[str, str, dict[str, str]]]:
    """Return how an advice can be applied: name, setting, environment."""
    found: list[tuple[str, str, dict[str, str]]] = []
    if names := UNSET.search(advice.text):
        return [("env", "", dict.fromkeys(names[1].split(), ""))]
    if advice.setting:
        found.append(("setting", advice.setting, {}))
    if advice.env:
        pairs = (item.split("=", 1) for item in re.split(r"\s+(?=[A-Z_]+=)", advice.env))
        found.append(("env", "", {name: value.strip("'\"") for name, value in pairs}))
    return found or [("code", "", {})]


def check(program: Program, room: Path) -> dict[str, object]:
    """Show the finding, apply its advice, and show that the finding is gone.

    Raises:
        BenchError: The finding or the advice is not there, the advice raises, or the finding stays.
    """
    before = run(program, program.text, room / "before")
    advice = _printed(program, before)
    facts: dict[str, object] = {"torch": _version()}
    if before.device:
        facts["device"] = before.device
    for way, setting, env in ways(advice):
        text = program.text
        if way == "code":
            text = _changed(program, advice)
        after = run(program, text, room / f"after-{way}", setting=setting, env=env)
        _compare(program, before, after)
        facts[way] = {
            "run_s": [round(before.run_s, 2), round(after.run_s, 2)],
            "step_ms": [float(f"{before.step_ms:.3g}"), float(f"{after.step_ms:.3g}")],
            "count": [_count(before.of(program.code)), _count(after.of(program.code))],
        }
    return facts


def _printed(program: Program, before: Ran) -> Advice:
    found = before.of(program.code)
    if not found:
        shown = ", ".join(f.code for f in before.findings) or "nothing"
        raise BenchError(f"no {program.code}: the log shows {shown}")
    printed = [advice for finding in found for advice in finding.advice]
    for advice in printed:
        if advice.id == program.advice:
            return advice
    raise BenchError(f"not printed: {program.advice}; but {[advice.id for advice in printed]}")


def _changed(program: Program, advice: Advice) -> str:
    if not BLOCK.search(program.text):
        raise BenchError("no blocks `# before:`, `# after:`, `# end`, and nothing else to apply")
    lines = {bare for line in (advice.code or "").split("\n") if (bare := _bare(line))}
    missing = [line for line in lines if not any(line in after for after in program.lines_after)]
    if missing and not program.header("adapted"):
        raise BenchError(f"the block is not what is printed: {sorted(missing)}")
    return program.after


def _compare(program: Program, before: Ran, after: Ran) -> None:
    left, had = after.of(program.code), before.of(program.code)
    expected = program.header("expect")
    fewer = "fewer" in expected and _count(left) < _count(had)
    faster = "faster" in expected and after.step_ms < before.step_ms
    if left and not (fewer or faster):
        raise BenchError(f"still there: {left[0].title}")
    if worse := [f for f in after.findings if f.severity is Severity.ERROR]:
        known = {f.code for f in before.findings} | OF_THE_MACHINE
        if new := [f.title for f in worse if f.code not in known]:
            raise BenchError(f"a new error: {new[0]}")
    if not after.graphs and "0" not in program.header("graphs"):
        raise BenchError("nothing is compiled afterwards")
    if not program.header("results") and not _alike(before.value, after.value):
        raise BenchError(f"another result: {before.value} and {after.value}")


def _alike(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return True
    return abs(one - other) <= 1e-2 * abs(one) + 1e-3


def _count(findings: list[Finding]) -> int:
    return sum(finding.count for finding in findings)


def _bare(line: str) -> str:
    return line.partition("  #")[0].strip()


def _uncommented(text: str) -> str:
    return re.sub(r"^( *)# ?", r"\1", text, flags=re.MULTILINE)


def _version() -> str:
    from importlib.metadata import version

    return version("torch")
