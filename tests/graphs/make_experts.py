#!/usr/bin/env python3
"""Writes experts.json: Mixtral of two layers, with the loss that balances its experts."""

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
config = transformers.MixtralConfig(
    vocab_size=e.module.config.vocab_size, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, head_dim=8, max_position_embeddings=32, num_local_experts=5,
    output_router_logits=True, pad_token_id=None,
)  # fmt: skip
module = transformers.MixtralForCausalLM(config).train()
optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
export(module, (), os.path.join(HERE, "experts.json"), kwargs=e.inputs, optimizer=optimizer)
