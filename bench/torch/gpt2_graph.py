#!/usr/bin/env python3
"""Writes the graph of a model that bench/torch/torch_step.py runs, with its plain AdamW: GPT-2 124M on rows of
1024 tokens, or of `long`.

    bench/torch/gpt2_graph.py gpt2|long FILE
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))
import models  # noqa: E402
import torch  # noqa: E402
from hap_export import export  # noqa: E402
from long_model import TOKENS, Long  # noqa: E402

if sys.argv[1] == "long":
    example = models.Example(
        Long(), models._ids(2, TOKENS, "input_ids", "labels"), models.adamw(["*.bias", "*.ln_*"]),
        init={"*.ln_*.weight": {"const": 1.0}, "*.weight": {"normal": 0.02}, "*.bias": {"const": 0.0}},
    )  # fmt: skip
else:
    example = models._gpt2({}, 8, 1024)
example.module.train()
export(
    example.module, (), sys.argv[2], kwargs=example.inputs, optimizer=example.optimizer, init=example.init
)
