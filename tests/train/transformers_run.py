"""A checkpoint as transformers writes it (bf16, in shards) trained by hapc on four unequal CPU ranks:
the losses are PyTorch's from the same files, from_pretrained reads what hapc saves, and generates.
Usage: transformers_run.py BUILD"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
import transformers

sys.path.insert(0, "ir/export")
import hap_export  # noqa: E402

STEPS, BATCH, LENGTH = 20, 4, 16
hapc = os.path.join(sys.argv[1], "bin", "hapc")
transformers.logging.set_verbosity_error()


def run(*command):
    done = subprocess.run([str(x) for x in command], capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}"
    return done


def losses(text):
    return [json.loads(line)["loss"] for line in text.splitlines() if '"loss"' in line]


def near(a, b, limit, what):
    worst = max(abs(x - y) / abs(y) for x, y in zip(a, b, strict=True))
    print(f"  {what}: {worst:.2e} of {limit:.0e}")
    assert worst <= limit, (what, a, b)


def trained(model, rows):
    """PyTorch's losses; the model is trained in place."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    out = []
    for step in range(STEPS):
        ids = rows[np.arange(step * BATCH, (step + 1) * BATCH) % len(rows)]
        loss = model(input_ids=ids, labels=ids).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        out.append(loss.item())
    return out


def main(work):
    config = transformers.GPT2Config(n_layer=2, n_head=4, n_embd=32, vocab_size=128, n_positions=32, use_cache=False,
                                     resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0)
    torch.manual_seed(1)
    tokens = np.random.default_rng(1).integers(0, 128, 15 * LENGTH + 5).astype(np.uint16)
    tokens.tofile(f"{work}/tokens.bin")
    rows = torch.from_numpy(tokens[:len(tokens) // LENGTH * LENGTH].reshape(-1, LENGTH).astype(np.int64))
    start = f"{work}/start"
    transformers.GPT2LMHeadModel(config).to(torch.bfloat16).save_pretrained(start, max_shard_size="20KB")
    assert os.path.exists(f"{start}/model.safetensors.index.json"), os.listdir(start)
    load = dict(dtype=torch.float32, use_cache=False)
    model = transformers.GPT2LMHeadModel.from_pretrained(start, **load)
    batch = {name: rows[:BATCH] for name in ("input_ids", "labels")}
    hap_export.export(model, (), f"{work}/graph.json", kwargs=batch, optimizer={
        "name": "adamw", "lr": 3e-3, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1, "clip_norm": 1.0})
    want = trained(model, rows)
    data = [f"--input={name}={work}/tokens.bin" for name in ("input_ids", "labels")]
    for cluster, strategy in (("laptop", "auto"), ("laptop2", "zero")):
        run(hapc, f"{work}/graph.json", f"clusters/{cluster}.yaml", "-q", "--strategy", strategy, "-o", f"{work}/{cluster}")

    print("trained from bf16 shards")
    done = run(hapc, "run", f"{work}/laptop", "--init", start, "--json", "--steps", STEPS, *data,
               "--save", f"{work}/out", "--save-every", 8, "--shard-size", "30KB")
    assert "no use" not in done.stderr, done.stderr
    near(losses(done.stdout), want, 1e-5, "losses")
    assert sorted(os.listdir(f"{work}/out")) == ["step-16", "step-20", "step-8"], os.listdir(f"{work}/out")
    back, info = transformers.GPT2LMHeadModel.from_pretrained(f"{work}/out/step-20", output_loading_info=True, **load)
    assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"], info
    theirs = dict(model.named_parameters())
    for name, p in back.named_parameters():
        worst = (p - theirs[name]).abs().max().item()
        assert worst < 2e-4, (name, worst)
    text = [m.generate(rows[:2, :4], max_new_tokens=8, do_sample=False, pad_token_id=0, use_cache=True) for m in (model, back)]
    assert torch.equal(*text), text
    print("  from_pretrained: all tensors; generates the same")

    print("resumed from step 8 on other ranks, by the index and by the folder")
    for name in ("out/step-8", "out/step-8/model.safetensors.index.json"):
        rest = run(hapc, "run", f"{work}/laptop2", "--init", f"{work}/{name}", "--json", "--steps", STEPS - 8, *data)
        near(losses(rest.stdout), want[8:], 1e-5, name)

    print("one file in f16; the bare model without its head; a file with more in it")
    transformers.GPT2LMHeadModel.from_pretrained(start, dtype=torch.float16).save_pretrained(f"{work}/half")
    first = run(hapc, "run", f"{work}/laptop2", "--init", f"{work}/half/model.safetensors", "--json", "--steps", 1, *data)
    near(losses(first.stdout), want[:1], 1e-4, "f16")
    transformers.GPT2LMHeadModel.from_pretrained(start, dtype=torch.bfloat16).transformer.save_pretrained(f"{work}/bare")
    first = run(hapc, "run", f"{work}/laptop2", "--init", f"{work}/bare", "--json", "--steps", 1, *data)
    near(losses(first.stdout), want[:1], 1e-5, "bare")
    from safetensors.torch import load_file, save_file
    held = load_file(f"{work}/half/model.safetensors")
    save_file(held | {"visual.proj": torch.zeros(3)}, f"{work}/more.safetensors")
    first = run(hapc, "run", f"{work}/laptop2", "--init", f"{work}/more.safetensors", "--json", "--steps", 1, *data)
    assert "1 tensors have no use here: visual.proj" in first.stderr, first.stderr
    held.pop("transformer.h.1.mlp.c_fc.bias")
    save_file(held, f"{work}/less.safetensors")
    done = subprocess.run([hapc, "run", f"{work}/laptop2", "--init", f"{work}/less.safetensors", *data], capture_output=True, text=True)
    assert done.returncode == 1 and "there is no tensor 'transformer.h.1.mlp.c_fc.bias'" in done.stderr, done.stderr


with tempfile.TemporaryDirectory() as folder:
    main(folder)
