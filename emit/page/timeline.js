// One step, moment by moment: a canvas with an overview, blocks, a lane a class and a lane an axis.
const tl = (() => {
    // Lists as packed_list.h writes them.
    const unpack = list => {
        const out = [], offset = list[0];
        for (let i = 1; i < list.length; i++) {
            if (list[i] >= 0) {
                out.push(list[i]);
                continue;
            }
            const distance = list[i + 1];
            for (let n = -list[i]; n > 0; n--) out.push(out[out.length - distance]);
            i++;
        }
        return offset ? out.map(v => v - offset) : out;
    };
    const raw = D.tl, t = {names: raw.names, ops: raw.ops, forms: raw.forms, blocks: raw.blocks, phases: raw.phases};
    for (const [to, from] of [['name', 'p'], ['layer', 'l'], ['op', 'o'], ['phase', 'f'], ['line', 's'], ['bytes', 'b'], ['exposed', 'e'], ['form', 'form']])
        t[to] = unpack(raw[from]);
    for (let i = 1; i < t.line.length; i++) t.line[i] += t.line[i - 1];
    t.lanes = raw.lanes.map(lane => {
        const step = unpack(lane.i), gap = unpack(lane.g), n = step.length;
        const row = new Int32Array(n), from = new Float64Array(n), to = new Float64Array(n);
        for (let i = 0, k = 0, at = 0; i < n; i++) {
            row[i] = k += step[i];
            from[i] = (at += gap[2 * i]) * raw.tick;
            to[i] = (at += gap[2 * i + 1]) * raw.tick;
        }
        const sends = lane.c == null;
        const label = lane.t ? lane.t : sends ? (D.mesh.length === 1 ? 'sending' : ['sending between machines', 'sending inside machines'][lane.a])
                            : C[lane.c].name + (C[lane.c].n > 1 ? ` (${whole(C[lane.c].n)} alike)` : '');
        return {n, row, from, to, sends, c: lane.c, label};
    });
    t.title = r => t.layer[r] < 0 ? t.names[t.name[r]] : t.names[t.name[r]].replace('.*', '.' + t.layer[r]);
    return t;
})();

const view = {from: 0, to: T, width: 600, hits: null, hit: -1, drag: null, pinned: null, active: false, differs: false, queued: 0};
const HEAD = 34, LABEL = 16, BAR = 24, GAP = 8, AXIS = 20, LANE = LABEL + BAR + GAP;
const HEIGHT = HEAD + tl.lanes.length * LANE + AXIS;
const KINDS = ['fwd', 'bwd', 'upd', 'hid', 'exp', 'bar'];
const canvas = h('canvas', {tabindex: 0, role: 'img', 'aria-label':
    `Timeline of one step, ${ms(T)}, ${tl.lanes.length} lanes. Arrow keys move, plus and minus zoom, 0 shows all. The table below has the same by op.`});
const pen = canvas.getContext('2d');
const details = h('div', {class: 'pin', 'aria-live': 'polite'}, 'Drag to zoom into a range; the wheel zooms with Ctrl, or after a click; double-click shows all. A click keeps the details of an op here.');
const found = h('output', {});
let colours = {};

const xOf = t => (t - view.from) / (view.to - view.from) * view.width;
const timeOf = x => view.from + x / view.width * (view.to - view.from);
const kindOf = (lane, r) => view.differs ? differenceKind(tl.line[r]) : lane.sends ? (tl.exposed[r] > 500 ? 4 : 3) : tl.phase[r];
// Ink that can be read on a kind's colour.
const inkOn = k => (k % 2 === 0) === (root.dataset.theme === 'dark') ? '#111' : '#fff';

// The first event of a lane that ends behind t.
function firstBehind(lane, t) {
    let low = 0, high = lane.n;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (lane.to[middle] < t) low = middle + 1;
        else high = middle;
    }
    return low;
}

function later() {
    if (!view.queued) view.queued = requestAnimationFrame(() => {
        view.queued = 0;
        draw();
    });
}

function show(from, to) {
    const width = Math.max(Math.min(to - from, T), T * 1e-6);
    view.from = Math.max(0, Math.min(from, T - width));
    view.to = view.from + width;
    later();
}

function zoom(factor, x) {
    const t = timeOf(x == null ? view.width / 2 : x), width = (view.to - view.from) * factor;
    const from = t - (t - view.from) * factor;
    show(from, from + width);
}

// --- drawing ---
function drawOverview() {
    const x = t => t / T * view.width;
    for (const [phase, from, to] of tl.phases) {
        if (x(to) - x(from) < 0.5) continue;
        pen.fillStyle = colours[KINDS[phase]];
        pen.fillRect(x(from), 0, Math.max(1, x(to) - x(from) - 1), 18);
        if (x(to) - x(from) < 60) continue;
        pen.fillStyle = inkOn(phase);
        pen.fillText(PHASES[phase], x(from) + 6, 9);
    }
    if (view.to - view.from > T * 0.999) return;
    pen.fillStyle = colours.bg;
    pen.globalAlpha = 0.6;
    pen.fillRect(0, 0, x(view.from), 18);
    pen.fillRect(x(view.to), 0, view.width, 18);
    pen.globalAlpha = 1;
    pen.strokeStyle = colours.ink;
    pen.lineWidth = 2;
    pen.strokeRect(x(view.from), 1, Math.max(3, x(view.to) - x(view.from)), 16);
}

// A strip of blocks: each named where there is room, else first and last.
function drawBlocks() {
    pen.font = '11px system-ui,sans-serif';
    let last = -99, named = 0;
    tl.blocks.forEach(([phase, name, from, to], i) => {
        const a = xOf(from), b = xOf(to);
        if (b < 0 || a > view.width) return;
        pen.fillStyle = i % 2 ? colours.faint : colours.line;
        pen.fillRect(a, 19, Math.max(0.5, b - a - 0.5), 11);
        const at = Math.max(a, 0) + 2, width = pen.measureText(name).width;
        if (b - a <= width + 3 || at <= last || at + width >= b) return;
        pen.fillStyle = colours.sub;
        pen.fillText(name, at, 25);
        last = at + width + 2;
        named |= 1 << phase;
    });
    for (const [phase, from, to] of tl.phases) {
        const own = tl.blocks.filter(b => b[0] === phase && b[2] >= from && b[3] <= to);
        if ((named >> phase) & 1 || own.length < 2) continue;
        const a = xOf(own[0][2]), b = xOf(own[own.length - 1][3]);
        const text = `${own[0][1]} to ${own[own.length - 1][1]}`, width = pen.measureText(text).width;
        if (b - a < width + 10 || a < -width || a > view.width) continue;
        pen.fillStyle = colours.bg;
        pen.fillRect(a + 2, 20, width + 8, 10);
        pen.fillStyle = colours.sub;
        pen.fillText(text, a + 6, 25);
    }
}

// Events of less than two pixels add up in columns: height the busy share, colour the largest kind.
function column(lane, y) {
    const sums = KINDS.map(() => 0), faded = KINDS.map(() => 0);
    let at = -1;
    const flush = () => {
        const bright = sums.reduce((a, b) => a + b, 0), all = bright + faded.reduce((a, b) => a + b, 0);
        if (at >= 0 && all > 0) {
            const share = Math.min(1, all / ((view.to - view.from) / view.width));
            const height = Math.max(4, BAR * (lane.sends ? Math.sqrt(share) : share));
            const of = bright > 0 ? sums : faded;
            pen.globalAlpha = bright > 0 ? 1 : 0.14;
            pen.fillStyle = colours[KINDS[of.indexOf(Math.max(...of))]];
            pen.fillRect(at, y + BAR - height, 1, height);
            pen.globalAlpha = 1;
        }
        sums.fill(0);
        faded.fill(0);
        at = -1;
    };
    const add = (x, kind, bright, took) => {
        if (Math.floor(x) !== at) flush();
        at = Math.floor(x);
        (bright ? sums : faded)[kind] += took;
    };
    return {flush, add};
}

function drawBox(lane, i, y, bright) {
    const r = lane.row[i], kind = kindOf(lane, r);
    const left = Math.max(xOf(lane.from[i]), -2), width = Math.min(xOf(lane.to[i]), view.width + 2) - left;
    pen.globalAlpha = bright ? 1 : 0.14;
    pen.fillStyle = colours[KINDS[kind]];
    pen.fillRect(left, y, Math.max(1, width - (width > 3 ? 0.6 : 0)), BAR);
    pen.globalAlpha = 1;
    if (width > 44 && bright) {
        const op = tl.ops[tl.op[r]], name = tl.title(r).split('.').slice(-3).join('.');
        pen.save();
        pen.beginPath();
        pen.rect(left, y, width - 2, BAR);
        pen.clip();
        pen.fillStyle = inkOn(kind);
        pen.font = '11px system-ui,sans-serif';
        pen.fillText(width > 150 ? `${op} · ${name}` : op, Math.max(left, 0) + 4, y + BAR / 2 + 0.5);
        pen.restore();
    }
    if (view.pinned && view.pinned.r === r) {
        pen.strokeStyle = colours.ink;
        pen.lineWidth = 2;
        pen.strokeRect(left + 1, y + 1, Math.max(2, width - 2), BAR - 2);
    }
}

function drawLane(lane, y) {
    pen.fillStyle = colours.sub;
    pen.font = '12px system-ui,sans-serif';
    pen.fillText(lane.label, 0, y + 8);
    y += LABEL;
    pen.fillStyle = colours.faint;
    pen.fillRect(0, y, view.width, BAR);
    const small = column(lane, y);
    for (let i = firstBehind(lane, view.from); i < lane.n && lane.from[i] < view.to; i++) {
        const a = xOf(lane.from[i]), b = xOf(lane.to[i]), r = lane.row[i];
        const bright = !view.hits || view.hits.has(r);
        if (b - a < 1.5) {
            small.add(a, kindOf(lane, r), bright, lane.to[i] - lane.from[i]);
            continue;
        }
        small.flush();
        drawBox(lane, i, y, bright);
    }
    small.flush();
}

function drawAxis(y) {
    const span = view.to - view.from, least = span / (view.width / 90);
    const unit = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map(k => k * unit).find(k => k >= least) || span;
    pen.fillStyle = colours.sub;
    pen.font = '11px system-ui,sans-serif';
    for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
        const text = view.to >= 1e3 ? +(t / 1e3).toPrecision(6) + ' s' : view.to >= 1 ? +t.toPrecision(6) + ' ms' : +(t * 1e3).toPrecision(6) + ' µs';
        const x = xOf(t), width = pen.measureText(text).width;
        pen.fillRect(x, y - 4, 1, 5);
        if (x + width < view.width) pen.fillText(text, x + (x > 1 ? -width / 2 : 0), y + 9);
    }
}

function draw() {
    const scale = devicePixelRatio || 1, style = getComputedStyle(root);
    view.width = canvas.clientWidth || 600;
    canvas.width = Math.round(view.width * scale);
    canvas.height = Math.round(HEIGHT * scale);
    canvas.style.height = HEIGHT + 'px';
    for (const k of [...KINDS, 'ink', 'sub', 'line', 'faint', 'bg']) colours[k] = style.getPropertyValue('--' + k).trim();
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, view.width, HEIGHT);
    pen.textBaseline = 'middle';
    pen.font = '12px system-ui,sans-serif';
    drawOverview();
    drawBlocks();
    tl.lanes.forEach((lane, i) => drawLane(lane, HEAD + i * LANE));
    drawAxis(HEAD + tl.lanes.length * LANE);
    if (!view.drag || view.drag.select == null) return;
    pen.fillStyle = colours.fwd;
    pen.globalAlpha = 0.18;
    pen.fillRect(Math.min(view.drag.x, view.drag.select), HEAD, Math.abs(view.drag.select - view.drag.x), HEIGHT - HEAD - AXIS);
    pen.globalAlpha = 1;
}

// --- what is under the pointer ---
function pick(x, y) {
    const lane = tl.lanes[Math.floor((y - HEAD) / LANE)];
    if (!lane || y < HEAD) return null;
    const t = timeOf(x), near = (view.to - view.from) / view.width * 3;
    let best = null, distance = near;
    for (let i = Math.max(0, firstBehind(lane, t) - 1), end = i + 3; i < end && i < lane.n; i++) {
        const d = Math.max(lane.from[i] - t, t - lane.to[i], 0);
        if (d < distance || (!best && d <= near)) {
            best = {lane, i, r: lane.row[i]};
            distance = d;
        }
    }
    return best;
}

function describe({lane, i, r}) {
    const took = lane.to[i] - lane.from[i];
    const words = [h('b', {}, tl.ops[tl.op[r]]), ' ', tl.title(r), h('br'), `${ms(took)} from ${ms(lane.from[i])}`];
    if (lane.sends) {
        const exposed = tl.exposed[r] / 1000;
        words.push(` · ${bytes(tl.bytes[r])} · ${exposed <= 0.005 ? 'hidden' : exposed >= 0.995 ? 'exposed' : percent(exposed) + ' exposed'} · ${D.stages && !tl.line[r] ? '' : 'form '}${tl.forms[tl.form[r]]}`);
    } else words.push(` on ${lane.label}`);
    words.push(` · ${PHASES[tl.phase[r]]}${tl.line[r] > 0 ? ` · program.c:${tl.line[r]}` : ''}`);
    if (M) words.push(` · ${differenceWords(tl.line[r])}`);
    return words;
}

function pin(event) {
    view.pinned = event;
    if (event) details.replaceChildren(...describe(event));
}

// --- pointer, wheel, keys ---
const touches = new Map();
const pointAt = e => {
    const r = canvas.getBoundingClientRect();
    return [e.clientX - r.left, e.clientY - r.top];
};

canvas.onpointerdown = e => {
    const [x, y] = pointAt(e);
    touches.set(e.pointerId, x);
    canvas.setPointerCapture(e.pointerId);
    const at = {from: view.from, to: view.to};
    if (touches.size === 2) view.drag = {...at, pinch: [...touches.values()]};
    else view.drag = {...at, x, y, overview: y < 20, pan: e.pointerType === 'touch' || e.shiftKey || y < 20};
};

function pinch(drag) {
    if (touches.size < 2) return;
    const [a, b] = [...touches.values()], [p, q] = drag.pinch, span = drag.to - drag.from;
    const factor = Math.abs(p - q) / Math.max(8, Math.abs(a - b)), middle = drag.from + (p + q) / 2 / view.width * span;
    const from = middle - (a + b) / 2 / view.width * span * factor;
    show(from, from + span * factor);
}

function dragTo(drag, x) {
    const span = drag.to - drag.from;
    if (Math.abs(x - drag.x) > 3) drag.moved = true;
    if (!drag.moved) return;
    hideTip();
    if (drag.overview && span < T * 0.999) {
        const t = x / view.width * T;
        show(t - span / 2, t + span / 2);
    } else if (drag.pan && !drag.overview) {
        const from = drag.from - (x - drag.x) / view.width * span;
        show(from, from + span);
    } else {
        drag.select = x;
        later();
    }
}

canvas.onpointermove = e => {
    const [x, y] = pointAt(e);
    if (touches.has(e.pointerId)) touches.set(e.pointerId, x);
    if (view.drag && view.drag.pinch) return pinch(view.drag);
    if (view.drag) return dragTo(view.drag, x);
    const event = pick(x, y);
    if (event) showTip(e.clientX, e.clientY, ...describe(event));
    else hideTip();
};

canvas.onpointerup = e => {
    const d = view.drag;
    touches.delete(e.pointerId);
    view.drag = null;
    if (!d) return;
    if (d.select != null && Math.abs(d.select - d.x) > 4) {
        const t = d.overview ? x => x / view.width * T : timeOf;
        show(t(Math.min(d.x, d.select)), t(Math.max(d.x, d.select)));
    } else if (!d.moved && !d.pinch) {
        view.active = true;
        pin(pick(d.x, d.y));
    }
    later();
};

canvas.onpointercancel = e => {
    touches.delete(e.pointerId);
    view.drag = null;
};

canvas.onpointerleave = () => {
    hideTip();
    view.active = false;
};

canvas.ondblclick = () => show(0, T);
// Without Ctrl or a click before, the page scrolls.
canvas.addEventListener('wheel', e => {
    const zooms = e.ctrlKey || e.metaKey || view.active, across = Math.abs(e.deltaX) > Math.abs(e.deltaY);
    if (!zooms && !across) return;
    e.preventDefault();
    const shift = e.deltaX / view.width * (view.to - view.from);
    if (zooms) zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 300))), pointAt(e)[0]);
    else show(view.from + shift, view.to + shift);
}, {passive: false});

canvas.onkeydown = e => {
    const step = (view.to - view.from) / 5;
    if (e.key === 'ArrowLeft') show(view.from - step, view.to - step);
    else if (e.key === 'ArrowRight') show(view.from + step, view.to + step);
    else if (e.key === '+' || e.key === '=') zoom(0.6);
    else if (e.key === '-') zoom(1 / 0.6);
    else if (e.key === '0' || e.key === 'Escape') show(0, T);
    else return;
    e.preventDefault();
};

// --- search ---
const search = h('input', {type: 'search', placeholder: 'Find a layer or op: mlp, attention, all-gather', 'aria-label': 'Find in the timeline'});
const counted = lane => lane.sends || C[lane.c].pace;

search.oninput = () => {
    const q = search.value.trim().toLowerCase();
    view.hit = -1;
    view.hits = null;
    found.textContent = '';
    if (q) {
        view.hits = new Set();
        for (let r = 0; r < tl.name.length; r++)
            if (tl.title(r).toLowerCase().includes(q) || tl.ops[tl.op[r]].toLowerCase().includes(q)) view.hits.add(r);
        const took = sends => tl.lanes.filter(l => counted(l) && l.sends === sends).reduce((sum, l) => {
            for (let i = 0; i < l.n; i++) if (view.hits.has(l.row[i])) sum += l.to[i] - l.from[i];
            return sum;
        }, 0);
        found.textContent = `${whole(view.hits.size)} calls: ${ms(took(false))} computing on ${PACE}, ${ms(took(true))} sending`;
    }
    later();
};

// Enter walks through what was found, Shift+Enter back.
search.onkeydown = e => {
    if (e.key !== 'Enter' || !view.hits || !view.hits.size) return;
    const all = [];
    for (const lane of tl.lanes.filter(counted))
        for (let i = 0; i < lane.n; i++) if (view.hits.has(lane.row[i])) all.push({lane, i, r: lane.row[i]});
    all.sort((a, b) => a.lane.from[a.i] - b.lane.from[b.i]);
    view.hit = (view.hit + (e.shiftKey ? all.length - 1 : 1)) % all.length;
    pin(all[view.hit]);
    const {lane, i} = all[view.hit], width = Math.max((lane.to[i] - lane.from[i]) * 12, T * 1e-5);
    show(lane.from[i] - width / 2, lane.from[i] + width / 2);
};

// The timeline as a table: time by op, for readers of text and for sums.
function opTable() {
    const rows = new Map();
    for (const lane of tl.lanes.filter(counted))
        for (let i = 0; i < lane.n; i++) {
            const r = lane.row[i], key = `${tl.ops[tl.op[r]]}|${tl.phase[r]}|${lane.sends}`;
            const row = rows.get(key) || {op: tl.ops[tl.op[r]], phase: tl.phase[r], sends: lane.sends, calls: 0, ms: 0, exposed: 0};
            row.calls++;
            row.ms += lane.to[i] - lane.from[i];
            row.exposed += lane.sends ? (lane.to[i] - lane.from[i]) * tl.exposed[r] / 1000 : 0;
            rows.set(key, row);
        }
    const head = ['Op', 'Phase', 'Calls', 'Time', 'Exposed'].map((t, i) => h('th', {scope: 'col', class: i > 1 && 'r'}, t));
    const body = [...rows.values()].sort((a, b) => b.ms - a.ms).map(r => h('tr', {}, h('td', {}, r.op), h('td', {}, PHASES[r.phase]),
        h('td', {class: 'r'}, whole(r.calls)), h('td', {class: 'r'}, ms(r.ms)), h('td', {class: 'r'}, r.sends ? ms(r.exposed) : '')));
    return h('table', {}, h('caption', {}, `Time by op: computing on ${PACE}, and sending`), h('thead', {}, h('tr', {}, head)), h('tbody', {}, body));
}

function showTimeline() {
    const button = (text, act, label) => h('button', {onclick: act, 'aria-label': label}, text);
    const phase = p => {
        const own = tl.phases.filter(q => q[0] === p);
        return own.length ? button(PHASES[p][0].toUpperCase() + PHASES[p].slice(1), () => show(own[0][1], own[0][2])) : '';
    };
    const block = tl.blocks.filter(b => b[0] === 0)[tl.blocks.filter(b => b[0] === 0).length >> 1];
    const plain = legend([['fwd', 'forward'], ['bwd', 'backward'], ['upd', 'update'], ['exp', 'sending, exposed'], ['hid', 'sending, hidden']]);
    const table = h('details', {class: 'more'}, h('summary', {}, 'The same as a table: time by op'));
    table.addEventListener('toggle', () => table.children.length < 2 && table.append(opTable()));
    section('timeline', 'One step, moment by moment', [D.stages ? 'A lane a class of devices, what they send below it; at the end the messages between stages. ' : 'Upper lanes compute, the lowest send. ', h('b', {}, 'Strong orange is sending that the step waits for; pale orange is hidden behind computing.')],
        h('div', {class: 'tools'}, search, button('+', () => zoom(0.5), 'zoom in'), button('−', () => zoom(2), 'zoom out'), button('All', () => show(0, T)),
          phase(0), phase(1), phase(2), block ? button('One block', () => show(block[2], block[3])) : '', M ? differencesButton(plain) : '', found),
        canvas, plain, details, table);
    redraw.push(draw);
    new ResizeObserver(later).observe(canvas);
}
