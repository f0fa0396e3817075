#!/usr/bin/env python3
"""Writes the graph of a model that bench/torch/torch_step.py runs (bench_models.py), with its plain AdamW.

    bench/torch/model_graph.py NAME FILE [ROWS]
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "ir", "export"))
from bench_models import MODELS, RATES, batch  # noqa: E402
from hap_export import export  # noqa: E402

module, inputs = MODELS[sys.argv[1]]()
optimizer = {"name": "adamw", "lr": RATES.get(sys.argv[1], 3e-4), "betas": [0.9, 0.95], "weight_decay": 0.1}
export(module.train(), (), sys.argv[2], kwargs=batch(inputs, int(sys.argv[3]) if len(sys.argv) > 3 else 2), optimizer=optimizer)
