#!/usr/bin/env python3
"""Writes the graph of a model that bench/torch/torch_step.py runs (bench_models.py), with its plain AdamW.

    bench/torch/model_graph.py NAME FILE
"""

import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "ir", "export"))
from bench_models import MODELS  # noqa: E402
from hap_export import export  # noqa: E402

module, tokens = MODELS[sys.argv[1]]()
ids, labels = (torch.zeros(2, tokens, dtype=torch.long) for _ in range(2))
optimizer = {"name": "adamw", "lr": 3e-4, "betas": [0.9, 0.95], "weight_decay": 0.1}
export(module.train(), (), sys.argv[2], kwargs=dict(input_ids=ids, labels=labels), optimizer=optimizer)
