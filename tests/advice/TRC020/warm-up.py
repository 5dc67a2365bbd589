"""A profiler that begins with the first step, which compiles."""
# logs: none

compiled = torch.compile(lambda x: torch.relu(x @ x.T).sum(), backend="eager")
x = torch.rand(64, 64)


def step(number):
    return compiled(x)


# before:
schedule = torch.profiler.schedule(wait=0, warmup=0, active=3, repeat=1)
# after:
# schedule = torch.profiler.schedule(wait=1, warmup=2, active=3)
# end
write = lambda run: run.export_chrome_trace(f"{OUT}/trace.json")  # noqa: E731
with torch.profiler.profile(schedule=schedule, on_trace_ready=write) as run:
    for number in range(6):
        step(number)
        run.step()
