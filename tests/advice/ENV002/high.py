"""Float32 products on tensor cores that are not used."""
# device: cuda
# logs: graph_breaks
# results: differ, TF32 has ten bits of mantissa

model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(4)]).cuda().eval()
model = torch.compile(model)
x = torch.randn(2048, 2048, device="cuda")


def step(number):
    with torch.no_grad():
        return model(x)
