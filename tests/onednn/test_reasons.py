"""Classes of refusals: messages from logs and from oneDNN's verbose_msg.hpp."""

import pytest

from tracelens.onednn.reasons import Reason, actionable, remedy, why


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("unsupported datatype", Reason.DATA_TYPE),
        ("unsupported datatype combination", Reason.DATA_TYPE),
        ("datatype configuration not supported on this isa", Reason.DATA_TYPE),
        ("tensors o_d and dst have inconsistent datatypes", Reason.DATA_TYPE),
        ("datatype is not supported", Reason.DATA_TYPE),
        ("unsupported isa", Reason.INSTRUCTIONS),
        ("undefined or unsupported isa", Reason.INSTRUCTIONS),
        ("fp64 feature unavailable for device", Reason.INSTRUCTIONS),
        ("unsupported post-ops", Reason.ATTRIBUTES),
        ("only scale and zero point attrs supported", Reason.ATTRIBUTES),
        ("unsupported zero-point configuration", Reason.ATTRIBUTES),
        ("unsupported fpmath mode", Reason.PRECISION),
        ("runtime dimension is not supported", Reason.DYNAMIC_SHAPE),
        ("unsupported format tag for src", Reason.LAYOUT),
        ("src tensor is not dense", Reason.LAYOUT),
        ("only trivial strides are supported", Reason.LAYOUT),
        ("specific blocked format not supported by ACL, use format_kind_t::any", Reason.LAYOUT),
        ("unsupported bias configuration", Reason.BIAS),
        ("unsupported sparse md configuration", Reason.SPARSITY),
        ("failed to run kernel deterministically", Reason.DETERMINISM),
        ("small shapes fall back", Reason.SHAPE),
        ("heuristic fail: low amx utilization", Reason.SHAPE),
        ("bad param: ", Reason.SHAPE),
        ("brgemm implementation not found for strided convolution", Reason.SHAPE),
        ("heuristic fail: failed heuristic with ic, kw and stride_w parameters", Reason.SHAPE),
        (
            (
                "unsupported feature for implementation: only unit strides are allowed for "
                "bwd-to-fwd conversion"
            ),
            Reason.SHAPE,
        ),
        ("unsupported memory stride", Reason.LAYOUT),
        ("skipping or dispatching to another implementation", Reason.CHAIN),
        ("brgconv:sve is faster for small OC * IC", Reason.DEFERRED),
        ("falling back to brgemm for GEMV, based on heuristics", Reason.DEFERRED),
        ("scratchpad memory limit exceeded", Reason.RESOURCES),
        (
            (
                "unsupported feature for implementation: non-grouped convolution in depthwise "
                "convolution implementation"
            ),
            Reason.OTHER_KIND,
        ),
        ("verbose is disabled", Reason.OTHER),
    ],
)
def test_the_class_of_a_message(message: str, reason: Reason) -> None:
    assert why(message) is reason


def test_only_what_a_user_can_change_has_a_remedy() -> None:
    for reason in Reason:
        assert actionable(reason) is bool(remedy(reason))
    assert not actionable(Reason.SHAPE)
    assert not actionable(Reason.DEFERRED)
    assert actionable(Reason.DATA_TYPE)
