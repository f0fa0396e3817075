"""`long`: a GPT of moderate width on one sequence of 32768 tokens, for PyTorch and for the exporter."""

import torch
from torch import nn
from torch.nn import functional as F

TOKENS, WIDTH, HEADS, LAYERS, WORDS = 32768, 1024, 16, 12, 50257


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        rows, tokens, _ = x.shape
        parts = self.qkv(self.ln_1(x)).split(WIDTH, dim=2)
        q, k, v = (p.view(rows, tokens, HEADS, WIDTH // HEADS).transpose(1, 2) for p in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(rows, tokens, WIDTH))
        return x + self.down(F.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class Long(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(WORDS, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.register_buffer("place", torch.arange(TOKENS), persistent=False)
        self.h = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(WIDTH)

    def forward(self, input_ids, labels):
        x = self.wte(input_ids) + self.wpe(self.place)
        for block in self.h:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        labels = F.pad(labels, (0, 1), value=-100)[:, 1:]
        return F.cross_entropy(logits.view(-1, WORDS), labels.reshape(-1))
