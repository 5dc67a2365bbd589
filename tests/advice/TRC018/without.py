"""A profiler that records the Python stack of each operator."""
# logs: none
# graphs: 0
# adapted: where the trace is written

x = torch.rand(64, 64)


def step(number):
    return x @ x


def write(run):
    run.export_chrome_trace(f"{OUT}/trace.json")


schedule = torch.profiler.schedule(wait=1, warmup=2, active=3)
# before:
run = torch.profiler.profile(schedule=schedule, on_trace_ready=write, with_stack=True)
# after:
# run = torch.profiler.profile(schedule=schedule, on_trace_ready=write)
# end
with run:
    for number in range(6):
        step(number)
        run.step()
