"""The runtime's random initialisation, in numpy: README.md has the definition.

    w = tensor({"normal": 0.02}, "transformer.wte.weight", (50257, 768), seed=1)
"""

from __future__ import annotations

import numpy as np

_U32 = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_BLOCKS = 1 << 20  # blocks of four made at once, to bound memory


def fnv1a64(name: str) -> int:
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def tensor_key(name: str, seed: int) -> int:
    return fnv1a64(name) ^ (seed * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF)


def philox4x32(block: np.ndarray, key: int) -> np.ndarray:
    """Philox4x32-10 of counters (block lo, block hi, 0, 0): uint32 [len(block), 4]."""
    block = block.astype(np.uint64)
    c0, c1 = block & _U32, block >> _SHIFT
    c2 = c3 = np.zeros_like(c0)
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c2 = (p1 >> _SHIFT) ^ c1 ^ np.uint64(k0), (p0 >> _SHIFT) ^ c3 ^ np.uint64(k1)
        c1, c3 = p1 & _U32, p0 & _U32
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], -1).astype(np.uint32)


def _elements(n: int, key: int, normal: bool) -> np.ndarray:
    out = np.empty((-(-n // 4), 4))
    for at in range(0, len(out), _BLOCKS):
        u = (philox4x32(np.arange(at, min(at + _BLOCKS, len(out))), key) + 0.5) * 2.0**-32
        if normal:
            radius = np.sqrt(-2 * np.log(u[:, 0::2]))
            angle = 2 * np.pi * u[:, 1::2]
            u = np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1).reshape(-1, 4)
        out[at : at + _BLOCKS] = u
    return out.reshape(-1)[:n]


def tensor(init: dict, name: str, shape, seed: int) -> np.ndarray:
    """A parameter or buffer as the runtime starts it, f32."""
    n = int(np.prod(shape, dtype=np.int64))
    if "const" in init:
        return np.full(shape, init["const"], np.float32)
    if "normal" in init:
        x = init["normal"] * _elements(n, tensor_key(name, seed), True)
    else:
        a, b = init["uniform"]
        x = a + (b - a) * _elements(n, tensor_key(name, seed), False)
    return x.astype(np.float32).reshape(shape)


def initial(doc: dict, seed: int) -> dict[str, np.ndarray]:
    """Every parameter and buffer of a graph file."""
    return {
        name: tensor(t["init"], name, t["shape"], seed)
        for name, t in doc["tensors"].items()
        if t["kind"] in ("param", "buffer")
    }
