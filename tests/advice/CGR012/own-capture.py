"""A capture of one's own around work on another stream."""
# device: cuda
# logs: none
# graphs: 0
# adapted: the tensors of this program

import warnings

warnings.simplefilter("always")
model = torch.nn.Linear(64, 64).cuda().eval().requires_grad_(False)
x = torch.randn(32, 64, device="cuda")
model(x)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
# before:
with torch.cuda.graph(graph):
    pass
out = model(x)
# after:
# with torch.cuda.graph(graph):
#     out = model(x)
# end


def step(number):
    graph.replay()
    return x
