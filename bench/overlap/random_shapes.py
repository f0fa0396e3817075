#!/usr/bin/env python3
"""Shapes of pairs that nobody tuned for, as bench/overlap/shapes.txt has them.

    bench/overlap/random_shapes.py SEED [COUNT] [RANKS]      (24, 2)

Tokens 512 to 16384 and N, K of the whole weight 1024 to 30720, log-uniform; N and K are multiples of
64, so that shares of up to eight ranks are multiples of 8. Tokens are any number, so that ranks have
unequal rows. Three of eight are drawn until the limit of so many ranks is about 0.2 ms or less: the matmul
at 650 TFLOP/s, the transfer at 300 GB/s. The others have a longer one.
"""

import math
import random
import sys

FLOPS, BYTES, QUICK = 650e12, 300e9, 0.2e-3


def drawn(rng, least, most, step):
    x = math.exp(rng.uniform(math.log(least), math.log(most)))
    return max(least, round(x / step) * step)


def limit(kind, m, n, k, ranks):
    moved = 2 * m * (k if kind == "AG" else n) * (ranks - 1) / ranks * (2 if kind == "AR" else 1)
    return max(2 * m * n * k / ranks / FLOPS, moved / BYTES)


def main():
    seed = int(sys.argv[1])
    count, ranks = (int(x) for x in (sys.argv[2:] + ["24", "2"][len(sys.argv) - 2 :]))
    rng = random.Random(seed)
    print(f"# {count} shapes at random, seed {seed}, for {ranks} ranks")
    for i in range(count):
        quick, kind = i // 3 % 3 == 1, ("RS", "AG", "AR")[i % 3]
        while True:
            m, n, k = drawn(rng, 512, 16384, 1), drawn(rng, 1024, 30720, 64), drawn(rng, 1024, 30720, 64)
            if (limit(kind, m, n, k, ranks) < QUICK) == quick:
                break
        print(f"{kind} {m} {n} {k} 2,4,8 random-{seed}-{i:02d}")


main()
