"""How a program calls fused attention: what IND017 prints to paste."""

from __future__ import annotations

from tracelens.remedies import Remedy

__all__ = ["ALL_LAYERS", "FIVE", "FLEX", "LAST_LAYER", "THREE", "WRITTEN_THREE"]

#: The call where q, k and v have three dimensions, written out or not, and five or more.
WRITTEN_THREE = """\
q, k, v = (t.contiguous()[None] for t in (q, k, v))
y = torch.nn.functional.scaled_dot_product_attention(q, k, v)[0]"""
THREE = "y = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]"
FIVE = """\
folded = (t.flatten(0, -4) for t in (q, k, v))
y = torch.nn.functional.scaled_dot_product_attention(*folded).unflatten(0, q.shape[:-3])"""

#: Scores that are capped, as an example of what may be done to them.
FLEX = """\
from torch.nn.attention.flex_attention import flex_attention

def score_mod(score, batch, head, q_index, k_index):
    return 30 * torch.tanh(score / 30)

y = flex_attention(q, k, v, score_mod=score_mod)"""
#: The last layer of several that hand their scores on.
_LAST = """\
q, k, v = (t.contiguous() for t in (q, k, v))
y = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)"""
#: Why there is nothing to do where the line is in a package, or not known.
ALL_LAYERS = (
    "its layer adds the scores of the one before; the others run the same lines, and need theirs"
)
LAST_LAYER = Remedy(
    id="last-layer",
    text="Give the last layer a call of its own: each layer adds the scores of the one before, and "
    "those of the last nobody reads. What it adds, `bias` here, is attn_mask, with scale= where "
    "that is not 1/sqrt(size); q, k and v are (batch, heads, length, size). The other layers stay "
    "as they are.",
    when="layers of your own hand their scores on, and nothing reads those of the last",
    applies=lambda data: data.cause == "last",
    code=_LAST,
    since="2.1",
    basis="tested",
    proof="tests/advice/IND017/last-layer.py",
)
