"""The kernels that Inductor wrote, with the nodes of the graph that each computes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from tracelens.late import late
from tracelens.render import _words
from tracelens.render._rows import number, word
from tracelens.render.views import Listing, Sheet, View
from tracelens.report import Report

__all__ = ["Kernels", "coloured"]

#: Kernels whose code is shown; the data has all that were kept.
MAX_KERNELS = 12
#: Lines of the program that are shown above the code that computes them.
MAX_LINES = 6
_TOKEN = late(
    r"(?P<c>//[^\n]*|#[^\n]*)"
    r"|(?P<s>\"[^\"\n]*\"|'[^'\n]*')"
    r"|(?P<k>\b(?:auto|bool|const|def|double|else|extern|float|for|from|half|if|import|in|int|"
    r"int64_t|long|namespace|return|static|template|unsigned|using|void|while)\b)"
    r"|(?P<n>\b\d[\w.]*)"
)


class Kernels(View):
    """Generated code, to be read."""

    name = "kernels"
    title = "Generated kernels"
    says = (
        "What Inductor wrote, the kernels that are called most often first, below the lines of the "
        "program that they compute, where the log names them (TORCH_LOGS=graph_code)."
    )
    order = 35
    tables: ClassVar[tuple[str, ...]] = ("kernels", "kernel_code", "kernel_origins")

    @classmethod
    def applies(cls, report: Report) -> bool:
        """Whether there is generated code: the kernels of a trace are a view of their own."""
        return bool(_written(report) or report.tables.get("kernel_code"))

    @classmethod
    def sheets(cls, report: Report) -> Iterator[Sheet]:
        """Yield the tables, without what ran on a device: that is a view of its own."""
        for sheet in super().sheets(report):
            if sheet.rows is not report.tables.get("kernels"):
                yield sheet
            elif rows := _written(report):
                yield sheet._replace(rows=rows)

    @classmethod
    def listings(cls, report: Report) -> Iterator[Listing]:
        """Yield the code of each kernel."""
        origins = _origins(report.tables.get("kernel_origins", []))
        for row in report.tables.get("kernel_code", [])[:MAX_KERNELS]:
            code = row.get("code")
            if not isinstance(code, str):
                continue
            key = (word(row, "run"), word(row, "frame"), word(row, "kernel"))
            origin = origins.get(key, {})
            calls = int(number(row, "calls"))
            title = f"`{word(row, 'kernel')}`" + (
                f" called {_words.plural(calls, 'time')}" if calls else ""
            )
            more = int(number(row, "left_out"))
            rest = f" {_words.plural(more, 'character')} left out." if more else ""
            said = f"{_from(row)}{_for(origin)}{rest}".strip()
            lines = [("c", f"# {line}\n") for line in _list(origin.get("lines"))[:MAX_LINES]]
            yield Listing(title, [*lines, *coloured(code)], said)


def _written(report: Report) -> list[dict[str, Any]]:
    return [row for row in report.tables.get("kernels", ()) if "kernel" in row]


def _origins(rows: Iterable[dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return where kernels come from, by run, frame and name."""
    out: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        out.setdefault((word(row, "run"), word(row, "frame"), word(row, "kernel")), row)
    return out


def _for(origin: dict[str, Any]) -> str:
    """Return whose code a kernel computes, and how long that took where a trace says it."""
    function, where = word(origin, "function"), word(origin, "where")
    parts = [f" It is of `{function}`" + (f" at {where}." if where else ".")] if function else []
    if runs := int(number(origin, "n")):
        ms = _words.milliseconds(number(origin, "ms"))
        parts.append(f" It took {ms} in {_words.plural(runs, 'run')}.")
    return "".join(parts)


def _from(row: dict[str, object]) -> str:
    ops, nodes = (_list(row.get(key)) for key in ("ops", "nodes"))
    if not ops and not nodes:
        return f"Fuses {word(row, 'fused')}." if word(row, "fused") else ""
    said = (
        f"{'Fuses' if len(nodes) > 1 else 'Computes'} {_words.names(ops, 8)}" if ops else "Computes"
    )
    return f"{said}, from the nodes {_words.names(nodes, 12)}." if nodes else f"{said}."


def _list(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list | tuple) else []


def coloured(code: str) -> list[tuple[str, str]]:
    """Return the code in pieces with the class of each: C++ and Python, as far as that is one."""
    out: list[tuple[str, str]] = []
    at = 0
    for found in _TOKEN.finditer(code):
        if found.start() > at:
            out.append(("", code[at : found.start()]))
        out.append((found.lastgroup or "", found.group()))
        at = found.end()
    return [*out, ("", code[at:])] if at < len(code) else out
