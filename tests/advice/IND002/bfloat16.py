"""Float16 layers on a CPU that multiplies bfloat16 and no float16: nothing is fused."""
# logs: output_code
# env: ONEDNN_VERBOSE=1
# expect: faster
# results: differ: another type

layers = [torch.nn.Linear(512, 512), torch.nn.GELU(), torch.nn.Linear(512, 512), torch.nn.GELU()]
model = torch.nn.Sequential(*layers).eval().half()
x = torch.randn(128, 512).half()
# before:
# after:
# model = model.to(torch.bfloat16)
# x = x.to(torch.bfloat16)
# end
model = torch.compile(model)


def step(number):
    with torch.no_grad():
        return model(x)
