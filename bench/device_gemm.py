#!/usr/bin/env python3
"""Milliseconds of the products of GPT-2's head on 32768 tokens in bf16: 50257 columns as they are
(rows of 2-byte alignment), in rows padded to 50264, and as 50264 columns; and of a copy between."""

import torch

M, N, P, K = 32768, 50257, 50264, 768


def ms(run):
    for _ in range(2):
        run()
    a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    a.record()
    for _ in range(5):
        run()
    b.record()
    b.synchronize()
    return a.elapsed_time(b) / 5


def new(*size):
    return torch.randn(*size, device="cuda", dtype=torch.bfloat16)


x, w = new(M, K), new(P, K)
dense, wide = new(M, N), new(M, P)
for name, y, k in [("as they are", dense, N), ("padded rows", wide[:, :N], N), ("more columns", wide, P)]:
    out_x, out_w = torch.empty_like(x), torch.empty_like(w[:k])
    times = (ms(lambda: torch.mm(x, w[:k].t(), out=y)), ms(lambda: torch.mm(y, w[:k], out=out_x)),
             ms(lambda: torch.mm(y.t(), x, out=out_w)))
    print(f"{name:14s} y {times[0]:7.2f} dx {times[1]:7.2f} dw {times[2]:7.2f} ms; "
          f"{2e-9 * M * k * K * 3 / sum(times):.0f} TFLOP/s", flush=True)
print(f"copy to padded rows {ms(lambda: wide[:, :N].copy_(dense)):.2f} ms")
