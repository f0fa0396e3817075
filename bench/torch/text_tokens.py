#!/usr/bin/env python3
"""Tokens of the text files of a folder, by a byte-level BPE trained on them: OUT/train.bin, and of every 20th
file OUT/held.bin (u16, a token between files; whole batches of 4 rows of 1024, rows in an order drawn once).
The bench's text is the .rst.txt files of Debian's package linux-doc-6.1.

    bench/torch/text_tokens.py FOLDER OUT
"""

import glob
import os
import sys

import numpy as np
import tokenizers

WORDS, END, ROWS, LENGTH = 16384, "<|endoftext|>", 4, 1024

folder, out = sys.argv[1:]
texts = []
for path in sorted(glob.glob(os.path.join(glob.escape(folder), "**", "*.rst.txt"), recursive=True)):
    with open(path, encoding="utf-8", errors="replace") as f:
        texts.append(f.read())
model = tokenizers.ByteLevelBPETokenizer()
model.train_from_iterator(texts, vocab_size=WORDS, special_tokens=[END], show_progress=False)
end = model.token_to_id(END)
parts = {"train": [], "held": []}
for i, ids in enumerate(model.encode_batch(texts)):
    parts["held" if i % 20 == 19 else "train"] += ids.ids + [end]
for name, ids in parts.items():
    rows = np.array(ids[: len(ids) - len(ids) % (ROWS * LENGTH)], np.uint16).reshape(-1, LENGTH)
    np.random.default_rng(0).permutation(rows).tofile(os.path.join(out, f"{name}.bin"))
    print(f"{name}: of {len(texts)} files {rows.size} tokens of {model.get_vocab_size()}")
