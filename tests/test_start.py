"""What one run of the command costs before it has read a line, counted so that noise is no matter.

Half of the time that a small log takes is importing. What a log does not need stays unimported.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracelens import analyze
from tracelens.cli import main
from tracelens.cli._analyzing import analyze_as_asked
from tracelens.cli._app import command
from tracelens.cli._environment import without_plugins_of_pydantic
from tracelens.cli._first import PAGE
from tracelens.cli._main import _is_plain
from tracelens.cli.analyze import analyze as command_of_typer
from tracelens.dynamo import recompile_history
from tracelens.dynamo.recompile_history import History
from tracelens.engine import choose, judge
from tracelens.evidence import Evidence, needs
from tracelens.logs._dataflow import Dataflow
from tracelens.logs.graph_code import FxGraph
from tracelens.logs.output_code import OutputModule
from tracelens.plugins import manifest
from tracelens.plugins.entries import everybodys
from tracelens.plugins.held import Held
from tracelens.plugins.regexes import first_characters
from tracelens.source import read
from tracelens.source.kinds import _may_start

FIXTURES = Path(__file__).parents[1] / "fixtures"
RULES = FIXTURES / "rules"
ONEDNN = RULES / "ONE001-reference-kernel-dispatch" / "quiet-lstm-training.log"
OUTPUT_CODE = RULES / "IND012-device-copy-in-graph" / "fires-one-small-tensor.log"
GUARDS = RULES / "GRD001-guard-latency-high" / "quiet-2.6.log"
RECOMPILES = FIXTURES / "logs" / "recompiles" / "fn-x-n.log"
TUNED = RULES / "TUN002-library-kernel-wins" / "fires-library-wins-2-15.log"
BROKEN = RULES / "GBR006-break-in-loop-skips-frame" / "fires-loop.log"

RUN = """
import sys
from tracelens.cli import main
from tracelens.cli._analyzing import analyze_as_asked
main(sys.argv[1:])
print(*sorted(sys.modules), sep="\\n", file=sys.stderr)
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder with the index in it."""
    folder = tmp_path_factory.mktemp("cache", numbered=True)
    folder.chmod(0o700)
    imported(folder, "analyze", str(ONEDNN), "-q")
    return folder


def imported(cache: Path, *argv: str) -> set[str]:
    """Run the command in a process of its own; return the modules that it imported."""
    given = {name: text for name, text in os.environ.items() if name != "COLUMNS"}  # xdist sets it
    done = subprocess.run(
        [sys.executable, "-c", RUN, *argv],
        env=given | {"TRACELENS_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return set(done.stderr.split())


def kinds(modules: set[str]) -> set[str]:
    """The log kinds among modules."""
    names = (name.removeprefix("tracelens.logs.") for name in modules if "tracelens.logs." in name)
    return {name for name in names if not name.startswith("_")}


def test_help_needs_no_models(cache: Path) -> None:
    modules = imported(cache, "--help")
    assert modules.isdisjoint({"pydantic", "lark", "jinja2", "tracelens.engine"})


@pytest.mark.parametrize("words", [(), ("-h",), ("--help",), ("--version",)])
def test_the_first_page_needs_no_command_line(cache: Path, words: tuple[str, ...]) -> None:
    modules = imported(cache, *words)
    assert modules.isdisjoint({"typer", "tracelens.cli._app", "tracelens.cli._main"})


@pytest.mark.parametrize("words", ["-h", "--help", "--version"])
@pytest.mark.parametrize("cells", ["", "80", "200"])
def test_the_first_page_is_what_typer_makes(
    words: str, cells: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert main([words]) == 0
    kept = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", cells or "80")
    assert main(["--debug", words]) == 0
    made = capsys.readouterr().out
    again = f"COLUMNS=80 tracelens --debug --help > {Path(PAGE).relative_to(Path.cwd())}"
    assert kept == made, f"the kept page is old; write it anew: {again}"


@pytest.mark.parametrize(("given", "frozen"), [("", True), ("sys.argv[1:]", False)])
def test_what_is_left_at_the_end_is_not_looked_through(
    cache: Path, given: str, *, frozen: bool
) -> None:
    code = (
        "import gc, sys\n"
        "from tracelens.cli import main\n"
        f"main({given})\n"
        "print(gc.get_freeze_count(), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "analyze", str(ONEDNN), "-q"],
        env=os.environ | {"TRACELENS_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert (int(done.stderr) > 10_000) is frozen


def test_a_narrow_page_is_made(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "55")
    assert main(["--help"]) == 0
    page = capsys.readouterr().out
    assert page != Path(PAGE).read_text()
    assert max(map(len, page.splitlines())) < 55


def test_no_words_are_misuse_and_show_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "\nCommands:\n  analyze " in capsys.readouterr().out


def test_a_onednn_log_imports_little_of_what_reads_torch_logs(cache: Path) -> None:
    modules = imported(cache, "analyze", str(ONEDNN), "-q")
    assert "onednn_verbose" in kinds(modules)
    assert len(kinds(modules)) <= 8, kinds(modules)
    assert modules.isdisjoint({"jinja2", "tracelens.frames", "tracelens.cli.run"})


def test_a_compile_log_imports_little_else(cache: Path) -> None:
    modules = imported(cache, "analyze", str(OUTPUT_CODE), "-q")
    assert "output_code" in kinds(modules)
    assert len(kinds(modules)) <= 16, kinds(modules)
    assert not kinds(modules) & {"chrome_trace", "cudagraphs", "graph_code", "onednn_verbose"}
    assert "tracelens.failures.reading" not in modules, "nothing failed"


def test_a_log_of_guards_imports_nothing_of_generated_code(cache: Path) -> None:
    modules = imported(cache, "analyze", str(GUARDS), "-q")
    assert {"guards", "recompiles"} <= kinds(modules)
    assert not kinds(modules) & {"output_code", "autotune", "torch_trace"}
    assert "tracelens.failures.reading" not in modules, "nothing failed"


def test_a_log_of_recompiles_imports_nothing_of_what_it_does_not_hold(cache: Path) -> None:
    modules = imported(cache, "analyze", str(RECOMPILES), "-q")
    assert "recompiles" in kinds(modules)
    assert not kinds(modules) & {"output_code", "dynamic", "onednn_verbose", "autotune"}
    generated = {"_dataflow", "_kernels", "_statements", "_loops", "_starts", "_shapes"}
    assert modules.isdisjoint({f"tracelens.logs.{name}" for name in generated})


@pytest.mark.parametrize(
    ("log", "held", "others"),
    [
        (TUNED, "autotune", {"onednn_verbose", "torch_trace", "_onednn_parts"}),
        (BROKEN, "graph_breaks", {"dynamic", "torch_trace", "_starts", "_shapes"}),
    ],
)
def test_what_a_rule_may_look_at_besides_is_not_imported(
    log: Path, held: str, others: set[str], cache: Path
) -> None:
    modules = imported(cache, "analyze", str(log), "-q")
    assert held in kinds(modules)
    assert modules.isdisjoint({f"tracelens.logs.{name}" for name in others})


@pytest.mark.parametrize(
    ("log", "most"),
    [
        (ONEDNN, 280),
        (OUTPUT_CODE, 330),
        (GUARDS, 275),
        (RECOMPILES, 335),
        (TUNED, 390),
        (BROKEN, 295),
    ],
    ids=lambda given: given.parent.name if isinstance(given, Path) else str(given),
)
def test_a_small_log_imports_a_part_of_us(log: Path, most: int, cache: Path) -> None:
    """At most a quarter more than it takes today, of some eight hundred."""
    own = [name for name in imported(cache, "analyze", str(log), "-q") if "tracelens" in name]
    assert len(own) <= most, sorted(own)


def test_a_rule_without_a_row_to_look_at_is_not_imported(cache: Path) -> None:
    modules = imported(cache, "analyze", str(TUNED), "-q")
    assert "tracelens.rules.tun.library_kernel_wins" in modules
    unasked = {"tracelens.rules.err", "tracelens.rules.grd", "tracelens.failures.causes"}
    assert modules.isdisjoint(unasked), "nothing failed, and no guards were recorded"


def test_inputs_without_options_need_no_typer(cache: Path) -> None:
    modules = imported(cache, "analyze", str(ONEDNN))
    assert modules.isdisjoint({"typer", "tracelens.cli._app", "tracelens.cli.analyze"})


@pytest.mark.parametrize(
    ("words", "plain"),
    [
        ("analyze a.log b.log", True),
        ("analyze", False),
        ("analyze -", False),
        ("analyze a.log -q", False),
        ("analyze -- a.log", False),
        ("--debug analyze a.log", False),
        ("compare a.log b.log", False),
        ("a.log", False),
    ],
)
def test_only_inputs_are_plain(words: str, monkeypatch: pytest.MonkeyPatch, *, plain: bool) -> None:
    assert _is_plain(words.split()) is plain
    monkeypatch.setenv("_TRACELENS_COMPLETE", "complete_bash")
    assert not _is_plain(words.split())


def test_what_is_not_given_is_the_same_without_typer() -> None:
    asked = inspect.signature(analyze_as_asked).parameters
    declared = inspect.signature(command_of_typer).parameters
    assert [*declared][1:] == [*asked][1:]
    names = [*asked][2:]
    assert {n: asked[n].default for n in names} == {n: declared[n].default for n in names}


def test_what_a_grammar_reads_is_read_without_lark(cache: Path) -> None:
    imported(cache, "analyze", str(RECOMPILES), "-q")
    modules = imported(cache, "analyze", str(RECOMPILES), "-q")
    assert "recompiles" in kinds(modules)
    assert "tracelens.automaton" in modules
    assert modules.isdisjoint({"lark", "tracelens.lark_tables"})


def test_what_is_installed_is_told_without_reading_it_all(cache: Path) -> None:
    imported(cache, "analyze", str(RECOMPILES))
    modules = imported(cache, "analyze", str(RECOMPILES))
    entries = everybodys()
    if all(one.owner == "torch-tracelens" for one in entries):
        assert modules.isdisjoint({"importlib.metadata", "importlib.resources", "email", "csv"})


def test_a_text_log_imports_nothing_of_structured_ones(cache: Path) -> None:
    modules = imported(cache, "analyze", str(RECOMPILES), "-q")
    assert "recompiles" in kinds(modules)
    assert modules.isdisjoint(
        {
            "tracelens.logs._structured",
            "tracelens.logs._payloads",
            "tracelens.logs.nccl",
            "tracelens.report.compare.counters",
        }
    )


def test_the_others_are_there_when_they_are_asked_for() -> None:
    everything = command()
    assert list(everything.commands) == sorted(everything.commands)
    assert {"analyze", "confirm", "explain", "rules", "run"} <= set(everything.commands)
    assert list(command(["--debug", "rules", "--json"]).commands) == ["rules"]
    assert list(command(["anaylze", "x"]).commands) == list(everything.commands)


def test_dataflow_is_made_once_per_module(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    make = Dataflow.__init__

    def counted(self: Dataflow, module: OutputModule) -> None:
        made.append(id(module))
        make(self, module)

    monkeypatch.setattr(Dataflow, "__init__", counted)
    evidence, inputs = read([str(OUTPUT_CODE)])
    judge(evidence, inputs)
    modules = [id(row.record) for row in evidence.table(OutputModule)]
    assert sorted(made) == sorted(modules)


def test_histories_are_made_once_per_table(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    make = recompile_history._histories

    def counted(recompiles: object) -> tuple[History, ...]:
        made.append(recompiles)
        return make(recompiles)  # type: ignore[arg-type]

    monkeypatch.setattr(recompile_history, "_histories", counted)
    analyze(str(RECOMPILES))
    assert len(made) == len({id(table) for table in made}) == 1


def test_what_only_a_type_checker_imports_is_asked_for_all_the_same() -> None:
    (facts,) = choose(["IND001"])
    rule = facts.load()
    module = sys.modules[type(rule).__module__]
    assert not hasattr(module, "FxGraph"), "choose another rule: this one imports it to use it"
    assert FxGraph in {kind for kind, _ in needs(rule.check).values()}


def test_the_manifest_knows_what_tables_are_joined_from() -> None:
    assert "tracelens.dynamo.settings:Setting" in manifest.current().joins
    held = Held(Evidence())
    assert held.tables(()) == {}


def test_a_log_needs_no_validators_of_options_and_no_redaction(cache: Path) -> None:
    modules = imported(cache, "analyze", str(ONEDNN), "-f", "json", "--fail-on", "never")
    unneeded = {"typer._adapters", "tracelens.render._redact", "tracelens.source.looks_like"}
    assert modules.isdisjoint(unneeded | {"html", "tracelens.traces.reader"})


def test_plain_values_of_options_are_what_typer_makes_of_them() -> None:
    root = command()
    tried = 0
    for one in (root, *root.commands.values()):
        ctx = one.make_context(one.name or "tracelens", [], resilient_parsing=True)
        for param in one.get_params(ctx):
            plainly = getattr(param.process_value, "plainly", None)
            if plainly is None or (param.callback is not None and param.name != "color"):
                continue
            values = [None, param.default, "a", "", "1", True, False, ["a", "b"], ("a",), (), []]
            for value in values:
                assert made(param.process_value, ctx, value) == made(plainly, ctx, value)
                tried += 1
    assert tried > 1000


def made(process: Callable[[Any, Any], Any], ctx: Any, value: object) -> str:
    """What a parameter makes of a value, or how it refuses it."""
    try:
        return repr(process(ctx, value))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def test_plugins_of_pydantic_are_left_out_while_a_log_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "PYDANTIC_DISABLE_PLUGINS"
    for before in (None, "mine"):
        monkeypatch.setenv(name, before) if before else monkeypatch.delenv(name, raising=False)
        with without_plugins_of_pydantic():
            assert os.environ[name] == (before or "__all__")
        assert os.environ.get(name) == before


def test_where_plugins_of_pydantic_are_looked_for_is_as_it_was_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "pydantic.plugin._loader"
    real = importlib.import_module(name)
    for inside in ("get_plugins", "PYDANTIC_ENTRY_POINT_GROUP"):
        monkeypatch.delitem(sys.modules, name)
        with without_plugins_of_pydantic():
            held = importlib.import_module(name)
            assert held is not real
            assert held.get_plugins() == ()
            value = getattr(held, inside)
        assert value in {held.get_plugins, "pydantic"}
        assert (
            getattr(sys.modules.get(name), "PYDANTIC_ENTRY_POINT_GROUP", "pydantic") == "pydantic"
        )
        monkeypatch.setitem(sys.modules, name, real)
    monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", "one")
    with without_plugins_of_pydantic():
        assert importlib.import_module(name) is real, "the user wants the others"


def test_what_a_bare_record_begins_with_is_told_by_its_pattern() -> None:
    bare = [(one, one.begins) for one in manifest.current().logs if one.begins is not None]
    assert sum(one.starts is not None for one, _ in bare) > len(bare) / 2
    lines = {
        line
        for file in RULES.glob("*/fires*.log")
        for line in file.read_text(errors="replace").splitlines()
    }
    begun = 0
    for one, begins in bare:
        for line in filter(begins.match, lines):
            assert _may_start(one.starts, line), (one.name, line)
            begun += 1
    assert begun > 100


@pytest.mark.parametrize(
    ("pattern", "starts"),
    [
        ("ab|[c-e]f", "acde"),
        (r" {0,4}x\d", " x"),
        ("(?=ab)a", "a"),
        ("^#", "#"),
        ("a?", None),
        ("(?i)a", None),
        ("(?:(?!b)[abé])", "ab"),
        (r"(?:(?=a)\w|b(?i:c))", None),
    ],
)
def test_first_characters(pattern: str, starts: str | None) -> None:
    assert first_characters(re.compile(pattern)) == starts
    for text in ("\tx", "\xa0x", ""):
        assert _may_start(starts, text), "nothing is known of other characters"
