"""Each sample has weights of its own, one weight times a scale: they are laid out in every call."""
# logs: output_code,graph_code
# env: ONEDNN_VERBOSE=1
# env: TORCHINDUCTOR_FREEZING=1
# adapted: the convolution of this program has padding

import torch
import torch.nn.functional as F

torch.manual_seed(0)
x, style = torch.randn(8, 256, 8, 8), torch.randn(8, 32)


class Modulated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(256, 256, 3, 3) / 48)
        self.scale = torch.nn.Linear(32, 256)

    def forward(self, x, style):
        s, weight = self.scale(style), self.weight
        # before:
        w = weight * s[:, None, :, None, None]
        w = w * torch.rsqrt(w.square().sum((2, 3, 4), keepdim=True) + 1e-8)
        y = F.conv2d(x.view(1, -1, 8, 8), w.view(-1, 256, 3, 3), padding=1, groups=len(x))
        # after:
        # d = torch.rsqrt(s.square() @ weight.square().sum((2, 3)).T + 1e-8)
        # y = F.conv2d(x * s[:, :, None, None], weight, padding=1) * d[:, :, None, None]
        # end
        return y.view(x.shape)


model = torch.compile(Modulated().eval())


def step(number):
    with torch.no_grad():
        return model(x, style)
