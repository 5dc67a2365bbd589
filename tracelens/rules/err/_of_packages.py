"""An error outside of compiled code: in the program itself, or in a package that it calls."""

from __future__ import annotations

from tracelens.dynamo import user_code
from tracelens.rules.err._failure_rule import FailureData

__all__ = ["mend", "raised_in"]

#: What else can be done about what a package raises.
_REPORT = "another release of it may do better, or report it to its authors with this traceback"


def raised_in(data: FailureData) -> str:
    """Return the installed package that raised an error outside of compiled code; or nothing."""
    return user_code.package(data.file) if data.is_apart else ""


def mend(data: FailureData) -> str:
    """Say where to mend it; nobody edits an installed package."""
    at = f", at {user_code.short(data.file, data.line)}" if data.file else ""
    package = raised_in(data)
    if not package:
        return f"Mend it in the program{at}: its traceback shows no part of torch.compile."
    raised = f"`{package}` raises it{at}"
    does = data.facts.get("does", "")
    if does == "imports":
        return (
            f"{raised}, while it is imported: torch.compile has no part in it. It may not fit "
            f"what it imports, or this Python: {_REPORT}."
        )
    if does == "makes" or "compiled" in data.facts:
        when = "while an object of it is made" if does == "makes" else "before anything is compiled"
        return (
            f"{raised}, {when}: torch.compile has no part in it. See what the program passes "
            f"there; if that is what `{package}` asks for, {_REPORT}."
        )
    return (
        f"{raised}, outside of compiled code: see what the program passes there. If it runs with "
        "TORCHDYNAMO_DISABLE=1, what compiled code returned is it: pass what is not compiled. If "
        f"not, torch.compile has no part in it: {_REPORT}."
    )
