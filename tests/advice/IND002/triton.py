"""A library product, and an activation that reads it back."""
# device: cuda
# logs: output_code

torch._inductor.config.max_autotune_gemm_backends = "ATEN,TRITON"
model = torch.nn.Sequential(
    torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)
)
model = model.cuda().bfloat16().eval()
model = torch.compile(model)
x = torch.randn(2048, 1024, device="cuda", dtype=torch.bfloat16)


def step(number):
    with torch.no_grad():
        return model(x).float()
