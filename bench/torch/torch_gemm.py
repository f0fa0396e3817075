#!/usr/bin/env python3
"""Milliseconds of the products of GPT-2's head on 32768 tokens in bf16: with 50257 columns, in rows
of 50264, and with columns rounded up to a multiple of 8, 128 and 256; and of a copy between rows."""

import torch

M, N, K = 32768, 50257, 768


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


x = new(M, K)
for columns, row in [(N, N), (N, 50264), (50264, 50264), (50304, 50304), (50432, 50432)]:
    w, y = new(columns, K), new(M, row)[:, :columns]
    out_x, out_w = torch.empty_like(x), torch.empty_like(w)
    times = (ms(lambda: torch.mm(x, w.t(), out=y)), ms(lambda: torch.mm(y, w, out=out_x)),
             ms(lambda: torch.mm(y.t(), x, out=out_w)))
    print(f"{columns} columns in rows of {row}: y {times[0]:6.2f} dx {times[1]:6.2f} dw {times[2]:6.2f} ms; "
          f"{2e-9 * M * columns * K * 3 / sum(times):.0f} TFLOP/s", flush=True)
    del y
dense, wide = new(M, N), new(M, 50304)
print(f"copy to rows of 50304: {ms(lambda: wide[:, :N].copy_(dense)):.2f} ms")
