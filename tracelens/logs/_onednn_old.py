"""Lines of oneDNN in older forms, or in another locale, put into the form that the grammar reads.

Five are met: MKL-DNN 0.x, which names no engine and lists formats instead of memory descriptors;
the BLAS-like interface before the attributes had a field of their own; a comma in the place of the
decimal point, where the program set the locale; the number that stands for a size given at run
time; and lines that somebody shortened, with dots in the place of fields.
"""

from __future__ import annotations

import re

from tracelens.late import late

__all__ = ["RUNTIME", "decimal_point", "modern", "spelled_out"]

#: Commas behind marker, version and time stamp, by the beginning: with a point in the time.
_COMMAS = {"primitive,exec,": 10, "primitive,create": 10, "exec,": 9, "create": 9}
_SHORT = late(r",[ \t]*(?:\.\.\.|\u2026)[ \t]*(?=,)")
_WHOLE = late(r"\d+")
_DIGITS = late(r"\d+(?:e[-+]?\d+)?\s*$")
_ENGINE = late(r"(?:mkldnn|dnnl)_verbose,(?:exec|create),(?=[a-z_]+,)(?!(?:cpu|gpu|any)[,:\d])")
_FORMAT = late(r"(f?)(src|wei|dst|bia|in|out|diff|ws|data):(?:([fsu]\d{1,2}|bf16)_)?(\w+)")
_ARGUMENTS = {"in": "src", "out": "dst"}
#: A size that is given at run time, as the number that stands for it: a star later.
RUNTIME = "-9223372036854775808"
_BLOCK = late(r"(?<!\d)(\d*)([A-Za-z])")


def decimal_point(line: str, start: int, comma: int) -> str:
    """Return ``line`` with a point in its time, where a comma stands there.

    Args:
        line: The line.
        start: Where its first field behind marker, version and time stamp begins.
        comma: Where its last field begins.
    """
    before = line.rfind(",", 0, comma - 1) + 1
    if not _DIGITS.match(line, comma) or not _WHOLE.fullmatch(line[before : comma - 1]):
        return line
    commas = next((n for begin, n in _COMMAS.items() if line.startswith(begin, start)), None)
    if commas is None:
        return line
    if ",gemm_api," in line:
        commas -= line.count(",,,", start) == 0
    elif _ENGINE.match(line):
        commas = 7
    has = line.count(",", start)
    return f"{line[: comma - 1]}.{line[comma:]}" if has == commas + 1 else line


def spelled_out(line: str) -> str:
    """Return ``line`` with empty fields in the place of dots that somebody wrote for several.

    How many they stand for is known where they are the only ones: an execution has ten fields, and
    what kind of propagation it was is unknown then.
    """
    parts = _SHORT.split(line)
    if len(parts) != 2:
        return line
    start = next((at for at in map(line.find, (",primitive,exec,", ",exec,")) if at > 0), -1)
    missing = 8 - "".join(parts)[start:].partition("exec,")[2].count(",")
    if start < 0 or not 0 < missing < 8:
        return line
    head, rest = parts
    fields = ["undef" if head[start:].partition("exec,")[2].count(",") == 2 else "", *[""] * 8]
    return f"{head},{','.join(fields[:missing])}{rest}"


def modern(line: str) -> str:
    """Return ``line`` in the form of oneDNN 2; others than the old ones as they are."""
    if RUNTIME in line:
        line = line.replace(RUNTIME, "*")
    if ",gemm_api,,undef," in line and ",,," not in line:
        head, comma, rest = line.rpartition(",,")
        return f"{head},,,{rest}" if comma else line
    match = _ENGINE.match(line)
    if match is None:
        return line
    fields = line[match.end() :].split(",")
    if len(fields) != 7:
        return line
    primitive, impl, kind, formats, aux, problem, time = fields
    int8 = "int8" in impl or "u8s8" in impl
    mds = " ".join(
        _descriptor(one, "undef" if int8 else "f32") for one in _FORMAT.finditer(formats)
    )
    told = ",".join((primitive, impl, kind, mds, "", aux, problem, time))
    return f"{match.group()}cpu,{told}"


def _descriptor(found: re.Match[str], default: str) -> str:
    _, name, dtype, layout = found.groups()
    arg = _ARGUMENTS.get(name, name)
    if layout in {"undef", "x"} and name == "bia":
        return (
            f"{arg}_{dtype or default}::blocked:a:f0" if layout == "x" else "bia_undef::undef::f0"
        )
    if layout in {"undef", "any", "blocked", "wino"}:
        return f"{arg}_undef::undef::f0"
    return f"{arg}_{dtype or default}::blocked:{_tag(layout)}:f0"


def _tag(layout: str) -> str:
    """Return the format tag of today: ``nChw16c`` is ``aBcd16b``, ``gOIhw8i8o`` ``aBCde8c8b``."""
    order = "gotidhw" if "o" in layout.lower() else "ntcdhw"
    held = [letter for letter in order if letter in layout.lower()]
    names = {letter: chr(ord("a") + number) for number, letter in enumerate(held)}
    out = []
    for number, letter in _BLOCK.findall(layout):
        name = names.get(letter.lower(), letter)
        out.append(f"{number}{name.upper() if letter.isupper() else name}")
    return "".join(out)
