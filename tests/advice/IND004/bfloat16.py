"""A float16 model on a CPU that multiplies bfloat16 and no float16."""
# logs: output_code
# env: ONEDNN_VERBOSE=1
# expect: faster
# results: differ: another type

layers = [torch.nn.Conv2d(32, 64, 3), torch.nn.ReLU(), torch.nn.Conv2d(64, 64, 3)]
model = torch.nn.Sequential(*layers).eval().half()
x = torch.randn(4, 32, 28, 28).half()
# before:
# after:
# model = model.to(torch.bfloat16)
# x = x.to(torch.bfloat16)
# end
model = torch.compile(model)


def step(number):
    with torch.no_grad():
        return model(x)
