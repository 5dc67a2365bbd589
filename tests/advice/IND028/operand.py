"""Images meet a filter that numpy made: float64, in which no library has a fast convolution."""
# logs: graph_code

import numpy as np
import torch

torch.manual_seed(0)
WINDOW = torch.from_numpy(np.outer(np.hanning(7), np.hanning(7)))
# before:
# after:
# WINDOW = WINDOW.float()
# end
images = torch.rand(2, 3, 128, 128)


@torch.compile
def blurred(x):
    w = WINDOW[None, None].repeat(3, 1, 1, 1)
    return torch.nn.functional.conv2d(x.to(w.dtype), w, padding=3, groups=3)


def step(number):
    return blurred(images)
