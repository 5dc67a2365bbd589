"""What a device is called in findings about traces: not every accelerator is a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tracelens.evidence import Evidence
from tracelens.late import late
from tracelens.logs._trace_header import TraceHeader
from tracelens.report import Finding

__all__ = ["in_words_of"]

#: Devices of Meta, Huawei, Habana, Google, AWS and Cambricon, as their drivers name them.
_NO_GPU = late(r"MTIA|Ascend|NPU|HPU|Gaudi|HL-\d|TPU|Trainium|Inferentia|MLU", re.IGNORECASE)
_GPU = late(r"\bGPU(s?)\b")


def in_words_of(found: Iterable[Finding], evidence: Evidence) -> list[Finding]:
    """Return findings that call what is no GPU a device; what is pasted stays as it is."""
    headers = [seen.record for seen in evidence.table(TraceHeader)]
    names = [name for header in headers for name in header.devices]
    if not names or not all(_NO_GPU.match(name) for name in names):
        return list(found)
    return [_reworded(finding) for finding in found]


def _reworded(finding: Finding) -> Finding:
    said: dict[str, object] = {
        "title": _words(finding.title),
        "message": _words(finding.message),
        "harmless": None if finding.harmless is None else _words(finding.harmless),
        "advice": tuple(
            one.model_copy(update={"text": _words(one.text)}) for one in finding.advice
        ),
    }
    if finding.cost is not None and finding.cost.of is not None:
        said["cost"] = finding.cost.model_copy(update={"of": _words(finding.cost.of)})
    return finding.model_copy(update=said)


def _words(text: str) -> str:
    return _GPU.sub(r"device\1", text)
