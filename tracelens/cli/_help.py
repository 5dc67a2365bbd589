"""What ``--help`` shows: options in groups, and examples that can be pasted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracelens.cli._options import Hastened
from tracelens.errors import UsageError

__all__ = ["EXAMPLES", "Grouped", "groups"]

#: The options of all commands by what they are about; what is in none comes last.
GROUPS: dict[str, tuple[str, ...]] = {
    "What to read": (
        "kind", "sample", "jobs", "engine", "scheduler", "one_run", "run", "recorded_with", "entry",
        "to",
    ),
    "What to look for": (
        "select", "extend_select", "ignore", "baseline", "only", "finding", "kernel",
    ),
    "When to fail": (
        "fail_on", "require", "fail_on_absent", "strict", "at_most",
    ),
    "What to write": (
        "output", "fmt", "redact", "root_", "root", "max_chars", "split", "verbose", "quiet",
        "open_", "annotate", "watch",
    ),
}  # fmt: skip
OTHERS = "Others"
#: Commands whose ``--redact`` may say how far, and what it may say.
LEVELLED = {
    *("analyze", "bundle", "compare", "confirm", "issue", "render", "repro", "run"),
}
LEVELS = ("paths", "source", "all")
EXAMPLES: dict[str, tuple[str, ...]] = {
    "analyze": (
        "tracelens analyze run.log",
        "tracelens analyze logs/ trace.json.gz -o report.html -o report.md",
        "python train.py 2>&1 | tracelens analyze - --fail-on warning",
    ),
    "baseline": ("tracelens baseline update tracelens-baseline.json run.log",),
    "bundle": (
        "tracelens bundle tracelens-run -o evidence.zip",
        "tracelens bundle run.log trace.json.gz --no-logs",
    ),
    "compare": (
        "tracelens compare before.log after.log",
        "tracelens compare base.json new.log --fail-on warning --at-most compile_s=+10%",
        "tracelens compare mon.json tue.json wed.json -o trend.html",
    ),
    "confirm": (
        "tracelens confirm report.json -- python infer.py",
        "tracelens confirm run.log --only ONE001",
    ),
    "explain": ("tracelens explain ONE001", 'tracelens explain "Failed to find C compiler"'),
    "issue": ("tracelens issue report.json ONE001", "tracelens issue run.log -o issue"),
    "man": ("tracelens man > ~/.local/share/man/man1/tracelens.1",),
    "new-log": ("tracelens new-log tile_layout",),
    "new-pack": ("tracelens new-pack tile-watch",),
    "new-rule": (
        "tracelens new-rule TIL002 small-tiles",
        "tracelens new-rule TIL003 many-breaks --reads graph_breaks.GraphBreak",
        "tracelens new-rule TIL102 big-numbers --toml",
    ),
    "packs": ("tracelens packs -f json",),
    "render": ("tracelens render report.json -o report.html -o report.md",),
    "repro": ("tracelens repro report.json ONE001 -o repro.py",),
    "rules": ("tracelens rules -f json",),
    "run": (
        "tracelens run -- python infer.py",
        "tracelens run --trace -o evidence -- torchrun --nproc-per-node 2 train.py",
    ),
    "schema": ("tracelens schema settings > tracelens.schema.json",),
}


class Grouped(Hastened):
    """A command whose help has its options in groups, and examples at its end."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take ``--redact=LEVEL`` besides ``--redact``, which has no value of its own."""
        args, level = _level(args) if self.name in LEVELLED else (args, "")
        rest: list[str] = super().parse_args(ctx, args)
        if level:
            ctx.params["redact"] = level
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options by group."""
        for title, records in groups(self, ctx):
            with formatter.section(title):
                formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples as they are to be pasted."""
        del ctx
        if examples := EXAMPLES.get(self.name or ""):
            with formatter.section("Examples"):
                for example in examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{example}\n")


def _level(args: list[str]) -> tuple[list[str], str]:
    """Take the last level of redaction out of what stands before ``--``."""
    end = args.index("--") if "--" in args else len(args)
    levels = [word.partition("=")[2] for word in args[:end] if word.startswith("--redact=")]
    for level in levels:
        if level not in LEVELS:
            raise UsageError(f"--redact={level}: no such level", hint=f"one of {', '.join(LEVELS)}")
    kept = [word.partition("=")[0] if word.startswith("--redact=") else word for word in args[:end]]
    return [*kept, *args[end:]], levels[-1] if levels else ""


def groups(command: Any, ctx: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the groups of a command's help that it has anything for, each with its records."""
    found: dict[str, list[tuple[str, str]]] = {"Arguments": []}
    found |= {title: [] for title in (*GROUPS, OTHERS)}
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if record is None:
            continue
        is_argument = param.param_type_name == "argument"
        found["Arguments" if is_argument else _group(param.name)].append(record)
    titles = [title for title, records in found.items() if records]
    for title in titles:
        only = title == OTHERS and titles[-1] == OTHERS and len(titles) <= 2
        yield "Options" if only else title, found[title]


def _group(name: str | None) -> str:
    return next((title for title, names in GROUPS.items() if name in names), OTHERS)
