"""torch's own transformer layers, which look whether a mask is causal."""

from __future__ import annotations

from tracelens.remedies import Remedy
from tracelens.rules.gbr._break_data import BreakData

__all__ = ["SAY_CAUSAL", "looks_for_causal"]

#: The function of ``torch/nn/modules/transformer.py`` that compares a mask with a causal one.
_LOOKS = "_detect_is_causal_mask"


def looks_for_causal(data: BreakData) -> bool:
    """Whether the number is the answer to that, in a call of one's own: nobody needs it then."""
    return bool(data.stack) and data.stack[-1].function == _LOOKS and not data.package


SAY_CAUSAL = Remedy(
    "say-causal",
    "torch compares the mask with a causal one, and reads the answer. Say it in that call: "
    "`tgt_is_causal=True` of a decoder, `is_causal=True` of an encoder or a layer, where the mask "
    "is causal; `False` where it is another one.",
    when="torch's own transformer layers, called with a mask from code of your own",
    applies=looks_for_causal,
    code="encoder(x, mask=mask, is_causal=True)",
    since="2.1",
    basis="tested",
    proof="tests/advice/GBR001/say-causal.py",
)
