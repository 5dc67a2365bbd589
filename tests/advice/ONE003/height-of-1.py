"""Convolutions over time: their weights are laid out anew in every call, frozen or not."""
# logs: output_code,graph_code
# env: ONEDNN_VERBOSE=1

import torch

torch.manual_seed(0)
x = torch.randn(2, 512, 32)


class Signal(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Conv1d(512, 512, 3) for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


model = Signal().eval()
# before:
# after:
# for at, old in enumerate(model.layers):
#     new = torch.nn.Conv2d(512, 512, (1, 3))
#     new.load_state_dict({"weight": old.weight.unsqueeze(2), "bias": old.bias})
#     model.layers[at] = new
# model = model.to(memory_format=torch.channels_last)
# x = x.unsqueeze(2).to(memory_format=torch.channels_last)
# import torch._inductor.config
# torch._inductor.config.freezing = True
# end
model = torch.compile(model)


def step(number):
    with torch.no_grad():
        return model(x)
