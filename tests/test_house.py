"""The rules of the house: what is true of every rule, log kind, renderer and file."""

import ast
import inspect
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

import pytest

import tracelens
from tracelens import grammars
from tracelens.judging import excerpts
from tracelens.logs import Log, measured
from tracelens.plugins.registry import discover
from tracelens.render import Renderer
from tracelens.report import FindingData
from tracelens.rules import HEADINGS, Rule
from tracelens.source.kinds import Kinds
from tracelens.testing import GrammarCase

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tracelens"
FIXTURES = ROOT / "fixtures"
#: Our own classes; packs that happen to be installed keep their own house.
OURS = "tracelens."
LOGS = [log for log in discover("logs", Log) if log.__module__.startswith(OURS)]
RULES = [rule for rule in discover("rules", Rule) if rule.__module__.startswith(OURS)]
RENDERERS = [cls for cls in discover("renderers", Renderer) if cls.__module__.startswith(OURS)]
#: Codes that were in a release and are not to be given to another rule.
RETIRED: frozenset[str] = frozenset()

each_log = pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)


# Rules.


def test_no_code_is_used_twice() -> None:
    codes = Counter(rule.code for rule in RULES)
    assert [code for code, count in codes.items() if count > 1 or code in RETIRED] == []


@each_rule
def test_a_rule_lives_where_its_name_says_and_has_its_headings(rule: type[Rule]) -> None:
    assert re.fullmatch(r"[A-Z]{3}\d{3}", rule.code)
    assert re.fullmatch(r"[a-z0-9]+([-.][a-z0-9]+)*", rule.name)
    module = re.sub("[-.]", "_", rule.name)
    assert rule.__module__ == f"tracelens.rules.{rule.code[:3].lower()}.{module}"
    assert rule.__name__ == module.title().replace("_", "")
    doc = inspect.cleandoc(rule.__doc__ or "")
    assert doc.partition("\n")[0].endswith("."), "the first line is one sentence"
    assert tuple(re.findall(r"^## (.+)$", doc, re.MULTILINE)) == HEADINGS
    assert [name for name, text in rule.sections().items() if not text.strip()] == []


@each_rule
def test_the_excerpt_on_a_rules_page_is_read(rule: type[Rule]) -> None:
    assert list(excerpts.excerpts(rule)), "no excerpt"
    wrong = excerpts.problems(rule, Kinds(LOGS))
    if rule.code.startswith("LOG"):  # about what cannot be read
        wrong = [one for one in wrong if one.endswith("no log kind reads it")]
    assert wrong == []


@pytest.mark.parametrize("promise", ["fires", "quiet"])
def test_a_rule_has_logs_that_show_it_and_logs_that_do_not(promise: str) -> None:
    folders = (FIXTURES / "rules" / f"{rule.code}-{rule.name}" for rule in RULES)
    assert [folder.name for folder in folders if not any(folder.glob(f"{promise}-*.*"))] == []


def test_a_rule_says_how_a_live_run_tests_it_or_why_none_can() -> None:
    wrong = []
    for rule in RULES:
        depends = rule.experiments is not Rule.experiments
        if bool(rule.unconfirmable) == bool(rule.experiment or depends):
            wrong.append(rule.code)
    assert wrong == []


def test_the_thresholds_of_the_rules(text_snapshot: object) -> None:
    """A number that is changed shows here, with the log that has to tell the two sides apart."""
    lines = []
    for rule in sorted(RULES, key=lambda rule: rule.code):
        for name, value in vars(sys.modules[rule.__module__]).items():
            members = value if isinstance(value, tuple | frozenset) else (value,)
            if not name.isupper() or not all(isinstance(one, int | float | str) for one in members):
                continue
            shown = sorted(value, key=str) if isinstance(value, frozenset) else value
            if name != "TYPE_CHECKING":
                lines.append(f"{rule.code} {name} = {shown!r}")
    assert "\n".join(lines) + "\n" == text_snapshot


def test_a_rule_describes_the_data_of_its_findings() -> None:
    described = {r.code for r in RULES if r.Data is not FindingData and inspect.getdoc(r.Data)}
    assert [rule.code for rule in RULES if rule.code not in described] == []


def test_every_folder_of_rule_logs_belongs_to_a_rule() -> None:
    known = {f"{rule.code}-{rule.name}" for rule in RULES}
    assert {path.name for path in (FIXTURES / "rules").iterdir()} <= known


def test_every_log_of_a_rule_has_its_snapshot_and_none_is_left_over() -> None:
    ends = re.compile(r"(\.(json|log))?(\.gz)?$")
    logs = [
        f"{log.parent.name.partition('-')[0]}-{ends.sub('', log.name).replace('.', '_')}"
        for log in (FIXTURES / "rules").glob("*/*")
    ]
    snapshots = (ROOT / "tests" / "__snapshots__" / "test_rules").iterdir()
    kept = [path.stem.removeprefix("test_rule[").removesuffix("]") for path in snapshots]
    assert sorted(kept) == sorted(logs)


# Log kinds and their grammars.


@each_log
def test_a_grammar_says_what_prints_it_and_where_it_goes(log: type[Log]) -> None:
    lines = GrammarCase(log).header()
    assert re.fullmatch(rf"// {log.name}: [A-Za-z].+", lines[0])
    keys = dict(
        re.findall(r"^// (switch|written by|read into) {2,}(\S.*)$", "\n".join(lines), re.MULTILINE)
    )
    assert log.switch
    assert log.switch in keys["switch"]
    assert keys["written by"]
    assert keys["read into"] == f"{log.__module__.replace('.', '/')}.py"
    assert log.__module__.rpartition(".")[2] == log.name


def test_a_grammar_fills_its_models_and_reads_its_examples(grammar_case: GrammarCase) -> None:
    assert list(grammar_case.examples())
    grammar_case.check()


@each_log
def test_reading_costs_no_more_tokens_than_it_did(log: type[Log], text_snapshot: object) -> None:
    grammar = grammars.load(log.name, log.__module__)
    counts = []
    for example in GrammarCase(log).examples():
        text = measured(log, example.text)[0]
        counts.append(
            f"{grammar.tokens(log.mask(text)):4}  {example.text.partition(chr(10))[0][:80]}"
        )
    assert "\n".join(counts) + "\n" == text_snapshot


def test_every_grammar_belongs_to_a_log_kind() -> None:
    names = {path.stem for path in (ROOT / "grammars").glob("*.lark")}
    assert names == {log.name for log in LOGS}


# Imports, and who may print.

#: The rooms of the house, each above those that it may import from; what a function imports late
#: and what only a type checker imports counts as well.
LAYERS = tuple(
    """
    version context compiled late errors words timelimit copies workers instances remembered
    automaton lark_tables grammars experiment policies config report remedies render evidence logs
    dynamo traces inductor onednn failures frames summaries rules plugins source judging fleet
    engine live testing tracelens cli __main__
    """.split()  # noqa: SIM905 -- read from left to right, as a drawing
)


def modules() -> dict[str, Path]:
    paths = {path: path.relative_to(ROOT).with_suffix("") for path in PACKAGE.rglob("*.py")}
    return {".".join(name.parts).removesuffix(".__init__"): path for path, name in paths.items()}


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def statements(body: list[Any]) -> Iterator[ast.AST]:
    """Yield each statement of a block and of the blocks within, without what they compute."""
    for node in body:
        yield node
        for below in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(node, below, []))


def imported(path: Path, known: Container[str]) -> Iterator[str]:
    """Yield the modules of ours that a file imports, wherever in it."""
    for node in statements(parsed(path).body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.module in known:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in known else node.module


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else module


def test_imports_run_one_way_through_the_rooms() -> None:
    known = modules()
    upwards = [
        f"{module} -> {other}"
        for module, path in known.items()
        for other in imported(path, known)
        if room(other) != room(module) and LAYERS.index(room(other)) >= LAYERS.index(room(module))
    ]
    assert sorted(upwards) == []


def test_every_room_has_its_place() -> None:
    rooms = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert rooms - {"__init__", "__pycache__", "py"} == {*LAYERS} - {"tracelens"}


def test_analyzing_a_log_imports_no_numeric_library() -> None:
    log = min((FIXTURES / "logs" / "samples").glob("*.log"))
    probe = (
        "import sys, tracelens.cli as cli\n"
        f"cli.main(['analyze', {str(log)!r}, '-q'])\n"
        "print('\\n', *({'torch', 'numpy', 'polars', 'dask', 'pandas'} & set(sys.modules)))"
    )
    assert python("-c", probe).splitlines()[-1].strip() == ""


def test_the_plugin_and_the_package_import_nothing_heavy() -> None:
    probe = (
        "import sys, tracelens.testing\n"
        "print(*({'lark', 'pydantic', 'torch', 'jinja2', 'typer', 'isal'} & set(sys.modules)))"
    )
    assert python("-c", probe).strip() == ""


def test_help_imports_nothing_heavy() -> None:
    probe = (
        "import sys, tracelens.cli as cli\n"
        "cli.main(['--help'])\n"
        "heavy = {'lark', 'pydantic', 'torch', 'jinja2', 'rich', 'isal', 'msgspec'}\n"
        "print('\\n', *(heavy & set(sys.modules)))"
    )
    assert python("-c", probe).splitlines()[-1].strip() == ""


def python(*arguments: str) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout


#: Code that runs in the user's process, where there is no command line of ours, or becomes it.
ELSEWHERE = {"inject", "api.py", "bootstrap.py", "drive.py", "notebook.py"}


#: What a file must hold for ``forbidden`` to find something in it.
SUSPECT = re.compile(r"\b(print|exit|stdout|stderr|environ|getenv)\b")


def forbidden(node: ast.AST) -> str:
    """Return the name of what only the command line may use, or nothing."""
    match node:
        case ast.Name(id="print" | "exit" as name):
            return name
        case ast.Attribute(
            value=ast.Name(id="sys" | "os" as module),
            attr="exit" | "stdout" | "stderr" | "environ" | "getenv" as name,
        ):
            return f"{module}.{name}"
    return ""


def test_only_the_command_line_prints_exits_and_reads_the_environment() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not {"cli", "__main__.py", *ELSEWHERE} & set(path.parts)
        and SUSPECT.search(path.read_text(encoding="utf-8"))
        for node in ast.walk(parsed(path))
        if (name := forbidden(node)) and isinstance(node, ast.expr)
    ]
    assert found == []


@pytest.mark.parametrize(
    "code", ["print(1)", "exit()", "sys.exit(3)", "x = os.environ['A']", "f(sys.stderr)"]
)
def test_what_only_the_command_line_may_use_is_seen(code: str) -> None:
    assert SUSPECT.search(code)
    assert any(map(forbidden, ast.walk(ast.parse(code))))


def test_the_public_names_exist() -> None:
    assert [name for name in tracelens.__all__ if not hasattr(tracelens, name)] == []


# Files.

#: A folder of some machine that fixtures were made on; home directories of nobody are fine.
MACHINE = re.compile(
    r"(?<![\w.~-])/(?:root|work|workspace|farm|builds)/|/home/(?!ana\b|runner\b)\w+"
)


def project_files() -> list[Path]:
    folders = ("fixtures", "reports", "tests", "docs", "grammars", "tracelens")
    return [
        path
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and path != Path(__file__)
    ]


def test_no_file_names_a_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in project_files()
        if (match := MACHINE.search(contents(path)))
    ]
    assert found == []


def contents(path: Path) -> str:
    import gzip

    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "replace")


def test_the_manifest_lists_every_fixture() -> None:
    missing = []
    for path in sorted((*(FIXTURES / "rules").rglob("*"), *(FIXTURES / "logs").rglob("*"))):
        if not path.is_file() or path.name.startswith("."):
            continue
        room, folder = path.relative_to(FIXTURES).parts[:2]
        page = "logs" if room == "logs" else folder.partition("-")[0]
        manifest = FIXTURES / "MANIFEST.d" / f"{page}.md"
        if not manifest.is_file() or path.name not in manifest.read_text(encoding="utf-8"):
            missing.append(f"{path.relative_to(FIXTURES)} in {manifest.name}")
    assert missing == []


def test_modules_stay_small() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {lines} lines"
        for path in sorted(PACKAGE.rglob("*.py"))
        if (lines := path.read_text(encoding="utf-8").count("\n")) > 400
    ]
    assert long == []
