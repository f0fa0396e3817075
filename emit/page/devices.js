// The cluster, what each class of devices does, and its memory over the step.
const MEMORY = [['m0', 'parameters'], ['m1', 'optimizer'], ['m2', 'activations'], ['m3', 'gradients'],
                ['m4', 'sending, gaps, workspace']];
const used = c => c.arena + c.workspace;
const lineWidth = b => b ? Math.max(1.5, Math.min(9, 1.2 * Math.log10(b / 1e8) + 1.5)) : 1.5;

// Devices of one kind in a machine: a square each, or one square and their number.
function deviceKind(d, count, unit, fastest) {
    const MANY = 16; // squares
    const side = Math.max(10, unit * Math.sqrt((d.flops || fastest) / fastest));
    const fill = d.c < 0 ? 0 : used(C[d.c]) / C[d.c].memory;
    const state = d.c < 0 ? 'unused' : `memory ${percent(fill)} used`;
    const square = () => h('div', {class: 'dev', 'data-t': `${d.model}: ${rate(d.flops, 'FLOP/s')}, ${state}`,
        style: `width:${side}px;height:${side}px;border-color:${tint(d.c)}${d.c < 0 ? ';border-style:dashed' : ''}`},
        h('i', {style: `height:${100 * fill}%;background:${tint(d.c)}`}));
    const all = d.n * count;
    const share = d.c < 0 ? ['unused', d.with_ms > T ? `: ${ms(d.with_ms)} at best with it` : d.with_ms > 0 && d.with_ms < T * 0.9995 ? ': plans with it are hardly faster' : ': no plan with it is faster']
        : [`${percent(d.share)} of the `, term('share', D.repeated > 0.2 ? 'work that is cut' : 'work'),
           all > 1 ? `, ${percent(d.share / all)} each` : '', C[d.c].plan_only ? ', plan only' : ''];
    return h('div', {}, h('div', {class: 'devs', style: `min-height:${unit}px`}, Array.from({length: Math.min(d.n, MANY)}, square),
                          d.n > MANY ? `× ${whole(d.n)}` : ''),
        h('p', {}, h('b', {}, `${all > 1 ? whole(all) + ' × ' : ''}${d.model}`), `, ${rate(d.flops, 'FLOP/s')}`, h('br'), share));
}

function machineCard(m, unit, fastest) {
    const off = m.devices.every(d => d.c < 0);
    const n = m.devices.reduce((a, d) => a + d.n, 0);
    const inside = m.bandwidth && n > 1 ? [
        h('div', {class: 'inl', style: `border-top-width:${lineWidth(m.bandwidth)}px`}),
        h('p', {}, `${rate(m.bandwidth, 'B/s')} inside`)] : null;
    const several = D.machines.length > 1 || m.count > 1;
    const width = lineWidth(D.network.bandwidth);
    return h('div', {style: `flex-grow:${m.devices.length};max-width:${m.devices.length > 1 ? 'none' : '420px'}`,
                     class: `mach ${off ? 'off' : ''} ${m.count > 1 ? 'multi' : ''}`},
        h('div', {class: 'box'}, h('h3', {}, m.count > 1 ? m.name.replace(/\.\d+$/, '') : m.name, h('span', {}, m.count > 1 ? `× ${m.count}` : '')),
          h('div', {class: 'kinds'}, m.devices.map(d => deviceKind(d, m.count, unit, fastest))), inside),
        several ? [h('div', {class: 'stub', style: `width:${width}px`}), h('div', {class: 'bus', style: `border-top-width:${width}px`})] : null);
}

function showCluster() {
    const kinds = D.machines.flatMap(m => m.devices);
    const fastest = Math.max(...kinds.map(d => d.flops || 1));
    const unit = kinds.some(d => d.n > 4) ? 32 : 58;
    section('cluster', 'The cluster', ["A square's area is a device's speed, its filling the memory in use. Lines are links; thicker is faster. ",
        D.kept < D.all ? h('b', {}, `${things(D.all - D.kept)} of ${whole(D.all)} unused.`) : ''],
        h('div', {class: 'net'}, D.machines.map(m => machineCard(m, unit, fastest))),
        D.network.bandwidth ? h('div', {class: 'busl'}, `Network between machines: ${rate(D.network.bandwidth, 'B/s')} a machine and direction`) : null);
}

function deviceLead() {
    const pace = C[D.busiest];
    const idle = C.reduce((a, c) => c.waiting_ms > a.waiting_ms ? c : a);
    const full = C.reduce((a, c) => used(c) / c.capacity > used(a) / a.capacity ? c : a);
    const lead = [];
    if (C.length === 1) lead.push(`Each ${pace.name} computes for ${percent(pace.compute_ms / T)} of the step. `);
    else if (pace.exposed_ms > 0.5 * T) lead.push(`All devices wait for data most of the time: ${percent(pace.exposed_ms / T)} of the step. `);
    else lead.push(`The ${pace.name} computes most: ${percent(pace.compute_ms / T)} of the step. `);
    if (C.length > 1 && idle.waiting_ms > 0.01 * T) lead.push(`The ${idle.name} waits longest for others, ${percent(idle.waiting_ms / T)}. `);
    const filled = used(full) / full.capacity;
    lead.push(filled > 0.93 ? `Memory is nearly full on the ${full.name}: ${percent(filled)}.`
                            : `Memory does not bind: the fullest device, ${full.name}, uses ${percent(filled)}.`);
    return lead;
}

function deviceRow(c, most) {
    const time = [['fwd', c.phases_ms[0], 'forward'], ['bwd', c.phases_ms[1], 'backward'], ['upd', c.phases_ms[2], 'update'],
                  ['exp', c.exposed_ms, 'waits for data'], ['wait', c.waiting_ms, 'waits for others', 'hatch']];
    const mem = [...c.mem.slice(0, 4), c.mem[4] + c.gaps + c.workspace];
    const waits = (x, words) => x > 5e-4 * T && h('span', {}, h('b', {}, ms(x)), ' ', term(words));
    return h('div', {class: 'dv'},
        h('div', {class: 'n'}, h('b', {}, c.name), h('small', {}, things(c.n), c.plan_only ? ', plan only' : '')),
        h('div', {}, h('div', {class: 'stack'}, time.map(([colour, x, w, kind]) => piece(x / T, colour, `${w}: ${ms(x)} (${percent(x / T)})`, kind))),
          h('div', {class: 'cap'}, h('span', {}, h('b', {}, ms(c.compute_ms)), ' computes'), waits(c.exposed_ms, 'waits for data'), waits(c.waiting_ms, 'waits for others'))),
        h('div', {}, h('div', {class: 'stack', style: `width:${Math.max(14, 100 * c.memory / most)}%`},
            mem.map((x, i) => piece(x / c.memory, MEMORY[i][0], `${MEMORY[i][1]}: ${bytes(x)}`)), h('i', {style: 'flex:1'}),
            c.reserve ? piece(c.reserve / c.memory, 'wait', `reserve: ${bytes(c.reserve)}`, 'hatch') : null),
          h('div', {class: 'cap'}, h('span', {}, h('b', {}, bytes(used(c))), ` of ${bytes(c.capacity)} used (${percent(used(c) / c.capacity)})`))));
}

function showDevices() {
    const most = Math.max(...C.map(c => c.memory));
    section('devices', 'What each device does with the step', deviceLead(),
        h('div', {class: 'dv h'}, h('div'), h('div', {}, `Time; the whole bar is ${ms(T)}`), h('div', {}, 'Memory, to scale; the frame is what the device has')),
        C.map(c => deviceRow(c, most)),
        legend([['fwd', 'forward'], ['bwd', 'backward'], ['upd', 'update'], ['exp', 'waits for data'], ['wait', 'waits for others', 'hatch']]),
        legend([...MEMORY, ['wait', term('reserve'), 'hatch']]));
}

// Areas by kind, one on the other, over the step; the limit where it is near.
function memoryChart(c) {
    const w = 480, height = 150, n = c.curve.length, MIB = 2 ** 20;
    const sums = c.curve.map(b => b.reduce((a, q) => a + q, 0));
    const peak = Math.max(...sums), limit = c.capacity / MIB;
    const top = peak > 0.4 * limit ? limit : peak * 1.12;
    const x = i => (i / (n - 1) * w).toFixed(1), y = q => (height - q / top * height).toFixed(1);
    const e = svg('svg', {viewBox: `0 -4 ${w} ${height + 22}`, role: 'img',
                          'aria-label': `Memory of ${c.name} over the step: at most ${bytes(peak * MIB)} of ${bytes(c.capacity)}`});
    let base = new Array(n).fill(0);
    MEMORY.forEach(([colour], k) => {
        const up = base.map((b, i) => b + c.curve[i][k]);
        const points = [...up.map((q, i) => `${x(i)} ${y(q)}`), ...base.map((q, i) => `${x(i)} ${y(q)}`).reverse()];
        e.append(svg('path', {fill: `var(--${colour})`, d: 'M' + points.join('L') + 'Z'}));
        base = up;
    });
    if (top === limit) e.append(svg('line', {x1: 0, x2: w, y1: 0, y2: 0, stroke: 'var(--exp)', 'stroke-width': 2}));
    e.append(svg('circle', {cx: x(sums.indexOf(peak)), cy: y(peak), r: 3, fill: 'var(--ink)'}));
    for (const [phase, from, to] of D.tl.phases) {
        if ((to - from) / T < 0.12) continue;
        e.append(svg('line', {x1: from / T * w, x2: from / T * w, y1: height, y2: height + 5, stroke: 'var(--sub)'}),
                 svg('text', {x: from / T * w + 3, y: height + 15}, PHASES[phase]));
    }
    return h('div', {}, h('h3', {}, c.name, h('span', {class: 'x'}, ` at most ${bytes(peak * MIB)}, limit ${bytes(c.capacity)}${top === limit ? '' : ' (off the chart)'}`)), e);
}

function showMemory() {
    section('memory', 'Memory over the step', 'What each device holds while the step goes on: activations grow in the forward pass and go in the backward pass.',
        h('div', {class: 'mt'}, C.map(memoryChart)), legend([...MEMORY.slice(0, 4), ['m4', 'scratch of sending, inputs']]));
}
