"""A vocabulary whose size is no multiple of eight."""
# device: cuda
# logs: graph_breaks
# adapted: the sizes are those of this program
# results: differ, the weights are drawn for another size

STEPS = 4
# before:
vocabulary = 50257
# after:
# vocabulary = 50304
# end
torch._inductor.config.shape_padding = False
model = torch.nn.Linear(768, vocabulary, bias=False).cuda().bfloat16().eval()
model = torch.compile(model, mode="max-autotune-no-cudagraphs")
x = torch.randn(4096, 768, device="cuda", dtype=torch.bfloat16)


def step(number):
    with torch.no_grad():
        return model(x)
