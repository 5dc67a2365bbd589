"""Float32 products are tuned without TF32."""
# device: cuda
# logs: graph_breaks
# results: differ, TF32 has ten bits of mantissa

model = torch.nn.Sequential(torch.nn.Linear(2048, 2048), torch.nn.ReLU()).cuda().eval()
model = torch.compile(model, mode="max-autotune-no-cudagraphs")
x = torch.randn(2048, 2048, device="cuda")


def step(number):
    with torch.no_grad():
        return model(x)
