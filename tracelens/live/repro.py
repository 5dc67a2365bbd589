"""A script that shows a finding: one file, which needs nothing but torch."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator

from tracelens.engine import select_rules
from tracelens.errors import UsageError
from tracelens.live.micro import Pair, build
from tracelens.live.micro._reading import primitives
from tracelens.onednn import benchdnn
from tracelens.render import Redact
from tracelens.render._redact import redact as redacted
from tracelens.report import Finding, Report
from tracelens.version import __version__

__all__ = ["find", "script"]

#: Family of codes -> the kind of small workload that its findings have, where no rule names one.
_KINDS = {
    "ONE": "onednn_primitive",
    "TUN": "autotune",
    "RCP": "recompile",
    "GBR": "graph_break",
}
WIDTH = 96
#: Lines of evidence that the header quotes, and their length.
MAX_QUOTED, MAX_LENGTH = 3, 600


def find(report: Report, wanted: str) -> Finding:
    """Return the finding with this id, or the only one of this code or name.

    Raises:
        UsageError: There is none, or more than one.
    """
    found = [finding for finding in report.findings if finding.id == wanted]
    if not found:
        key = wanted.lower()
        found = [f for f in report.findings if key in {f.code.lower(), f.name, f.id.lower()}]
    if len(found) == 1:
        return found[0]
    ids = ", ".join(finding.id for finding in (found or report.findings)[:8])
    if found:
        raise UsageError(f"{wanted}: {len(found)} findings", hint=f"name one: {ids}")
    raise UsageError(f"{wanted}: no such finding", hint=f"there are: {ids}" if ids else "")


def script(
    report: Report, finding: Finding, *, redact: Redact = True, words: Iterable[str] = ()
) -> str:
    """Return a script that runs what ``finding`` is about and checks that its line appears.

    Args:
        report: Where the finding stands.
        finding: What to show.
        redact: Whether the header leaves out names, home directories and tokens; or how much more.
        words: Further texts to leave out.

    Raises:
        UsageError: There is no small program for it; the hint says how to show it with its own.
    """
    pair = _pair(report, finding)
    if pair is None:
        raise UsageError(
            f"{finding.id}: no small program shows it, only the one that the log is from",
            hint=_own(finding),
        )
    said = redacted(report, words, redact)[0] if redact else report
    index = report.findings.index(finding)
    header = "\n".join(_comments(_header(said, said.findings[index], finding, pair)))
    program = pair.shown or pair.before
    source = re.sub(r'\A"""[^"]*"""\n\n', "", program.source)
    work, compared, _ = source.partition("\n    def reference():")
    source = f"{work}\n    return step\n" if compared else source
    imports = [line for line in source.splitlines() if line.startswith("import ")]
    rest = "\n".join(line for line in source.splitlines() if line not in imports).strip("\n")
    mine = ["import os", "import platform", "import subprocess", "import sys", "import time"]
    standard = [line for line in imports if not line.startswith("import torch")]
    third = [line for line in imports if line.startswith("import torch")]
    head = "\n".join([*sorted({*mine, *standard}), "", *third])
    env = {**dict(pair.lines.env), **dict(program.env)}
    return _SCRIPT.format(
        header=header,
        imports=head,
        title=_plain(program.title),
        wanted=_tuple(pair.lines.parts),
        times=int(pair.lines.times),
        instead=_tuple(pair.lines.instead),
        env=_table(env),
        limits=_table(dict(program.env)),
        machine=repr(pair.machine),
        program=rest,
    )


def _pair(report: Report, finding: Finding) -> Pair | None:
    """Return the small workload: of the kind that its rule names, or that its family has."""
    rules = {rule.code: rule for rule in select_rules()}
    rule = rules.get(finding.code)
    named = [experiment.micro for experiment in (rule.experiments(finding) if rule else ())]
    for kind in dict.fromkeys((*named, _KINDS.get(finding.code[:3], ""))):
        pair = build(kind, finding, report)
        if pair is not None and pair.lines.parts:
            return pair
    return None


def _own(finding: Finding) -> str:
    """Return the command that shows a finding with the user's own program."""
    return (
        "with the program itself: tracelens run -- COMMAND, then tracelens analyze on what it "
        f"recorded, with --select {finding.code}"
    )


def _header(said: Report, finding: Finding, original: Finding, pair: Pair) -> Iterator[str]:
    """Yield the lines of the comment at the top; ``said`` and ``finding`` are redacted."""
    yield f"{finding.code} {finding.name}: {finding.title}"
    yield ""
    about = said.environment
    facts = {"torch": about.torch, "oneDNN": about.onednn, "isa": about.isa, "cpu": about.cpu}
    versions = ", ".join(f"{name} {value}" for name, value in facts.items() if value)
    yield f"Written by tracelens {__version__} from finding {finding.id}."
    if versions:
        yield f"Recorded with {versions}. The log said:"
    for line in finding.evidence[:MAX_QUOTED]:
        yield ""
        yield f"    {line.text[:MAX_LENGTH].strip()}"
    yield ""
    yield (
        "Run it with a Python that has torch, nothing else is needed: python FILE. It prints the "
        "lines that show the finding and exits 0, or says what ran instead and exits 1. --untimed "
        "leaves out how long a step takes."
    )
    commands = [benchdnn.command(run) for run in list(primitives(original))[:1]]
    for command in filter(None, commands):
        yield ""
        yield "The same with benchdnn, the test program of oneDNN:"
        yield ""
        yield f"    {command}"
    yield ""
    yield f"What the finding says to change is tested by tracelens confirm: {pair.knob.text}."


def _comments(lines: Iterator[str]) -> Iterator[str]:
    """Yield comment lines; what is indented stays in one line."""
    for line in lines:
        text = _plain(line)
        if text.startswith("    "):
            yield f"# {text}"
            continue
        wrapped = textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
        yield from (f"# {part}".rstrip() for part in wrapped or [""])


def _plain(text: str) -> str:
    """Return text that cannot end a comment."""
    return "".join(char if char.isprintable() else " " for char in text).replace('"""', "'''")


def _tuple(parts: tuple[str, ...]) -> str:
    return repr(tuple(str(part) for part in parts))


def _table(env: dict[str, str]) -> str:
    return repr({str(name): str(value) for name, value in env.items()})


_SCRIPT = '''#!/usr/bin/env python3
{header}

{imports}

#: {title}.
CALLS = 5
#: Parts of the lines that show the finding, and how many such lines there must be.
WANTED = {wanted}
TIMES = {times}
#: Parts of the lines that tell what ran instead.
INSTEAD = {instead}
#: Variables of the recorded run, and those that the work itself needs.
LOGGED = {env}
PLAIN = {limits}
#: The architecture that the log is from; empty for any.
MACHINE = {machine}


{program}


def child(what):
    """Run a few steps with logging on, or time them without."""
    step = setup()
    for _ in range(CALLS):
        step()
    if what == "time":
        times = []
        while len(times) < 5 or (sum(times) < 0.5 and len(times) < 1000):
            began = time.perf_counter()
            step()
            times.append(time.perf_counter() - began)
        print(f"{{sorted(times)[len(times) // 2] * 1e3:.4g}} ms per step, median of {{len(times)}}")


def run(what, variables):
    """Run this file once more in a process of its own and return what it wrote."""
    env = {{**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"), **variables}}
    command = [sys.executable, os.path.abspath(__file__), what]
    done = subprocess.run(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return done.returncode, done.stdout.decode("utf-8", "replace")


def main():
    """Show the finding."""
    print("torch", torch.__version__, "on", platform.machine())
    code, log = run("record", LOGGED)
    lines = [line for line in log.splitlines() if all(part in line for part in WANTED)]
    for line in lines[:3]:
        print(line)
    if code == 0 and len(lines) >= TIMES:
        if "--untimed" not in sys.argv:
            print(run("time", PLAIN)[1].strip().splitlines()[-1])
        return 0
    print(f"not shown here: {{len(lines)}} of {{TIMES}} lines with {{' '.join(WANTED)}}")
    if MACHINE and MACHINE != platform.machine():
        print(f"the log is from {{MACHINE}}, and this machine is {{platform.machine()}}")
    if code:
        print("here it ends with:", *log.strip().splitlines()[-1:])
        return 1
    others = [line for line in log.splitlines() if all(part in line for part in INSTEAD)]
    for line in others[-3:] if INSTEAD else ():
        print("here:", line)
    return 1


if __name__ == "__main__":
    if sys.argv[1:] in (["record"], ["time"]):
        child(sys.argv[1])
    else:
        sys.exit(main())
'''
