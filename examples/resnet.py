"""A small residual network (arXiv 1512.03385, section 4.2) that takes images as bytes."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """Two 3 x 3 convolutions, each with its batch norm, and a way around them."""

    def __init__(self, before, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(before, width, 3, stride, padding=1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        self.skip = nn.Identity()
        if stride != 1 or before != width:
            self.skip = nn.Sequential(nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.skip(x))


class ResNet(nn.Module):
    """Images [b, height, width] of u8 with values of this mean and deviation; stages of blocks, each
    but the first on half of the places."""

    def __init__(self, widths, blocks, classes, mean, deviation):
        super().__init__()
        self.mean, self.deviation = mean, deviation
        self.conv, self.bn = nn.Conv2d(1, widths[0], 3, padding=1, bias=False), nn.BatchNorm2d(widths[0])
        before, made = widths[0], []
        for i, width in enumerate(widths):
            for k in range(blocks):
                made.append(Block(before, width, 2 if i and not k else 1))
                before = width
        self.blocks = nn.Sequential(*made)
        self.fc = nn.Linear(before, classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, Block):
                nn.init.constant_(m.bn2.weight, 0)  # each begins as its way around

    def features(self, images):
        x = ((images.float() - self.mean) / self.deviation).unsqueeze(1)
        return self.fc(self.blocks(F.relu(self.bn(self.conv(x)))).mean((2, 3)))

    def forward(self, images, labels):
        return F.cross_entropy(self.features(images), labels)
