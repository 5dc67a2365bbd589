"""A frozen 1-d convolution and the activation behind it: a plain ATen call, and two passes."""
# logs: output_code

import torch

torch.manual_seed(0)
torch._inductor.config.freezing = True


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv1d(64, 128, 3)

    def forward(self, x):
        # before:
        x = torch.nn.functional.gelu(self.layer(x))
        # after:
        # weight, bias = self.layer.weight, self.layer.bias
        # x = torch.nn.functional.conv2d(x.unsqueeze(2), weight.unsqueeze(2), bias)
        # x = torch.nn.functional.gelu(x).squeeze(2)
        # end
        return x


model = torch.compile(Layer().eval())
x = torch.randn(8, 64, 512)


def step(number):
    with torch.no_grad():
        return model(x)
