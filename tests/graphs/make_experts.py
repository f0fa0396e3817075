#!/usr/bin/env python3
"""Writes experts.json: Mixtral of two layers, with the loss that balances its experts; and routed.json, without
that loss, so that its batch can be cut into micro-batches."""

import os
import sys

import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "examples"))
import models  # noqa: E402
from hap_export import export  # noqa: E402


def build(balanced: bool) -> models.Example:
    torch.manual_seed(0)
    e = models.gpt2_tiny()
    config = transformers.MixtralConfig(
        vocab_size=e.module.config.vocab_size, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=8, max_position_embeddings=32, num_local_experts=5,
        output_router_logits=balanced, pad_token_id=None,
    )  # fmt: skip
    e.module = transformers.MixtralForCausalLM(config).train()
    return e


if __name__ == "__main__":
    for name, balanced in (("experts", True), ("routed", False)):
        e = build(balanced)
        optimizer = torch.optim.AdamW(e.module.parameters(), lr=1e-3)
        export(e.module, (), os.path.join(HERE, name + ".json"), kwargs=e.inputs, optimizer=optimizer)
