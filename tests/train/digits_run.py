"""examples/resnet-digits on real images, read as bytes: on four unequal CPU ranks the losses are PyTorch's,
and what hapc trained reads digits of people whose others it has not seen. Usage: digits_run.py BUILD DIGITS.csv.gz"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from safetensors.torch import load_file

sys.path.insert(0, "examples")
import models  # noqa: E402

EXAMPLE, STEPS, BATCH, EPOCHS, RIGHT = "examples/resnet-digits", 20, 64, 4, 0.8
hapc = os.path.join(sys.argv[1], "bin", "hapc")


def run(*command):
    done = subprocess.run([str(x) for x in command], capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}"
    return done.stdout


def losses(text):
    return [json.loads(line)["loss"] for line in text.splitlines() if '"loss"' in line]


def loaded(path):
    """The example's module with the weights, and the batch statistics, of a checkpoint."""
    module = models.build("resnet-digits").module
    held = load_file(path)
    names = {n for n, _ in module.named_parameters()} | {n for n, b in module.named_buffers() if b.is_floating_point()}
    assert names <= held.keys(), names - held.keys()
    module.load_state_dict({n: held[n] for n in names}, strict=False)
    return module


def trained(module, images, labels):
    """PyTorch's losses at the rates of the graph's schedule."""
    rate, of = 0.05, models.build("resnet-digits").optimizer["schedule"]
    optimizer = torch.optim.SGD(module.parameters(), lr=rate, momentum=0.9, weight_decay=5e-4)
    out = []
    for step in range(STEPS):
        assert step < of["warmup"]
        optimizer.param_groups[0]["lr"] = rate * (step + 1) / of["warmup"]
        rows = np.arange(step * BATCH, (step + 1) * BATCH)
        loss = module(images[rows], labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


def main(work, digits):
    run(sys.executable, f"{EXAMPLE}/rows", digits, work)
    images, labels, held, answers = (
        torch.from_numpy(np.load(f"{work}/{name}.npy")) for name in ("images", "labels", "held.images", "held.labels")
    )
    assert images.dtype == torch.uint8
    data = [f"--input={name}={work}/{name}.npy" for name in ("images", "labels")]
    want = None
    for cluster, strategy in (("laptop", "dp-prop"), ("laptop2x2", "tp"), ("laptop2", "auto")):
        plan = f"{work}/{cluster}"
        run(hapc, f"{EXAMPLE}/graph.json", f"clusters/{cluster}.yaml", "-q", "--strategy", strategy, "-o", plan)
        run(hapc, "check", plan)
        if not want:
            start = f"{work}/start.safetensors"
            run(hapc, "run", plan, "--steps", 0, "--seed", 1, "--save", start, *data)
            want = trained(loaded(start), images, labels)
            assert want[-1] < want[0] - 0.3, want
        got = losses(run(hapc, "run", plan, "--init", start, "--json", "--steps", STEPS, *data))
        worst = max(abs(x - y) / y for x, y in zip(got, want, strict=True))
        print(f"  {strategy} on {cluster}: losses to {worst:.2e} of 1e-04")
        assert worst <= 1e-4, (got, want)

    out = f"{work}/end.safetensors"
    run(hapc, "run", f"{work}/laptop", "--init", start, "--shuffle", "--epochs", EPOCHS, "--save", out, *data)
    module = loaded(out).eval()
    with torch.no_grad():
        right = (module.features(held).argmax(1) == answers).float().mean().item()
    print(f"  {EPOCHS} epochs: {100 * right:.1f} % of {len(held)} held images read right")
    assert right >= RIGHT, right


with tempfile.TemporaryDirectory() as folder:
    main(folder, sys.argv[2])
