"""Models of images and of sound that transformers does not have, written plainly, of any size: what zoo.py
trains tiny, and bench/torch/bench_models.py at full size."""

from __future__ import annotations

import math
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))

from vgg import VGG, VGG19  # noqa: E402,F401


class Bottleneck(nn.Module):
    """As torchvision defines it: 1 x 1, 3 x 3, 1 x 1 convolutions, each with its batch norm."""

    def __init__(self, before, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or before != 4 * width:
            skip = nn.Conv2d(before, 4 * width, 1, stride, bias=False)
            self.downsample = nn.Sequential(skip, nn.BatchNorm2d(4 * width))

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn3(self.conv3(self.relu(self.bn2(self.conv2(out)))))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    """As torchvision defines it, of bottlenecks, with zero_init_residual: without it a rounding in step 1
    moves the loss of step 10 by 7 %."""

    def __init__(self, blocks, classes, width):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        before, stages = width, []
        for i, n in enumerate(blocks):
            for k in range(n):
                stages.append(Bottleneck(before, width << i, 2 if i and not k else 1))
                before = 4 * (width << i)
        self.layers = nn.Sequential(*stages)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(before, classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, Bottleneck):
                nn.init.constant_(m.bn3.weight, 0)

    def forward(self, x, labels):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        return F.cross_entropy(self.fc(torch.flatten(self.avgpool(self.layers(x)), 1)), labels)


class DenseLayer(nn.Module):
    """As torchvision defines it: what is made joins all that the block has made so far."""

    def __init__(self, before, growth, size):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(before), nn.Conv2d(before, size * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(size * growth)
        self.conv2 = nn.Conv2d(size * growth, growth, 3, padding=1, bias=False)

    def forward(self, made):
        x = self.conv1(F.relu(self.norm1(torch.cat(made, 1))))
        return self.conv2(F.relu(self.norm2(x)))


class DenseNet(nn.Module):
    """As torchvision defines it; blocks: the layers of each."""

    def __init__(self, blocks=(6, 12, 24, 16), classes=1000, growth=32, size=4):
        super().__init__()
        c = 2 * growth
        self.stem = nn.Sequential(
            nn.Conv2d(3, c, 7, 2, 3, bias=False), nn.BatchNorm2d(c), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        )
        self.blocks, self.steps = nn.ModuleList(), nn.ModuleList()
        for i, n in enumerate(blocks):
            self.blocks.append(nn.ModuleList(DenseLayer(c + k * growth, growth, size) for k in range(n)))
            c += n * growth
            if i + 1 < len(blocks):
                halve = nn.Conv2d(c, c // 2, 1, bias=False)
                self.steps.append(nn.Sequential(nn.BatchNorm2d(c), nn.ReLU(inplace=True), halve, nn.AvgPool2d(2, 2)))
                c //= 2
        self.norm, self.classifier = nn.BatchNorm2d(c), nn.Linear(c, classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight)
            elif isinstance(m, nn.Linear):
                nn.init.constant_(m.bias, 0)

    def forward(self, x, labels):
        x = self.stem(x)
        for i, block in enumerate(self.blocks):
            made = [x]
            for layer in block:
                made.append(layer(made))
            x = torch.cat(made, 1)
            x = self.steps[i](x) if i < len(self.steps) else x
        x = F.adaptive_avg_pool2d(F.relu(self.norm(x)), (1, 1))
        return F.cross_entropy(self.classifier(torch.flatten(x, 1)), labels)


class Residual(nn.Module):
    """Two convolutions behind group norms; the time's embedding is added between them."""

    def __init__(self, before, width, time, groups):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(groups, before), nn.Conv2d(before, width, 3, padding=1)
        self.time = nn.Linear(time, width)
        self.norm2, self.conv2 = nn.GroupNorm(groups, width), nn.Conv2d(width, width, 3, padding=1)
        self.skip = nn.Conv2d(before, width, 1) if before != width else nn.Identity()

    def forward(self, x, t):
        h = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(t))[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(h)))


class CrossAttention(nn.Module):
    """Of places among each other, then of places to the words of the condition, then a gated layer."""

    def __init__(self, width, words, heads, groups):
        super().__init__()
        self.norm, self.heads = nn.GroupNorm(groups, width, eps=1e-6), heads
        self.into, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.q = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(2))
        self.k = nn.ModuleList(nn.Linear(w, width, bias=False) for w in (width, words))
        self.v = nn.ModuleList(nn.Linear(w, width, bias=False) for w in (width, words))
        self.o = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        self.up, self.down = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def attention(self, i, x, of):
        q, k, v = (m[i](y).unflatten(-1, (self.heads, -1)).transpose(1, 2) for m, y in ((self.q, x), (self.k, of), (self.v, of)))
        return self.o[i](F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))

    def forward(self, image, words):
        b, c, h, w = image.shape
        x = self.into(self.norm(image).permute(0, 2, 3, 1).reshape(b, h * w, c))
        y = self.norms[0](x)
        x = x + self.attention(0, y, y)
        x = x + self.attention(1, self.norms[1](x), words)
        y, gate = self.up(self.norms[2](x)).chunk(2, -1)
        x = x + self.down(y * F.gelu(gate))
        return image + self.out(x).reshape(b, h, w, c).permute(0, 3, 1, 2)


class ConditionalUNet(nn.Module):
    """The U-Net of latent diffusion (arXiv 2112.10752): two residual blocks a level, attention to the words of
    a condition in all levels but the last, every result of the way down joined on the way up."""

    def __init__(self, channels=4, width=32, times=(1, 2, 4), words=24, heads=4, groups=8):
        super().__init__()
        time = 4 * width
        self.width = width
        self.time = nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time))
        self.first = nn.Conv2d(channels, width, 3, padding=1)
        self.down, self.up, self.less, self.more = (nn.ModuleList() for _ in range(4))
        made, c = [width], width

        def level(before, after, last):
            return nn.ModuleList(
                [Residual(before, after, time, groups)] + ([] if last else [CrossAttention(after, words, heads, groups)])
            )

        for i, n in enumerate(times):
            for _ in range(2):
                self.down.append(level(c, n * width, i + 1 == len(times)))
                c = n * width
                made.append(c)
            if i + 1 < len(times):
                self.less.append(nn.Conv2d(c, c, 3, 2, padding=1))
                made.append(c)
        self.middle = nn.ModuleList([Residual(c, c, time, groups), CrossAttention(c, words, heads, groups), Residual(c, c, time, groups)])
        for i, n in reversed(list(enumerate(times))):
            for _ in range(3):
                self.up.append(level(c + made.pop(), n * width, i + 1 == len(times)))
                c = n * width
            if i:
                self.more.append(nn.Conv2d(c, c, 3, padding=1))
        self.norm, self.last = nn.GroupNorm(groups, c), nn.Conv2d(c, channels, 3, padding=1)

    def forward(self, noisy, step, words, noise):
        half = self.width // 2
        angle = step[:, None].float() * torch.exp(-math.log(1e4) * torch.arange(half, dtype=torch.float32) / half)
        t = self.time(torch.cat([torch.cos(angle), torch.sin(angle)], -1))
        x = self.first(noisy)
        made = [x]
        for i, (block, *attention) in enumerate(self.down):
            x = block(x, t)
            x = attention[0](x, words) if attention else x
            made.append(x)
            if i % 2 and i // 2 < len(self.less):
                x = self.less[i // 2](x)
                made.append(x)
        x = self.middle[2](self.middle[1](self.middle[0](x, t), words), t)
        for i, (block, *attention) in enumerate(self.up):
            x = block(torch.cat([x, made.pop()], 1), t)
            x = attention[0](x, words) if attention else x
            if i % 3 == 2 and i // 3 < len(self.more):
                x = self.more[i // 3](F.interpolate(x, scale_factor=2.0, mode="nearest"))
        return F.mse_loss(self.last(F.silu(self.norm(x))), noise)


class WaveUNet(nn.Module):
    """Of sound (arXiv 1806.03185): each level keeps every second place on the way down; on the way up places
    are doubled and the level's own result is joined. 12 levels there."""

    def __init__(self, levels=12, width=24, sources=2):
        super().__init__()
        wide = [1] + [width * (i + 1) for i in range(levels)]
        self.down = nn.ModuleList(nn.Conv1d(wide[i], wide[i + 1], 15, padding=7) for i in range(levels))
        self.middle = nn.Conv1d(wide[-1], wide[-1] + width, 15, padding=7)
        self.up = nn.ModuleList(
            nn.Conv1d(wide[i + 1] + wide[i + 1] + width, wide[i + 1], 5, padding=2) for i in reversed(range(levels))
        )
        self.last = nn.Conv1d(width + 1, sources, 1)

    def forward(self, sound, parts):
        x, made = sound, []
        for conv in self.down:
            x = F.leaky_relu(conv(x), 0.2)
            made.append(x)
            x = x[:, :, ::2]
        x = F.leaky_relu(self.middle(x), 0.2)
        for conv in self.up:
            x = F.interpolate(x, scale_factor=2.0, mode="linear", align_corners=False)
            x = F.leaky_relu(conv(torch.cat([made.pop(), x], 1)), 0.2)
        return F.mse_loss(torch.tanh(self.last(torch.cat([x, sound], 1))), parts)
