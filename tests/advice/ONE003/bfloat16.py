"""A float16 model on a CPU that multiplies bfloat16 and no float16."""
# logs: output_code
# env: ONEDNN_VERBOSE=1
# expect: faster
# results: differ: another type

model = torch.nn.Conv2d(512, 512, 3, padding=1).eval().half()
x = torch.randn(2, 512, 4, 4).half()
# before:
# after:
# model = model.to(torch.bfloat16)
# x = x.to(torch.bfloat16)
# end
model = torch.compile(model)


def step(number):
    with torch.no_grad():
        return model(x)
