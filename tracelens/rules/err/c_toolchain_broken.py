"""ERR006 c-toolchain-broken."""

from __future__ import annotations

import re
from typing import ClassVar

from tracelens.failures import Failure
from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule, without_compiling

__all__ = ["CToolchainBroken"]

_TITLES = {
    "cache-path": "the compiler does not find the generated file: its path has odd characters",
    "library-load": "a library that torch generated cannot be loaded{why}",
    "triton-launcher": (
        "the C compiler failed on Triton's launcher; what it said is not in the log"
    ),
}
_BROKEN = "the C or C++ compiler is there and does not work"
_SYMBOL = re.compile(r"undefined symbol: (\S{1,120})")
#: What the loader says of a file in the cache whose writer was killed, or whose disk was full.
_PARTIAL = re.compile(
    r"(?:torchinductor|[/\\](?P<part>[a-z2-7]{2})[/\\]c(?P=part))[^\s:]{1,200}\.so: "
    r"(?:file too short|invalid ELF header)"
)
#: The compiler that a command of the message begins with.
_GCC = re.compile(r"Command '?\['[^']{0,300}?(?:gcc|g\+\+|\bcc)(?:\.exe)?'", re.IGNORECASE)
_NOT_FOUND = re.compile(r"(\S{1,80}): cannot open shared object")


def _said(data: FailureData) -> str:
    return f"{data.message} {data.output}"


def _why_not(data: FailureData) -> str:
    said = _said(data)
    if found := _SYMBOL.search(said):
        return f": `{found[1]}` is undefined"
    if found := _NOT_FOUND.search(said):
        return f": `{found[1]}` is not found"
    return ": it was written only in part" if _is_partial(data) else ""


def _is_partial(data: FailureData) -> bool:
    return data.cause == "library-load" and bool(_PARTIAL.search(_said(data)))


def _lacks(data: FailureData) -> str:
    """Return what the loader missed: ``torch``, ``openmp``, ``file``, or nothing it names."""
    found = _SYMBOL.search(_said(data))
    if found is None:
        return "file" if _NOT_FOUND.search(_said(data)) else ""
    symbol = found[1]
    if "omp_" in symbol or "kmpc" in symbol or "GOMP" in symbol:
        return "openmp"
    return "torch" if any(mark in symbol for mark in ("c10", "at", "torch", "aoti")) else ""


def _absent(data: FailureData) -> str:
    return data.facts.get("absent", "header.h")  # the page that lists all advice


def _is_unsaid(data: FailureData) -> bool:
    return data.cause == "triton-launcher" and "refused" not in data.facts


def _is_mingw(data: FailureData) -> bool:
    """Tell whether a GCC failed on Windows: one of MinGW, MSYS2 or TDM."""
    return data.on_windows and _is_unsaid(data) and _GCC.search(data.message) is not None


def _asks_for_driver(data: FailureData) -> bool:
    """Tell whether the command that failed, whose output is not there, links with the driver."""
    linked = _is_unsaid(data) and "'-lcuda'" in data.message
    return linked and not (data.on_windows or _lacks_ldconfig(data))


def _lacks_ldconfig(data: FailureData) -> bool:
    return data.facts.get("tool", "").endswith("ldconfig")


def _library(name: str) -> str:
    """Return the name of a library with its beginning: of ``-lcuda``, ``libcuda``."""
    return name if name.startswith(("lib", "-l", "python")) or "." in name[:-3] else f"lib{name}"


class CToolchainBroken(FailureRule):
    """The C or C++ compiler lacks its own headers, its linker, or a library.

    ## Why it matters
    A compiler is found and cannot work: its own headers are missing, it belongs to another
    system, or the linker does not find a library. Nothing that is generated can be built.

    ## What it looks like
        /usr/include/stdlib.h:32:10: fatal error: stddef.h: No such file or directory
        torch._inductor.exc.InductorError: CalledProcessError: Command '['/usr/bin/gcc', '/tmp/tmpab12/main.c', '-O3', '-shared']' returned non-zero exit status 1.

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Name a complete compiler in ``CC`` and ``CXX``; put the library that is missing where the
    linker looks.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR001 (no compiler at all), ERR004 and ERR005 (headers of Python and CUDA).
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR006"
    name = "c-toolchain-broken"
    of_causes: ClassVar[frozenset[str]] = frozenset(
        {"toolchain", "triton-launcher", "library-load", "cache-path"}
    )
    remedies = (
        Remedy(
            "header",
            lambda d: (
                f"Install the package that brings `{_absent(d)}`, or name its folder to the "
                "compiler; the first line finds the package on Debian and Ubuntu."
            ),
            code=lambda d: f"apt-file search {_absent(d)}",
            env="CPATH=/path/to/include",
            applies=lambda d: "absent" in d.facts,
            when="a header that Triton's own files include",
            basis="untestable",
            proof="needs a machine that lacks a library's headers",
        ),
        Remedy(
            "fitting",
            "The headers that the compiler reads and this Triton are not of one time: take the "
            "Triton that torch was built with, and leave other toolkits out of CPATH and "
            "CPLUS_INCLUDE_PATH.",
            applies=lambda d: "refused" in d.facts and "absent" not in d.facts,
            when="the compiler refuses Triton's own files",
            basis="untestable",
            proof="reports of such errors; it needs a GPU",
        ),
        Remedy(
            "see",
            "Run the command of the message by hand: the first line with `error:` names what is"
            " missing. Mostly it is Python.h (install python3-dev), cuda.h, or -lcuda.",
            applies=lambda d: _is_unsaid(d) and not d.on_windows,
            when="the compiler's output is not in the log",
            basis="untestable",
            proof="it shows more",
        ),
        Remedy(
            "see-windows",
            "Run the command of the message by hand in the x64 Native Tools prompt: the first line"
            " with `error` names what is missing. Mostly it is Python.h or python3XX.lib, or"
            " INCLUDE and LIB of MSVC are not set.",
            applies=lambda d: _is_unsaid(d) and d.on_windows and not _is_mingw(d),
            when="the same on Windows",
            basis="untestable",
            proof="needs Windows",
        ),
        Remedy(
            "no-mingw",
            "The compiler is a GCC of MinGW or MSYS2, which Triton took from CC or PATH: take it"
            " out of both, and update triton-windows within its series (3.X). It brings a compiler"
            " of its own, and takes that one, or Visual Studio's in its prompt, before any gcc.",
            code="set CC=",
            applies=_is_mingw,
            when="gcc on Windows",
            basis="untestable",
            proof="python/triton/runtime/build.py of woct0rdho/triton-windows: get_cc",
        ),
        Remedy(
            "libcuda",
            lambda d: (
                "Where it is -lcuda, the driver's library has no name without a version there"
                " (libcuda.so.1, and no libcuda.so): give the linker one."
                if _asks_for_driver(d)
                else "The driver's library has no name without a version there; give the linker"
                " one."
            ),
            code=(
                "ldconfig -p | grep libcuda.so  # then, in that folder: ln -s libcuda.so.1"
                " libcuda.so"
            ),
            env="LIBRARY_PATH=/usr/lib/x86_64-linux-gnu",
            applies=lambda d: "cuda" in d.facts.get("library", "") or _asks_for_driver(d),
            when="-lcuda, also in a command that failed and whose output is not there",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            "ldconfig",
            "Triton asks `ldconfig` where the driver's library is: add its folder to PATH.",
            env="PATH=$PATH:/sbin:/usr/sbin",
            applies=_lacks_ldconfig,
            when="ldconfig is not found",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            "name-driver",
            "Or name the folder of libcuda.so.1: newer versions of Triton then do not ask.",
            env="TRITON_LIBCUDA_PATH=/usr/lib/x86_64-linux-gnu",
            applies=_lacks_ldconfig,
            when="ldconfig is not found",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            "runtime",
            "Load the newer library: the compiler's own libstdc++, not that of an older"
            " environment.",
            code="conda install -c conda-forge 'libstdcxx-ng>=13'",
            env="LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
            applies=lambda d: "glibc" in d.facts,
            when="GLIBCXX or CXXABI is too old",
            basis="untestable",
            proof="needs a library that is too old",
        ),
        Remedy(
            "older-compiler",
            "Or build with a compiler that is no newer than that library.",
            env="CXX=g++-11",
            applies=lambda d: "glibc" in d.facts,
            when="GLIBCXX or CXXABI is too old",
            basis="untestable",
            proof="needs a library that is too old",
        ),
        Remedy(
            "short-path",
            "The compiler does not find the file that it is given: its path holds a backslash (a"
            " user of a domain), a blank or another character that the command line changes. Name"
            " a folder without them.",
            env="TORCHINDUCTOR_CACHE_DIR=/tmp/inductor",
            applies=lambda d: d.cause == "cache-path",
            when="the path of the cache",
            basis="untestable",
            proof="needs a user name or a folder that the command line changes",
        ),
        Remedy(
            "same-torch",
            "It was built against another torch than the one that loads it: load it with the"
            " version (and the same C++ ABI) that built it, or build it anew with this one.",
            code=(
                'python -c "import torch; print(torch.__version__,'
                ' torch.compiled_with_cxx11_abi())"  # where it is built, and where it is loaded'
            ),
            applies=lambda d: d.cause == "library-load" and _lacks(d) == "torch",
            when="a symbol of torch is missing",
            basis="untestable",
            proof="needs two builds of torch",
        ),
        Remedy(
            "half-written",
            "A run that was killed while it compiled, or a full disk, left half a file in the "
            "cache: delete the cache, and let it be built anew.",
            code=(
                'python -c "import shutil; from torch._inductor.codecache import cache_dir;'
                ' shutil.rmtree(cache_dir())"'
            ),
            applies=_is_partial,
            when="a library that was written only in part",
            basis="untestable",
            proof="needs a run that is killed while it writes",
        ),
        Remedy(
            "stale",
            "What another version, compiler or machine left in the cache may be the reason: delete"
            " it, and let it be built anew.",
            code="rm -rf /tmp/torchinductor_$USER",
            applies=lambda d: (
                d.cause == "library-load" and "/torchinductor_" in _said(d) and not _is_partial(d)
            ),
            when="a library of the cache",
            basis="untestable",
            proof="needs a cache of another machine",
        ),
        Remedy(
            "openmp",
            "Its OpenMP runtime is another one than the process has loaded: build with the compiler"
            " whose runtime torch brings (g++: libgomp), or preload the other.",
            env="CXX=g++",
            applies=lambda d: d.cause == "library-load" and _lacks(d) == "openmp",
            when="a symbol of OpenMP is missing",
            basis="untestable",
            proof="needs two OpenMP runtimes",
        ),
        Remedy(
            "find-library",
            "A library that it needs is not where the loader looks: name its folder.",
            env=(
                "LD_LIBRARY_PATH=$(python -c 'import torch; print(torch.__path__[0])')/lib:"
                "$LD_LIBRARY_PATH"
            ),
            applies=lambda d: d.cause == "library-load" and _lacks(d) == "file",
            when="a library is not found",
            basis="untestable",
            proof="needs a library that is not found",
        ),
        Remedy(
            "executable-folder",
            "The folder is mounted so that nothing in it may be executed (noexec): name another.",
            env="TORCHINDUCTOR_CACHE_DIR=/var/tmp/inductor TRITON_CACHE_DIR=/var/tmp/triton",
            applies=lambda d: d.cause == "library-load" and "map segment" in _said(d),
            when="failed to map segment",
            basis="untestable",
            proof="needs a folder without execution",
        ),
        Remedy(
            "dependencies",
            "A DLL that it needs is missing: install the current Visual C++ redistributable, and"
            " run from the prompt in which torch itself is imported.",
            code="winget install Microsoft.VCRedist.2015+.x64",
            applies=lambda d: d.cause == "library-load" and "DLL load failed" in _said(d),
            when="Windows",
            basis="untestable",
            proof="needs Windows",
        ),
        Remedy(
            "other-compiler",
            "Use a complete compiler: the system's gcc, not one that another environment put on"
            " PATH.",
            env="CC=/usr/bin/gcc CXX=/usr/bin/g++",
            code="apt-get install -y --reinstall gcc g++ libc6-dev",
            applies=lambda d: (
                d.cause in {"toolchain", "triton-launcher"}
                and not d.on_windows
                and "cuda" not in d.facts.get("library", "")
                and d.facts.keys().isdisjoint({"glibc", "refused"})
                and not _lacks_ldconfig(d)
            ),
            when="Linux",
            basis="untestable",
            proof="needs a machine whose compiler is incomplete",
        ),
        Remedy(
            "conda",
            "In conda, take compiler and libraries from there.",
            code="conda install -c conda-forge gxx_linux-64 sysroot_linux-64",
            applies=lambda d: d.platform == "conda",
            when="conda",
            basis="untestable",
            proof="needs conda",
        ),
        without_compiling(),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        facts = data.facts
        if facts.get("header"):
            return (
                f"the C compiler does not find its own `{facts['header']}`: its installation is"
                " broken"
            )
        if facts.get("library"):
            return f"the linker does not find the library `{_library(facts['library'])}`"
        if _lacks_ldconfig(data):
            return "Triton does not find `ldconfig`, which it asks where the driver's library is"
        if facts.get("glibc"):
            return (
                "the C++ library is older than the compiler that built the kernel:"
                f" `{facts['glibc']}` is missing"
            )
        if "refused" in facts:
            absent = facts.get("absent")
            does = f"does not find `{absent}`, which" if absent else "refuses"
            return f"the C compiler {does} Triton's own files{' include' if absent else ''}"
        return _TITLES.get(data.cause, "").format(why=_why_not(data)) or (
            "the C or C++ compiler is there and does not work"
        )

    def wanted(self, failure: Failure) -> bool:
        """Leave what an embedded Python lacks to ERR004."""
        embedded = failure.cause == "triton-launcher" and failure.platform == "embedded"
        return failure.cause in self.of_causes and not embedded
