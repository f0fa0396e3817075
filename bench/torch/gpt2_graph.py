#!/usr/bin/env python3
"""Writes the graph of GPT-2 124M on rows of 1024 tokens, plain AdamW as bench/torch/torch_step.py runs it."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))
import models  # noqa: E402
from hap_export import export  # noqa: E402

example = models._gpt2({}, 8, 1024)
example.module.train()
export(
    example.module, (), sys.argv[1], kwargs=example.inputs, optimizer=example.optimizer, init=example.init
)
