"""A pass that breaks the backward graph of one part: the other is compiled without it."""

# adapted: the part that compiles is the second

import traceback

import torch
from torch._inductor.custom_graph_pass import CustomGraphPass

STEPS = 2
model = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Linear(8, 8))
x = torch.randn(4, 8, requires_grad=True)


class Drop(CustomGraphPass):
    def __call__(self, graph):
        nodes = [node for node in graph.nodes if node.op == "call_function"]
        if any("tangents" in node.name for node in graph.nodes):
            for node in nodes[:-1]:
                if any(user.op == "call_function" and "mul" in user.name for user in node.users):
                    graph.erase_node(node)

    def uuid(self):
        return None


torch._inductor.config.post_grad_custom_post_pass = Drop()
# before:
compiled = torch.compile(model)
# after:
# model[1] = torch.compile(model[1])
# compiled = model
# end


def step(number):
    try:
        loss = compiled(x).sum()
        loss.backward()
    except Exception:
        traceback.print_exc()
        return None
    return loss.detach()
