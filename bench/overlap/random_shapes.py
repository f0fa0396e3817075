#!/usr/bin/env python3
"""Shapes of pairs that nobody tuned for, as bench/overlap/shapes.txt has them.

    bench/overlap/random_shapes.py SEED [COUNT]      (24)

Tokens 512 to 16384 and N, K of the whole weight 1024 to 30720, log-uniform; N and K are multiples of
64, so that shares of up to eight ranks are multiples of 8. Tokens are any number, so that ranks have
unequal rows. A third are drawn until the matmul of two ranks takes less than about 0.2 ms.
"""

import math
import random
import sys


def drawn(rng, least, most, step):
    x = math.exp(rng.uniform(math.log(least), math.log(most)))
    return max(least, round(x / step) * step)


def main():
    seed = int(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 24
    rng = random.Random(seed)
    print(f"# {count} shapes at random, seed {seed}")
    for i in range(count):
        quick = i // 3 % 3 == 2
        while True:
            m, n, k = drawn(rng, 512, 16384, 1), drawn(rng, 1024, 30720, 64), drawn(rng, 1024, 30720, 64)
            if (2 * m * n * k / 2 < 0.2e-3 * 650e12) == quick:
                break
        print(f"{('RS', 'AG', 'AR')[i % 3]} {m} {n} {k} 4 random-{seed}-{i:02d}")


main()
