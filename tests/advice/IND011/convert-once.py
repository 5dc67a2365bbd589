"""Inference by autocast: the weights are converted in each call."""
# logs: output_code,graph_code
# results: differ: the last operator's result is converted, too

import contextlib

layers = [torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256)]
model = torch.nn.Sequential(*layers).eval()
x = torch.rand(16, 256)
# before:
how = torch.autocast("cpu", torch.bfloat16)
# after:
# model = model.to(torch.bfloat16)
# x = x.to(torch.bfloat16)
# how = contextlib.nullcontext()
# end
compiled = torch.compile(model)


def step(number):
    with torch.no_grad(), how:
        return compiled(x)
