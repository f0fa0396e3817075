// Stages of a pipeline: who has which layers and why, what goes between them.
function stageRow(x, i) {
    const busy = x.busy_ms / T, halves = [x.forward_ms, x.backward_ms + x.weights_ms], slot = halves[0] + halves[1];
    return h('tr', {}, h('td', {}, h('b', {}, `${i}`), ' ', h('span', {class: 'name'}, x.w), h('small', {}, said(x.why))),
        h('td', {class: 'r opt'}, x.under_way),
        h('td', {class: 'r opt'}, slot ? ms(slot) : '', h('small', {}, slot ? `${ms(halves[0])} and ${ms(halves[1])}` : '')),
        h('td', {}, h('div', {class: 'tb'}, h('i', {style: `width:${100 * busy}%;background:var(--fwd)`}),
            h('i', {class: 'hatch', style: `width:${100 * Math.max(0, 1 - busy)}%;background:var(--wait)`})),
          h('small', {}, `${ms(x.busy_ms)}, waits ${percent(Math.max(0, 1 - busy))}`)),
        h('td', {class: 'r opt'}, percent(x.filled / x.capacity)));
}

function portTable() {
    const FIRST = 8;
    const rows = [...D.ports].sort((a, b) => b.waited_ms - a.waited_ms || b.ms - a.ms);
    const row = p => h('tr', {}, h('td', {}, `${p.from} to ${p.to}`), h('td', {}, h('span', {class: 'name'}, p.value)),
        h('td', {class: 'r opt'}, whole(p.n)), h('td', {class: 'r opt'}, bytes(p.bytes)),
        h('td', {class: 'r'}, ms(p.ms)), h('td', {class: 'r'}, ms(p.waited_ms)));
    const head = [['Stages', ''], ['Value', ''], ['Messages', 'r opt'], ['Bytes', 'r opt'], ['On their way', 'r'], ['Waited for', 'r']];
    const body = h('tbody', {}, rows.slice(0, FIRST).map(row)), rest = rows.slice(FIRST);
    return [h('h3', {}, term('port', 'Ports')), h('table', {}, h('thead', {}, h('tr', {}, head.map(([t, c]) => h('th', {scope: 'col', class: c}, t)))), body),
        rest.length ? h('button', {class: 'below', onclick: e => {
            e.target.remove();
            body.append(...rest.map(row));
        }}, `${rest.length} more, ${ms(rest.reduce((a, p) => a + p.waited_ms, 0))} waited for`) : ''];
}

function showStages() {
    const S = D.stages, pace = S.reduce((a, x, i) => x.busy_ms > S[a].busy_ms ? i : a, 0);
    const waits = S.reduce((a, x) => a + 1 - x.busy_ms / T, 0) / S.length;
    const head = [['Stage', ''], [term('under way', 'Under way'), 'r opt'], ['A micro-batch', 'r opt'], ['The step', 'wide'], ['Memory', 'r opt']];
    section('stages', 'The stages', [`Stage ${pace} sets the pace. On the average a stage waits ${percent(waits)} of the step: the `, term('bubble'), '.'],
        h('table', {}, h('thead', {}, h('tr', {}, head.map(([t, c]) => h('th', {scope: 'col', class: c}, t)))), h('tbody', {}, S.map(stageRow))),
        D.ports.length ? portTable() : '');
}
