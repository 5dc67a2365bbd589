"""A graph pass without an identity: the cache refuses every graph."""
# logs: +inductor,+aot
# env: TORCHINDUCTOR_FORCE_DISABLE_CACHES=0

import torch._inductor.config


# before:
class Pass:
    def __call__(self, graph):
        graph.eliminate_dead_code()


# after:
# from torch._inductor.custom_graph_pass import CustomGraphPass
#
#
# class Pass(CustomGraphPass):
#     def __call__(self, graph):
#         graph.eliminate_dead_code()
#
#     def uuid(self):
#         return "dead code, version 1"
#
#
# end
torch._inductor.config.post_grad_custom_post_pass = Pass()
compiled = torch.compile(lambda x: torch.relu(x) * 2)
x = torch.randn(8, 16)


def step(number):
    return compiled(x)
