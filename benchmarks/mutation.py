"""Do the tests notice when a rule is changed? A sample of mutants, against the rule's tests.

    pip install --group campaigns
    python benchmarks/mutation.py --seed 1 --count 100 -o docs/campaigns/mutation.json

A mutant is a module below ``tracelens/rules`` with one comparison, boolean operator, number or
loop changed by cosmic-ray's operators. What no test can be about is left alone: annotations,
decorators, class keywords, and the million of a unit, one more of which is beyond the digits that
are said. A mutant is killed when a test of its rule fails: first its logs, one by one and all at
once, of which the changed rule must say what the rule says, with the conditions of its advice
(``tests/test_together.py``) and the points where it changes its mind (``tests/test_decisions.py``)
and the table of thresholds, in a forked process, which is quick; then pytest on every test module
that names its code, which ``--quick`` leaves out.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import datetime
import difflib
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

from tracelens.engine import judge
from tracelens.rules import Rule
from tracelens.source import read
from tracelens.testing import told

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.test_together import MAX_VARIED, conditions  # noqa: E402 -- the path is set above
from tests.varying import decisions, logs  # noqa: E402

CODE = re.compile(r'^    code = "([A-Z]{3}\d{3})"$', re.MULTILINE)
COMPARISONS = (
    *("Eq_NotEq", "NotEq_Eq", "Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt"),
    *("Lt_Gt", "Gt_Lt", "LtE_GtE", "GtE_LtE", "Is_IsNot", "IsNot_Is"),
)
OPERATORS = (
    *(f"core/ReplaceComparisonOperator_{pair}" for pair in COMPARISONS),
    "core/ReplaceBinaryOperator_Add_Sub",
    "core/ReplaceBinaryOperator_Sub_Add",
    "core/ReplaceBinaryOperator_Mul_Div",
    "core/ReplaceBinaryOperator_Div_Mul",
    "core/AddNot",
    "core/ReplaceAndWithOr",
    "core/ReplaceOrWithAnd",
    "core/ReplaceTrueWithFalse",
    "core/ReplaceFalseWithTrue",
    "core/NumberReplacer",
    "core/ZeroIterationForLoop",
)
Says = Callable[[type[Rule], Any], str]
#: Seconds that one test run may take.
LIMIT = 180


def silent_lines(source: str) -> set[int]:
    """Return the lines that no test can be about: signatures, annotations, decorators."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        spans: list[tuple[int, int]] = []
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            spans = [(first, node.body[0].lineno - 1)]
        elif isinstance(node, ast.AnnAssign):
            spans = [(node.annotation.lineno, node.annotation.end_lineno or 0)]
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            spans = [(node.lineno, node.end_lineno or 0)]
        for first, last in spans:
            found |= set(range(first, last + 1))
    return found


def units(source: str) -> set[tuple[int, int]]:
    """Return where a large power of ten turns one unit into another: one more is never said."""
    return {
        (node.right.lineno, node.right.col_offset)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant)
        if isinstance(node.op, ast.Mult | ast.Div) and node.right.value in {1e6, 1e9, 1e12}
    }


def places(source: str) -> Iterator[tuple[str, int]]:
    """Yield (operator, occurrence) of every mutant of one module."""
    silent, same = silent_lines(source), units(source)
    nodes = list(ast_nodes(get_ast(source)))
    for name in OPERATORS:
        operator = get_operator(name)()
        spans = [span for node in nodes for span in operator.mutation_positions(node)]
        for occurrence, (start, _) in enumerate(spans):
            is_unit = name == "core/NumberReplacer" and start in same
            if start[0] not in silent and not is_unit:
                yield name, occurrence


def mutant_of(source: str, name: str, occurrence: int) -> str | None:
    """Return the source with one place changed; None where that changes nothing."""
    mutant = mutate_code(source, get_operator(name)(), occurrence)
    return None if mutant == source else mutant


def code_of(module: Path) -> str:
    """Return the code of the rule in a module; empty for a base class."""
    found = CODE.search(module.read_text(encoding="utf-8"))
    return found[1] if found else ""


def tests_of(code: str) -> list[str]:
    """Return the pytest arguments that run the other tests of a rule."""
    return [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if code in path.read_text(encoding="utf-8")
        and path.parent.name not in {"live", "fuzz", "advice"}
        and path.name not in {"test_matrix.py", "test_gallery.py", "test_house.py"}
    ]


class Logs:
    """What the rules say about their logs, asked in a forked process for each mutant."""

    def __init__(self) -> None:
        self._read: dict[str, list[tuple[Says, Any, str]]] = {}

    def _of(self, module: Path) -> list[tuple[Says, Any, str]]:
        """Return what to ask the rule about which logs, and what it says."""
        code = code_of(module)
        if code not in self._read:
            found = []
            rule = _rule(module, module.read_text(encoding="utf-8"))
            folder = next((ROOT / "fixtures" / "rules").glob(f"{code}-*"))
            names = sorted(log.name for log in folder.iterdir())
            together = [name for name in names if name.startswith("fires-")]
            asked: list[tuple[Says, list[str]]] = [(_says, [name]) for name in names]
            asked += [(_says_with_advice, together)]
            asked += [(_decides, [name]) for name in logs(folder)]
            found.append((_limits, None, _limits(rule, None)))
            for says, given in asked:
                with contextlib.chdir(folder):
                    held = read(given)
                found.append((says, held, says(rule, held)))
            self._read = {code: found}  # of one rule at a time: records are large
        return self._read[code]

    def tell(self, module: Path, mutant: str) -> bool:
        """Tell whether a changed rule says something else about one of its logs."""
        asked = self._of(module)
        if not (child := os.fork()):
            signal.alarm(LIMIT)
            sys.stdout = sys.stderr = io.StringIO()
            try:
                rule = _rule(module, mutant)
                os._exit(any(says(rule, given) != said for says, given, said in asked))
            except BaseException:
                os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0


def _rule(module: Path, source: str) -> type[Rule]:
    """Return the rule in ``source``, which takes the place of ``module``."""
    name = ".".join(module.relative_to(ROOT).with_suffix("").parts)
    changed = types.ModuleType(name)
    changed.__file__ = str(module)
    sys.modules[name] = changed
    exec(compile(source, str(module), "exec"), changed.__dict__)  # noqa: S102 -- our own rule
    rules = [one for one in vars(changed).values() if getattr(one, "__module__", "") == name]
    (rule,) = (one for one in rules if getattr(one, "code", ""))
    return rule


def _says(rule: type[Rule], given: Any) -> str:
    """Return all that the rule says of a log."""
    asked = rule()
    return told(judge(*given, rules=[asked]), asked)


def _says_with_advice(rule: type[Rule], given: Any) -> str:
    """Return all that the rule says of its logs, and when it would advise something else."""
    asked = rule()
    report = judge(*given, rules=[asked])
    varied = report.findings[:MAX_VARIED] if rule.remedies else ()
    advice = [line for finding in varied for line in conditions(asked, finding)]
    return "".join([told(report, asked), *advice])


def _limits(rule: type[Rule], given: Any) -> str:
    """Return the named numbers and words of the rule's module, as the table of thresholds does."""
    del given
    named = {}
    for name, value in vars(sys.modules[rule.__module__]).items():
        members = value if isinstance(value, tuple | frozenset) else (value,)
        if name.isupper() and all(isinstance(one, int | float | str) for one in members):
            named[name] = repr(sorted(value, key=str) if isinstance(value, frozenset) else value)
    return str(named)


def _decides(rule: type[Rule], given: Any) -> str:
    """Return where the rule changes its mind about a log."""
    return "\n".join(decisions(rule(), given[0]))


def is_killed(checkout: Path, code: str) -> bool:
    """Tell whether another test that names the rule fails in ``checkout``."""
    if not tests_of(code):
        return False
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    env = os.environ | {"PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"}
    env["XDG_CACHE_HOME"] = str(checkout / "cache")
    try:
        done = subprocess.run(
            [*command, *tests_of(code), "-m", "not live"], cwd=checkout, env=env,
            capture_output=True, timeout=LIMIT, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return True
    if done.returncode not in {0, 1}:
        sys.exit(done.stdout.decode() + done.stderr.decode())
    return done.returncode == 1


def sample(seed: int, count: int, only: str) -> list[tuple[Path, str, int, str]]:
    """Draw mutants: a rule first, then one of its mutants: small rules count as large ones."""
    dice = random.Random(seed)
    modules = [
        path
        for path in sorted((ROOT / "tracelens" / "rules").rglob("*.py"))
        if (code := code_of(path)) and code.startswith(only)
    ]
    found = []
    dice.shuffle(modules)
    for number in range(count):
        module = modules[number % len(modules)]
        source = module.read_text(encoding="utf-8")
        choices = list(places(source))
        dice.shuffle(choices)
        for name, occurrence in choices:
            if (mutant := mutant_of(source, name, occurrence)) is not None:
                found.append((module, name.removeprefix("core/"), occurrence, mutant))
                break
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--only", default="", help="codes that begin with this")
    parser.add_argument("--least", type=float, default=0.0, help="share to kill, else exit 1")
    parser.add_argument("--quick", action="store_true", help="without pytest: a lower bound")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    logs = Logs()
    with tempfile.TemporaryDirectory() as scratch:
        checkout = Path(scratch) / "checkout"
        skipped = shutil.ignore_patterns(
            ".git", ".venv", "__pycache__", ".mypy_cache", ".hypothesis"
        )
        shutil.copytree(ROOT, checkout, ignore=skipped)
        for module, operator, occurrence, mutant in sample(
            options.seed, options.count, options.only
        ):
            path = module.relative_to(ROOT)
            original = module.read_text(encoding="utf-8")
            killed = logs.tell(module, mutant)
            if not killed and not options.quick:
                (checkout / path).write_text(mutant, encoding="utf-8")
                killed = is_killed(checkout, code_of(module))
                (checkout / path).write_text(original, encoding="utf-8")
                if killed and is_killed(checkout, code_of(module)):
                    sys.exit(f"the tests that name {code_of(module)} fail without any change")
            diff = [
                line
                for line in difflib.unified_diff(original.split("\n"), mutant.split("\n"), n=0)
                if line[:1] in "+-" and line[:3] not in {"+++", "---"}
            ]
            rows.append(
                {"module": path.as_posix(), "operator": operator, "occurrence": occurrence,
                 "killed": killed, "diff": diff}
            )  # fmt: skip
            print("killed  " if killed else "SURVIVED", path, operator, *diff, sep="  ", flush=True)
    kills = sum(row["killed"] for row in rows)
    print(f"{kills} of {len(rows)} mutants killed, seed {options.seed}")
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        day = datetime.datetime.now(datetime.UTC).date().isoformat()
        result = {"date": day, "seed": options.seed, "mutants": len(rows), "killed": kills}
        result["quick"] = options.quick
        survived = [row for row in rows if not row["killed"]]
        options.output.write_text(json.dumps(result | {"survived": survived}, indent=2) + "\n")
    sys.exit(kills < options.least * len(rows))


if __name__ == "__main__":
    main()
