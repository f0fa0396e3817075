"""safetensors files: 8 bytes of header length, a JSON header, the bytes of the tensors.

Written and read here so that the package needs torch alone.
"""

from __future__ import annotations

import hashlib
import json
import struct

import torch

_NAMES = {
    torch.float32: "F32",
    torch.float64: "F64",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.bool: "BOOL",
}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}


def _bytes(t: torch.Tensor) -> bytes:
    return t.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def sha256(t: torch.Tensor) -> str:
    """Of the bytes that a file holds of it."""
    return hashlib.sha256(_bytes(t)).hexdigest()


def save(path, tensors: dict[str, torch.Tensor]) -> None:
    header, blobs, at = {}, [], 0
    for name, t in tensors.items():
        blob = _bytes(t)
        header[name] = {
            "dtype": _NAMES[t.dtype],
            "shape": list(t.shape),
            "data_offsets": [at, at + len(blob)],
        }
        at += len(blob)
        blobs.append(blob)
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(head)))
        f.write(head)
        for blob in blobs:
            f.write(blob)


def load(path) -> dict[str, torch.Tensor]:
    with open(path, "rb") as f:
        (n,) = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(n))
        data = f.read()
    out = {}
    for name, e in header.items():
        if name == "__metadata__":
            continue
        a, b = e["data_offsets"]
        if b == a:
            out[name] = torch.empty(e["shape"], dtype=_DTYPES[e["dtype"]])
        else:
            flat = torch.frombuffer(bytearray(data[a:b]), dtype=torch.uint8)
            out[name] = flat.view(_DTYPES[e["dtype"]]).reshape(e["shape"])
    return out
