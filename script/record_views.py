#!/usr/bin/env python3
"""Records of calls (hapc -d l) from stdin, with reshapes in place at their end.

Such a reshape moves nothing, so where it stands in the step means nothing; buffers are numbered
by their first use without it. What hapc prints since programs have views is left as it is.
"""
import re
import signal
import sys

signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # diff -q ends early

declared, number, views = {}, {}, []


def ids(line):
    """Buffers of a call in the order in which they are declared: operands, results, scratch."""
    head, arrow, tail = line.partition(" <-")
    outs = re.findall(r"%\d+", head) if arrow else []
    ins, _, scratch = (tail if arrow else head).partition(" scratch")
    return re.findall(r"%\d+", ins), outs, re.findall(r"%\d+", scratch)


def in_place(line):
    if not line.startswith("op reshape "):
        return False
    (x,), (y,), _ = ids(line)
    one, two = declared[x], declared[y]
    return one.split()[:2] == two.split()[:2] and one.split("]")[-1] == two.split("]")[-1]


def call(line):
    for name in sum(ids(line), []):
        if name not in number:
            number[name] = f"%{len(number)}"
            print(f"  {number[name]} = {declared[name]}")
    print(re.sub(r"%\d+", lambda m: number[m.group()], line))


for text in sys.stdin:
    text = text.rstrip("\n")
    declaration = re.match(r"  (%\d+) = (.*)", text)
    if declaration:
        declared[declaration.group(1)] = declaration.group(2)
    elif in_place(text):
        views.append(text)
    elif re.search(r" %\d+", text) and not text.startswith(("{", " ")):
        call(text)
    else:
        print(text)
while views:
    views.sort(key=lambda v: int(number.get(ids(v)[1][0], "%999999999")[1:]))
    call(views.pop(0))
