"""The kernels that Inductor wrote, with the nodes of the graph that each computes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from tracelens.render import _words
from tracelens.render._rows import number, word
from tracelens.render.views import Listing, View
from tracelens.report import Report

__all__ = ["Kernels", "coloured"]

#: Kernels whose code is shown; the data has all that were kept.
MAX_KERNELS = 12
_TOKEN = re.compile(
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
    says = "What Inductor wrote, the kernels that are called most often first."
    order = 35
    tables: ClassVar[tuple[str, ...]] = ("kernels", "kernel_code")

    @classmethod
    def listings(cls, report: Report) -> Iterator[Listing]:
        """Yield the code of each kernel."""
        for row in report.tables.get("kernel_code", [])[:MAX_KERNELS]:
            code = row.get("code")
            if not isinstance(code, str):
                continue
            calls = int(number(row, "calls"))
            title = f"`{word(row, 'kernel')}`" + (
                f" called {_words.plural(calls, 'time')}" if calls else ""
            )
            more = int(number(row, "left_out"))
            rest = f" {_words.plural(more, 'character')} left out." if more else ""
            yield Listing(title, coloured(code), f"{_from(row)}{rest}".strip())


def _from(row: dict[str, object]) -> str:
    ops, nodes = (_list(row.get(key)) for key in ("ops", "nodes"))
    if not ops and not nodes:
        return f"Fuses {word(row, 'fused')}." if word(row, "fused") else ""
    said = f"Fuses {_words.names(ops, 8)}" if ops else "Computes"
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
