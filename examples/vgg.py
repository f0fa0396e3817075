"""VGG (arXiv 1409.1556) in plain PyTorch, of any size."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

VGG19 = [64, 64, "M", 128, 128, "M", *[256] * 4, "M", *[512] * 4, "M", *[512] * 4, "M"]


class VGG(nn.Module):
    """As torchvision defines it: numbers are channels of a 3 x 3 convolution, M halves the image."""

    def __init__(self, layers, classes, narrow=1, reduction="mean"):
        super().__init__()
        self.reduction = reduction
        made, before = [], 3
        for v in layers:
            if v == "M":
                made.append(nn.MaxPool2d(kernel_size=2, stride=2))
                continue
            made += [nn.Conv2d(before, v // narrow, kernel_size=3, padding=1), nn.ReLU(inplace=True)]
            before = v // narrow
        self.features = nn.Sequential(*made)
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        wide = 4096 // narrow
        self.classifier = nn.Sequential(
            nn.Linear(before * 7 * 7, wide), nn.ReLU(True), nn.Dropout(p=0.0),
            nn.Linear(wide, wide), nn.ReLU(True), nn.Dropout(p=0.0), nn.Linear(wide, classes),
        )  # fmt: skip
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
                nn.init.constant_(m.bias, 0)
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, 0, 0.01)
                nn.init.constant_(m.bias, 0)

    def forward(self, x, labels):
        x = self.avgpool(self.features(x))
        return F.cross_entropy(self.classifier(torch.flatten(x, 1)), labels, reduction=self.reduction)
