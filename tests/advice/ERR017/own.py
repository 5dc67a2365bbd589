"""A pass of the program's own that fails on the backward graph."""

# adapted: the pass is the program's

import traceback

import torch
from torch._inductor.custom_graph_pass import CustomGraphPass

STEPS = 2
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU())
x = torch.randn(4, 8)


class Names(CustomGraphPass):
    def __call__(self, graph):
        # before:
        {node.name: node for node in graph.nodes}["primals_1"]
        # after:
        # {node.name: node for node in graph.nodes}.get("primals_1")
        # end

    def uuid(self):
        return None


torch._inductor.config.post_grad_custom_post_pass = Names()
compiled = torch.compile(model)


def step(number):
    try:
        loss = compiled(x).sum()
        loss.backward()
    except Exception:
        traceback.print_exc()
        return None
    return loss.detach()
