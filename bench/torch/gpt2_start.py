"""GPT-2 124M with the parameters of a safetensors file."""

import json
import struct

import numpy as np
import torch
import transformers


def tensors(path):
    with open(path, "rb") as f:
        (n,) = struct.unpack("<Q", f.read(8))
        head, data = json.loads(f.read(n)), f.read()
    for name, t in head.items():
        if name != "__metadata__" and t["dtype"] == "F32":
            lo, hi = t["data_offsets"]
            yield name, torch.from_numpy(np.frombuffer(data[lo:hi], np.float32).copy().reshape(t["shape"]))


def gpt2_from(path):
    """In train mode on the GPU, without dropout."""
    config = transformers.GPT2Config(attn_pdrop=0, embd_pdrop=0, resid_pdrop=0, use_cache=False)
    model = transformers.GPT2LMHeadModel(config)
    own = dict(model.named_parameters())
    found = {name: t for name, t in tensors(path) if name in own}
    missing = set(own) - set(found)
    assert not missing, f"not in {path}: {sorted(missing)[:3]}"
    with torch.no_grad():
        for name, t in found.items():
            own[name].copy_(t)
    return model.cuda().train()
