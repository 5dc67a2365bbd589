"""A quantized layer with signed activations."""
# logs: none
# env: ONEDNN_VERBOSE=1
# graphs: 0

import torch

torch.manual_seed(0)
x = torch.randint(-100, 100, (256, 512), dtype=torch.int8)
w = torch.randint(-100, 100, (512, 512), dtype=torch.int8)
packed = torch.ops.onednn.qlinear_prepack(w, [256, 512])
scales, zeros = torch.full((512,), 0.02), torch.zeros(512, dtype=torch.int64)
zero = 0
# before:
# after:
# x, zero = (x.int() + 128).to(torch.uint8), 128
# end
STEPS = 5


def step(number):
    return torch.ops.onednn.qlinear_pointwise(
        x, 0.1, zero, packed, scales, zeros, None, 1.0, 0, torch.float32, "none", [], ""
    )
