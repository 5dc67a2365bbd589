"""Very small products, compiled: the calls take longer than the work."""
# logs: output_code
# env: ONEDNN_VERBOSE=1
# expect: faster

layers = [torch.nn.Linear(64, 64) for _ in range(120)]
model = torch.compile(torch.nn.Sequential(*layers).eval().bfloat16())
x = torch.randn(8, 64, dtype=torch.bfloat16)


def step(number):
    with torch.no_grad():
        return model(x)
