// How the model is cut, module by module, and what is sent.
const KIND = {parameter: '', copy: ', as it is read', result: ''};
const timeOfModule = m => m.t[0] + m.t[1] + m.t[2] + m.e;

// Modules by the parts of their names: "transformer.h.*.mlp". "*" joins what stands before it.
function moduleTree() {
    const top = {n: '', kids: new Map(), t: [0, 0, 0], e: 0, tensors: [], blocks: 0};
    const at = path => {
        let m = top;
        for (const part of path.replace(/\.\*/g, '*').split('.')) {
            const name = part.replace(/\*/g, '.*');
            if (!m.kids.has(name)) m.kids.set(name, {n: name, kids: new Map(), t: [0, 0, 0], e: 0, tensors: [], blocks: 0});
            m = m.kids.get(name);
        }
        return m;
    };
    for (const m of D.modules) {
        const node = at(m.n);
        m.t.forEach((x, i) => node.t[i] += x);
        node.e += m.e;
        node.from = m.from;
        node.blocks = m.blocks;
    }
    for (const t of D.tensors) at(t.m).tensors.push(t);
    const add = m => {
        for (const k of m.kids.values()) {
            add(k);
            k.t.forEach((x, i) => m.t[i] += x);
            m.e += k.e;
            m.blocks = Math.max(m.blocks, k.blocks);
        }
    };
    add(top);
    return top;
}

// Ops that take next to no time and hold no parameter stand together.
const holdsParameter = m => m.tensors.some(t => t.kind === 'parameter') || [...m.kids.values()].some(holdsParameter);
function foldSmall(m) {
    const SMALL = 0.002, FEW = 3;
    const kids = [...m.kids.values()].map(foldSmall);
    const small = kids.length > FEW ? kids.filter(k => timeOfModule(k) < SMALL * T && !holdsParameter(k)) : [];
    m.list = kids.filter(k => !small.includes(k));
    if (small.length > 1)
        m.list.push({n: `${small.length} small ops`, list: [], tensors: [], kids: new Map(), blocks: 0,
                     t: [0, 1, 2].map(i => small.reduce((a, k) => a + k.t[i], 0)), e: small.reduce((a, k) => a + k.e, 0)});
    else m.list.push(...small);
    return m;
}

// A strip: side by side parts in proportion, one above the other what everyone holds.
function strip(pic) {
    const W = 210, MOST = 16, classes = C.map((_, i) => i).slice(0, 4);
    const e = svg('svg', {class: 'pic', viewBox: `0 0 ${W} 22`, preserveAspectRatio: 'none', 'aria-hidden': true});
    const put = (x, y, w, height, fill, opacity = 1) => e.append(svg('rect', {x, y, width: Math.max(0, w), height, fill, opacity}));
    if (pic.x) {
        const sum = pic.x.reduce((a, r) => a + r[1] * r[2], 0) || 1;
        let at = 0;
        for (const [c, entries, count] of pic.x)
            for (let i = 0, n = Math.min(count, count > MOST ? 1 : count); i < n; i++) {
                const w = W * entries * (count / n) / sum;
                if (w > 0) put(at, 2, w - (w > 3 ? 1.6 : 0.3), 18, c < 0 ? 'var(--t1)' : tint(c), pic.partial ? 0.5 : 1);
                at += w;
            }
        for (let i = 1; i < (pic.y || 1); i++) put(0, 2 + i * 18 / pic.y - 0.3, W, 0.7, 'var(--bg)');
        return e;
    }
    const rows = Math.min(4, Math.max(D.kept > 1 ? 2 : 1, C.length)), parts = pic.y || 1;
    for (let i = 0; i < rows; i++)
        for (let k = 0; k < parts; k++)
            put(W * k / parts, 2 + i * 18 / rows, W / parts - (parts > 1 ? 1.6 : 0), 18 / rows - 1, tint(C.length > 1 ? classes[i % C.length] : 0), pic.partial ? 0.35 : 1);
    return e;
}

const lines = words => words.split('; ').flatMap((w, i) => i ? [h('br'), w] : [w]);

function timeBar(m, most) {
    const parts = [...m.t, m.e];
    return h('div', {class: 'tb', role: 'img', 'aria-label': `forward ${ms(m.t[0])}, backward ${ms(m.t[1])}, update ${ms(m.t[2])}, waits for data ${ms(m.e)}`,
                     'data-t': `forward ${ms(m.t[0])}, backward ${ms(m.t[1])}, update ${ms(m.t[2])}, waits for data ${ms(m.e)}`},
        ['fwd', 'bwd', 'upd', 'exp'].map((k, i) => h('i', {style: `width:${100 * parts[i] / most}%;background:var(--${k})`})));
}

function tensorRow(t) {
    const each = t.bytes.map(b => b / t.count), least = Math.min(...each), most = Math.max(...each);
    const blocks = t.blocks && t.partly ? `, blocks ${t.blocks}` : '';
    return h('div', {class: 'leaf'}, h('div', {}, t.kind === 'result' ? h('span', {class: 'x'}, 'result ') : h('b', {}, t.n + ' '),
        h('span', {class: 'x'}, `${t.shape.map(whole).join(' × ') || 'a number'}${KIND[t.kind]}${blocks}`), h('div', {class: 'words'}, lines(t.w))),
        strip(t.pic), h('div', {class: 'time'}, least === most ? bytes(most) : `${bytes(least)} to ${bytes(most)}`, ' a device'));
}

const ORDER = {parameter: 0, copy: 1, result: 2};
function moduleNode(m, most) {
    const block = /^(.*)\.\*$/.exec(m.n), kids = m.list;
    const size = t => t.shape.reduce((a, b) => a * b, 1);
    const tensors = [...m.tensors].sort((a, b) => ORDER[a.kind] - ORDER[b.kind] || size(b) - size(a));
    for (const t of tensors) t.partly = tensors.some(o => o !== t && o.n === t.n && o.kind === t.kind);
    const main = tensors.find(t => t.kind === 'parameter' && /weight$/.test(t.n)) || tensors.find(t => t.kind === 'parameter');
    const head = [h('div', {class: 'nm'}, h('b', {}, block ? block[1] : m.n || D.model),
        block && m.blocks ? h('span', {class: 'x'}, ` × ${m.blocks} `, term('block', 'blocks')) : '', m.from && !kids.length ? h('span', {class: 'x'}, ' ' + m.from) : '',
        main ? h('div', {class: 'words'}, lines(main.w)) : ''),
        main ? strip(main.pic) : h('span', {class: 'pic none'}),
        h('div', {class: 'time tm'}, timeBar(m, most), h('span', {}, percent(timeOfModule(m) / T)))];
    if (!kids.length && !tensors.length) return h('div', {class: 'leaf op'}, head);
    const inner = h('details', {}, h('summary', {}, head));
    const hasBlock = k => /\.\*$/.test(k.n) || k.list.some(hasBlock);
    let full = false;
    const fill = () => {
        if (full) return;
        full = true;
        inner.append(h('div', {class: 'kids'}, tensors.map(tensorRow), kids.map(k => moduleNode(k, most))));
    };
    if (hasBlock(m)) {
        inner.open = true;
        fill();
    }
    inner.addEventListener('toggle', fill);
    return inner;
}

function showModel() {
    const NAMED = 0.12, SHADES = ['t1', 't2', 't3', 't4', 'bar', 'faint'];
    let top = foldSmall(moduleTree());
    while (top.list.length === 1 && !top.tensors.length) top = top.list[0];
    const roots = top.n && /\.\*$/.test(top.n) ? [top] : top.list;
    const most = Math.max(...roots.map(timeOfModule), 1e-12);
    const shares = D.shares.filter(s => s.share > 0.004).slice(0, 6);
    const words = s => s.w === 'repeated' ? 'not cut: repeated on every device' : s.w;
    section('tree', 'How the model is cut', ['A strip is a tensor from end to end. ', h('b', {}, 'Side by side: every device has a part. One above the other: every device has all of it.')],
        h('div', {class: 'small'}, `Computing time of ${C[D.busiest].name} by what it is cut by`),
        h('div', {class: 'stack by'}, shares.map((s, i) => h('i', {class: 's' + i, style: `flex:${s.share} 1 0;background:var(--${SHADES[i]})`, 'data-t': `${words(s)}: ${percent(s.share)}`},
            s.share > NAMED ? `${words(s)} ${percent(s.share)}` : ''))),
        h('div', {class: 'small rest'}, shares.filter(s => s.share <= NAMED).map(s => `${words(s)} ${percent(s.share)}`).join(', ')),
        C.length > 1 ? legend(C.map((c, i) => [tintOf(i), c.name])) : '',
        h('p', {class: 'small right'}, `time on ${PACE}, share of the step`),
        h('div', {class: 'tree'}, roots.map(m => moduleNode(m, most))));
}

// --- what is sent ---
function collectiveRow(c, most) {
    const blocks = c.blocks && c.n > 1 ? `, blocks ${c.blocks}` : '';
    const instead = c.instead_ms == null ? '' : c.instead_ms < 0 ? 'no plan' : c.instead_ms > 0 ? '+' + ms(c.instead_ms) : '0';
    return h('tr', {}, h('td', {}, GLOSSARY[c.w] ? term(c.w) : c.w, h('small', {}, c.among)),
        h('td', {}, h('span', {class: 'name'}, c.of), c.more ? ` and ${c.more} more` : '', h('small', {}, `${c.cargo}${c.n > 1 ? `, ${c.n} times` : ''}${blocks}`)),
        h('td', {class: 'r opt'}, bytes(c.bytes)),
        h('td', {}, h('div', {class: 'tb', 'data-t': `exposed ${ms(c.exposed_ms)}, hidden ${ms(c.ms - c.exposed_ms)}`},
            h('i', {style: `width:${100 * c.exposed_ms / most}%;background:var(--exp)`}), h('i', {style: `width:${100 * Math.max(0, c.ms - c.exposed_ms) / most}%;background:var(--hid)`})),
          h('small', {}, `${ms(c.exposed_ms)} of ${ms(c.ms)}`)),
        h('td', {class: 'r opt'}, instead));
}

function pairTable() {
    const head = ['Matrix multiply', 'Collective', 'Chunks', 'One after the other', 'Together'];
    return h('div', {}, h('h3', {}, term('overlapped pair', 'Overlapped pairs')), h('table', {},
        h('thead', {}, h('tr', {}, head.map((t, i) => h('th', {scope: 'col', class: i === 1 || i === 2 ? 'opt' + (i > 1 ? ' r' : '') : i > 1 && 'r'}, t)))),
        h('tbody', {}, D.pairs.map(p => h('tr', {}, h('td', {}, h('span', {class: 'name'}, p.op), p.more ? ` and ${p.more} more` : '', h('small', {}, p.n > 1 ? `${p.n} times` : '')),
            h('td', {class: 'opt'}, `${p.w}, ${p.form}`, h('small', {}, p.consumer ? 'read by the matmul' : 'of what the matmul makes')), h('td', {class: 'r opt'}, p.chunks, h('small', {}, p.tile)),
            h('td', {class: 'r'}, ms(p.sequential_ms)), h('td', {class: 'r'}, ms(p.ms), h('small', {}, `${ms(p.compute_ms)} and ${ms(p.transfer_ms)}${p.other_ms ? `; ${p.tile ? 'in chunks' : 'as tiles'} ${ms(p.other_ms)}` : ''}`)))))));
}

function showSending() {
    const FIRST = 8;
    const rows = [...D.colls].sort((a, b) => b.exposed_ms - a.exposed_ms || b.ms - a.ms);
    const all = rows.reduce((a, c) => a + c.ms, 0), exposed = rows.reduce((a, c) => a + c.exposed_ms, 0);
    const most = Math.max(...rows.map(c => c.ms), 1e-12);
    const priced = rows.some(c => c.instead_ms != null);
    const body = h('tbody', {}, rows.slice(0, FIRST).map(c => collectiveRow(c, most)));
    const lead = rows.length ? [`Sending takes ${ms(all)}; computing hides ${ms(all - exposed)} of it, and the step waits for ${ms(exposed)} (${percent(exposed / T)} of it). Sorted by what the step waits for.`] : 'Nothing is sent.';
    const rest = rows.slice(FIRST);
    section('sending', 'What is sent', lead, rows.length ? h('table', {}, h('thead', {}, h('tr', {},
        h('th', {scope: 'col'}, term('collective', 'Collective')), h('th', {scope: 'col'}, 'Of what'), h('th', {scope: 'col', class: 'r opt'}, 'Bytes'),
        h('th', {scope: 'col', class: 'wide'}, 'Exposed, of all'), h('th', {scope: 'col', class: 'r opt'}, priced ? term('without it', 'Without it') : ''))), body) : '',
        rest.length ? h('button', {class: 'below', onclick: e => {
            e.target.remove();
            body.append(...rest.map(c => collectiveRow(c, most)));
        }}, `${rest.length} more, ${ms(rest.reduce((a, c) => a + c.exposed_ms, 0))} exposed`) : '',
        D.pairs.length ? pairTable() : '');
}
