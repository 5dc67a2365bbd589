"""The OpenMP runtimes that a process loaded: a program should have one."""

from __future__ import annotations

import posixpath
import re
from typing import Annotated

from pydantic import BeforeValidator

from tracelens.logs import Log, Record

__all__ = ["LoadedLibrary", "RuntimeClash", "SharedLibraries"]

_OPENMP = r"lib(?:gomp|iomp5?|omp)(?:-[\w-]{1,40})?\.(?:so|dylib)"


class SharedLibraries(Log):
    """Lines of the loader, of ``ldd`` and of threadpoolctl about OpenMP runtimes."""

    name = "shared_libraries"
    switch = "python -m threadpoolctl -i torch"
    begins = re.compile(
        r"(?: *\d{1,9}:\tcalling init: |\tlib\S{1,80} => "
        r"|[0-9a-f]{6,16}-[0-9a-f]{6,16} [rwxps-]{4} \S{1,16} \S{1,16} \d{1,20} +"
        r"| *[\"']?filepath[\"']?: *[\"']?)"
        rf"[^\s\"',()]{{0,400}}{_OPENMP}"
        r"|Found Intel OpenMP \('libiomp'\) and LLVM OpenMP"
    )


class LoadedLibrary(Record):
    """One runtime that a process, or a library, loads."""

    path: str
    #: The process, where the loader names it.
    process: Annotated[str, BeforeValidator(lambda text: text.strip())] = ""
    how: str = ""

    @property
    def family(self) -> str:
        """Whose it is: ``libgomp`` (GNU), ``libiomp5`` (Intel) or ``libomp`` (LLVM)."""
        name = posixpath.basename(self.path)
        return next((kind for kind in ("libgomp", "libiomp5") if name.startswith(kind)), "libomp")

    @property
    def identity(self) -> str:
        """The file without its version, so that a link and its target are one."""
        folder, name = posixpath.split(posixpath.normpath(self.path))
        # Of most systems, /lib is a link.
        folder = f"/usr{folder}" if folder.startswith("/lib/") else folder
        return f"{folder}/{name.partition('.so')[0].partition('.dylib')[0]}"


class RuntimeClash(Record):
    """threadpoolctl found two runtimes that do not work side by side."""

    found: str
