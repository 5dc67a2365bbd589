"""Float32 products on a GPU whose tensor cores could compute them."""
# device: cuda
# logs: none
# graphs: 0
# results: differ, TF32 has ten bits of mantissa

TRACE = True
model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(4)]).cuda().eval()
x = torch.randn(2048, 2048, device="cuda")


def step(number):
    with torch.no_grad():
        return model(x)
