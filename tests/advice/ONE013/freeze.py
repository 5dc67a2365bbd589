"""Compiled bfloat16 layers with GELU: the activation is a primitive of its own."""
# logs: output_code
# env: ONEDNN_VERBOSE=1

layers = [layer for _ in range(4) for layer in (torch.nn.Linear(256, 256), torch.nn.GELU())]
model = torch.compile(torch.nn.Sequential(*layers).eval().bfloat16(), backend="aot_eager")
x = torch.randn(64, 256, dtype=torch.bfloat16)


def step(number):
    with torch.no_grad():
        return model(x)
