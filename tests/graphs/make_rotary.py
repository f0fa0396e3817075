#!/usr/bin/env python3
"""Writes rotary.json: Qwen2 of three layers; its rotary embedding stands between products with a bias and
attention whose heads share keys."""

import os
import sys

import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "examples"))
import models  # noqa: E402
from hap_export import export  # noqa: E402

torch.manual_seed(0)
e = models.gpt2_tiny()
config = transformers.Qwen2Config(
    vocab_size=e.module.config.vocab_size, hidden_size=32, intermediate_size=48, num_hidden_layers=3,
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32, tie_word_embeddings=True,
    use_cache=False,
)  # fmt: skip
module = transformers.Qwen2ForCausalLM(config).train()
optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
export(module, (), os.path.join(HERE, "rotary.json"), kwargs=e.inputs, optimizer=optimizer)
