#!/usr/bin/env python3
"""A simulation of pipelines by events, which shares nothing with costmodel/slots.c but the question.

    slots_events.py random PLAYER [N]   N random games and pipelines: PLAYER (slots_games) ends every item
                                        when the events do, and finds the same games without an end
    slots_events.py sailor PLAYER       Sailor's measured pipelines on mixed GPUs, predicted by PLAYER:
                                        mean error at most 10 %
"""
import csv
import os
import random
import subprocess
import sys


class Flow:
    """Work that goes on at a rate that others change: of a stage (port None) or a message."""

    def __init__(self, left, stage=None, port=None, then=None):
        self.left, self.stage, self.port, self.then = left, stage, port, then


class Events:
    """Processes are generators: they yield ('work', stage, item), ('send', port, message), ('receive', port, message)
    and ('done', place) and go on when that has happened. Between two events all flows go on at the rates that
    follow from which there are: nothing is kept but what is left of each."""

    def __init__(self, ports, cards):
        self.now = 0.0
        self.ports = ports  # seconds, from, to: cards
        self.cards = cards  # by stage
        self.flows = []
        self.waiting = [[] for _ in ports]  # messages that the port has not begun
        self.busy = [False] * len(ports)
        self.arrived = [set() for _ in ports]
        self.blocked = {}  # (port, message) -> process
        self.ended = {}
        self.own = {}  # by stage: net and shown of the item it works at

    def begin_next(self, port):
        if self.busy[port] or not self.waiting[port]:
            return
        self.busy[port] = True
        message = self.waiting[port].pop(0)
        self.flows.append(Flow(self.ports[port][0], port=port, then=lambda: self.arrive(port, message)))

    def arrive(self, port, message):
        self.busy[port] = False
        self.arrived[port].add(message)
        self.begin_next(port)
        if (port, message) in self.blocked:
            self.go(self.blocked.pop((port, message)))

    def go(self, process):
        for step in process:
            if step[0] == "work":
                _, s, item = step
                if item[0] > 0:
                    self.own[s] = item[4:]
                    self.flows.append(Flow(item[0], stage=s, then=lambda: self.worked(s, process)))
                    return
            elif step[0] == "send":
                self.waiting[step[1]].append(step[2])
                self.begin_next(step[1])
            elif step[0] == "receive":
                if step[2] not in self.arrived[step[1]]:
                    self.blocked[step[1], step[2]] = process
                    return
            else:
                self.ended[step[1]] = self.now

    def worked(self, s, process):
        del self.own[s]
        self.go(process)

    def transfers(self, card, but=None):
        """What stages transfer over a card, but one."""
        return sum(x[0] for s, x in self.own.items() if self.cards[s] == card and s != but)

    def rates(self):
        out, into = {}, {}
        for f in self.flows:
            if f.port is not None:
                _, a, b = self.ports[f.port]
                out[a] = out.get(a, 0) + 1
                into[b] = into.get(b, 0) + 1
        for f in self.flows:
            if f.port is None:
                card = self.cards[f.stage]
                others = max(out.get(card, 0), into.get(card, 0)) + self.transfers(card, f.stage)
                yield 1 / (1 + self.own[f.stage][1] * others) if card >= 0 else 1
                continue
            _, a, b = self.ports[f.port]
            flows = [1]
            if a >= 0:
                flows.append(out[a] + self.transfers(a))
            if b >= 0:
                flows.append(into[b] + self.transfers(b))
            yield 1 / max(flows)

    def run(self, processes):
        for p in processes:
            self.go(p)
        while self.flows:
            rates = list(self.rates())
            step, k = min((f.left / rate, i) for i, (f, rate) in enumerate(zip(self.flows, rates)))
            self.now += step
            for f, rate in zip(self.flows, rates):
                f.left -= step * rate
            self.flows.pop(k).then()
        return not self.blocked


def stage_process(s, items):
    for i, item in enumerate(items):
        yield "work", s, item
        if item[1] >= 0:
            yield ("send" if item[2] else "receive"), item[1], item[3]
        yield "done", (s, i)


def by_events(ports, stages, cards):
    """None if stages wait for each other; else when each item ends, stage by stage."""
    e = Events(ports, cards)
    if not e.run([stage_process(s, items) for s, items in enumerate(stages)]):
        return None
    return [e.ended[s, i] for s, items in enumerate(stages) for i in range(len(items))]


def play(player, games):
    text = []
    for ports, stages, cards in games:
        n_cards = 1 + max([x for p in ports for x in p[1:]] + cards)
        text.append("game %d %d %d %s" % (len(stages), len(ports), n_cards, " ".join("%r %d %d" % x for x in ports)))
        for items, card in zip(stages, cards):
            text.append("stage %d %d %s" % (len(items), card, " ".join("%r %d %d %d %r %r" % x for x in items)))
    out = subprocess.run([player], input="\n".join(text), capture_output=True, text=True, check=True).stdout
    answers = [[float(x) for x in line.split()] for line in out.splitlines()]
    assert len(answers) == len(games)
    return [(a[1], a[2:]) if a[0] == 1 else None for a in answers]


def random_game(r):
    """Messages in the order of one list, so that all ends; of one in four some receives stand first."""
    n, n_ports = r.randint(1, 6), r.randint(1, 10)
    ends = [r.sample(range(n), 2) if n > 1 else None for _ in range(n_ports)]
    shared = n > 1 and r.random() < 0.7
    sent, taken = [0] * n_ports, [0] * n_ports
    stages = [[] for _ in range(n)]
    for _ in range(r.randint(0, 150)):
        p = r.randrange(n_ports)
        seconds = r.choice([0.0, r.random(), r.random() * 3])
        net = r.choice([0.0, r.randint(0, 8) / 8]) if shared else 0.0
        own = (net, net * r.randint(0, 4) / 4)
        if n == 1 or r.random() < 0.2:
            stages[r.randrange(n)].append((seconds, -1, 0, 0) + own)
        elif taken[p] < sent[p] and r.random() < 0.5:
            stages[ends[p][1]].append((seconds, p, 0, taken[p]) + own)
            taken[p] += 1
        else:
            stages[ends[p][0]].append((seconds, p, 1, sent[p]) + own)
            sent[p] += 1
    if r.random() < 0.25:  # each stage first waits for a message
        for items in stages:
            first = [i for i, x in enumerate(items) if x[1] >= 0 and not x[2] and x[3] == 0]
            if first:
                items.insert(0, items.pop(r.choice(first)))
    own = [r.choice([-1, s, r.randrange(n), n + s]) for s in range(n)]  # some on one card, or on one that ports have
    at = [r.choice([s, own[s], n + s]) for s in range(n)]
    ways = [(at[x[0]], at[x[1]]) if shared and r.random() < 0.8 else (-1, -1) for x in ends] if n > 1 else [(-1, -1)] * n_ports
    return [(r.choice([0.0, r.random() * 2]),) + x for x in ways], stages, own


def one_f_one_b(stages, links, micro, depth_times=1.0, end_seconds=None, shared=False):
    """stages: (forward, backward) seconds; links: of a message between neighbours; end_seconds: what either end of
    a message works for it besides. As a game."""
    n = len(stages)
    ends, alone = end_seconds or [0.0] * (n - 1), (0.0, 0.0)
    game = []
    for s, (forward, backward) in enumerate(stages):
        items = []

        def half(m, back):
            source = s + 1 if back else s - 1
            target = s - 1 if back else s + 1
            if 0 <= source < n:
                link = min(s, source)
                items.append((0.0, 2 * link + back, 0, m) + alone)
                items.append((ends[link], -1, 0, 0) + alone)
            items.append((backward if back else forward, -1, 0, 0) + alone)
            if 0 <= target < n:
                link = min(s, target)
                items.append((ends[link], 2 * link + back, 1, m) + alone)

        depth = min(micro, max(1, int(depth_times * (n - s))))
        back = 0
        for m in range(micro):
            half(m, 0)
            if m + 1 >= depth:
                half(back, 1)
                back += 1
        for m in range(back, micro):
            half(m, 1)
        game.append(items)
    ports = [x for s, sec in enumerate(links) for x in ((sec, s, s + 1), (sec, s + 1, s))]
    return [x if shared else (x[0], -1, -1) for x in ports], game, list(range(n))


def random_pipeline(r):
    n = r.randint(1, 8)
    stages = [(r.random(), 2 * r.random()) for _ in range(n)]
    links = [r.choice([0.0, r.random() / 2]) for _ in range(n - 1)]
    return one_f_one_b(stages, links, r.randint(1, 24), r.choice([1.0, 1.5, 3.0]), None, r.random() < 0.5)


def check_random(player, n):
    r = random.Random(20)
    games = [random_game(r) if k % 2 else random_pipeline(r) for k in range(n)]
    endless = 0
    for k, (game, got) in enumerate(zip(games, play(player, games))):
        want = by_events(*game)
        assert (want is None) == (got is None), "game %d: one of them ends" % k
        endless += want is None
        if want is None:
            continue
        assert len(want) == len(got[1])
        worst = max([abs(x - y) for x, y in zip(want, got[1])] + [abs(max(want + [0.0]) - got[0])])
        assert worst < 1e-9, "game %d: %g s apart" % (k, worst)
    assert endless > 0
    print("%d games, %d of them without an end: the same" % (n, endless))


# --- Sailor: OPT-350M, 24 blocks between embedding and head, sequences of 2048, micro-batches of 2, batch 256, fp32.

MICRO_BATCH, BATCH, SEQUENCE, HIDDEN, VOCABULARY, LAYERS = 2, 256, 2048, 1024, 50272, 26
SLOW, FAST = 0.115e9, 2.86e9  # bytes a second between nodes: of unlike GPUs, of RTX-2080 and Titan
# replicas of (GPU, tensor-parallel width, layers), measured seconds of a step
ROWS = [
    ("N2_D1", [[("RTX-3090", 2, 12), ("Titan-RTX", 2, 14)]], 119.84),
    ("N2_D2", [[("Titan-RTX", 2, 26)], [("RTX-3090", 2, 26)]], 91.78),
    ("N4_D1", [[("RTX-3090", 8, 5), ("RTX-2080", 8, 7), ("Titan-RTX", 8, 7), ("RTX-2080", 8, 7)]], 83.77),
    ("N4_D2", [[("RTX-3090", 8, 12), ("Titan-RTX", 8, 14)], [("RTX-2080", 8, 12), ("RTX-2080", 8, 14)]], 66.07),
    ("N4_D4", [[("RTX-3090", 8, 26)], [("RTX-2080", 8, 26)], [("Titan-RTX", 8, 26)], [("RTX-2080", 8, 26)]], 83.45),
]


def layer_seconds():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sailor_layers.csv")
    with open(path, encoding="utf-8") as f:
        rows = csv.DictReader(line for line in f if not line.startswith("#"))
        return {
            (x["gpu"], int(x["tp"]), x["layer_kind"]): [float(x[k]) / 1e3 for k in ("fwd_ms", "bwd_ms", "update_ms")]
            for x in rows
        }


def bandwidth(a, b):
    return SLOW if "RTX-3090" in (a, b) and a != b else FAST


def parameters(kinds):
    of = {"embed": (VOCABULARY + SEQUENCE) * HIDDEN, "block": 12 * HIDDEN * HIDDEN, "head": 0}
    return sum(of[k] for k in kinds)


def sailor_game(replica, layers, micro):
    kinds = ["embed"] + ["block"] * (LAYERS - 2) + ["head"]
    at, stages, updates, held = 0, [], [], []
    for gpu, width, n in replica:
        mine = kinds[at:at + n]
        at += n
        seconds = [sum(layers[gpu, width, k][i] for k in mine) for i in range(3)]
        stages.append((seconds[0], seconds[1]))
        updates.append(seconds[2])
        held.append(parameters(mine))
    message = 4.0 * MICRO_BATCH * SEQUENCE * HIDDEN
    between = [(a[0], b[0], message / bandwidth(a[0], b[0])) for a, b in zip(replica, replica[1:])]
    # Between unlike GPUs both ends of a message work for it; between like ones it is a message like any other.
    links = [0.0 if a != b else sec for a, b, sec in between]
    ends = [sec if a != b else 0.0 for a, b, sec in between]
    return one_f_one_b(stages, links, micro, 1.0, ends), updates, held


def check_sailor(player):
    layers, errors = layer_seconds(), []
    for name, replicas, measured in ROWS:
        micro = BATCH // MICRO_BATCH // len(replicas)
        plans = [sailor_game(x, layers, micro) for x in replicas]
        step = max(total for total, _ in play(player, [x[0] for x in plans]))
        for s in range(len(replicas[0])):  # gradients are summed over a ring of the replicas
            n = len(replicas)
            slowest = min(bandwidth(replicas[i][s][0], replicas[(i + 1) % n][s][0]) for i in range(n))
            sums = 2 * (n - 1) / n * 4 * plans[0][2][s] / slowest
            last = max(x[1][s] for x in plans)
            tail = sums + last if s == 0 else max(tail, sums + last)
        predicted = step + tail
        errors.append(abs(predicted / measured - 1))
        print("%s measured %6.2f s, predicted %6.2f s, %+5.1f %%" % (name, measured, predicted,
                                                                  100 * (predicted / measured - 1)))
    mean = sum(errors) / len(errors)
    print("mean error %.1f %%" % (100 * mean))
    assert mean <= 0.10


if __name__ == "__main__":
    if len(sys.argv) >= 3 and sys.argv[1] == "random":
        check_random(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1000)
    elif len(sys.argv) == 3 and sys.argv[1] == "sailor":
        check_sailor(sys.argv[2])
    else:
        sys.exit(__doc__)
