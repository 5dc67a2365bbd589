"""An int8 layer between dequantize and quantize, not frozen."""
# logs: output_code,graph_code

import torch.ao.quantization.fx._decomposed

ops = torch.ops.quantized_decomposed


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 127, (256, 512), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(256) * 0.01)
        self.register_buffer("zero", torch.zeros(256, dtype=torch.int64))

    def forward(self, x):
        q = ops.quantize_per_tensor(x, 0.02, 128, 0, 255, torch.uint8)
        x = ops.dequantize_per_tensor(q, 0.02, 128, 0, 255, torch.uint8)
        weight = ops.dequantize_per_channel(
            self.weight, self.scale, self.zero, 0, -128, 127, torch.int8
        )
        return torch.nn.functional.linear(x, weight).relu()


model = torch.compile(Layer())
x = torch.rand(32, 512)


def step(number):
    with torch.no_grad():
        return model(x)
