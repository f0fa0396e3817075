#!/usr/bin/env python3
"""Writes batch-norm.json: two convolutions with batch norm in training mode and a classifier; and
batch-residual.json: the same with a residual between them."""

import os
import sys

import torch
import torch.nn.functional as F
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "ir", "export"))
from hap_export import export  # noqa: E402


class Net(nn.Module):
    def __init__(self, residual):
        super().__init__()
        self.residual = residual
        self.conv1, self.bn1 = nn.Conv2d(1, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6)
        self.conv2, self.bn2 = nn.Conv2d(6, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        if residual:
            self.conv, self.bn = nn.Conv2d(6, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6)
        self.fc = nn.Linear(8 * 4 * 4, 10)

    def forward(self, image, label):
        x = image.reshape(-1, 1, 28, 28)[:, :, ::2, ::2][:, :, 3:11, 3:11]
        x = F.relu(self.bn1(self.conv1(x)))
        if self.residual:
            x = F.relu(self.bn(self.conv(x)) + x)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        return F.cross_entropy(self.fc(x.flatten(1)), label)


for name, residual in (("batch-norm", False), ("batch-residual", True)):
    torch.manual_seed(0)
    module = Net(residual).train()
    inputs = {"image": torch.zeros(64, 784), "label": torch.zeros(64, dtype=torch.long)}
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
    export(module, (), os.path.join(HERE, f"{name}.json"), kwargs=inputs, optimizer=optimizer)
