#!/usr/bin/env python3
"""Writes gpt2-dropout.json: GPT-2 of two layers with its three kinds of dropout (embedding, attention, residual)."""

import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "examples"))
import models  # noqa: E402
from hap_export import export  # noqa: E402

torch.manual_seed(0)
e = models.gpt2_tiny()
config = e.module.config
config.n_layer = 2
config.attn_pdrop = config.embd_pdrop = config.resid_pdrop = 0.1
module = type(e.module)(config).train()
export(module, (), os.path.join(HERE, "gpt2-dropout.json"), kwargs=e.inputs, optimizer=e.optimizer, init=e.init)
