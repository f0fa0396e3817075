// What a run took beside what was predicted, as `hapc compare` left it in the page.
const SAME = 0.05; // a smaller share is no difference
const byLine = new Map((M ? M.calls : []).map(([name, , predicted, took]) => [+name.split(':')[1], {predicted, took}]));

const signed = (x, text) => (x < 0 ? '−' : '+') + text;
const change = (predicted, took) => {
    const share = Math.round(100 * Math.abs(took / predicted - 1));
    return !(predicted > 0) ? 'new' : share ? signed(took - predicted, share + '\xa0%') : '0\xa0%';
};

function differenceKind(line) {
    const x = byLine.get(line);
    if (!x || Math.abs(x.took - x.predicted) <= SAME * x.predicted) return 5;
    return x.took > x.predicted ? 4 : 0;
}

function differenceWords(line) {
    const x = byLine.get(line);
    return x ? `measured ${change(x.predicted, x.took)}` : 'not in the measured trace';
}

// Colours of the timeline: what was slower and faster than predicted.
function differencesButton(plain) {
    const other = legend([['exp', 'slower than predicted by more than 5\xa0%'], ['fwd', 'faster by more than 5\xa0%'], ['bar', 'within 5\xa0%, or not in the trace']]);
    const b = h('button', {'aria-pressed': 'false', onclick: () => {
        view.differs = !view.differs;
        b.setAttribute('aria-pressed', view.differs);
        (view.differs ? plain : other).replaceWith(view.differs ? other : plain);
        later();
    }}, 'Measured');
    return b;
}

const callWords = name => name.startsWith('coll_') ? name.slice(5).replaceAll('_', '-') : name.replace(/^(op|hap)_/, '');

function differenceTable(rows, head) {
    const most = Math.max(...rows.map(x => Math.max(x[2], x[3])));
    const bar = (x, colour) => h('i', {style: `display:block;height:5px;margin-top:2px;width:${100 * x / most}%;background:var(--${colour})`});
    return h('table', {}, h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, head), h('th', {scope: 'col', class: 'opt wide'}, ''),
        ...['predicted', 'measured', 'differs'].map(w => h('th', {scope: 'col', class: 'r'}, w)))),
    h('tbody', {}, rows.map(([name, what, predicted, took]) => h('tr', {},
        h('td', {class: 'name'}, callWords(name), what ? h('small', {}, what) : ''), h('td', {class: 'opt'}, bar(predicted, 'bar'), bar(took, 'fwd')),
        h('td', {class: 'r'}, ms(predicted)), h('td', {class: 'r'}, ms(took)),
        h('td', {class: 'r'}, signed(took - predicted, ms(Math.abs(took - predicted))), h('small', {}, change(predicted, took)))))));
}

function showMeasured() {
    const SHOWN = 8;
    const largest = M.kinds.slice(0, 3).map(([name, , p, m]) => `${callWords(name)} (${signed(m - p, ms(Math.abs(m - p)))})`);
    const holder = h('div', {}, differenceTable(M.kinds.slice(0, SHOWN), 'All calls of'));
    const rest = M.kinds.length > SHOWN ? h('button', {class: 'rest', onclick: () => {
        holder.replaceChildren(differenceTable(M.kinds, 'All calls of'));
        rest.remove();
    }}, `All ${whole(M.kinds.length)}`) : '';
    const calls = h('details', {class: 'more'}, h('summary', {}, 'By call of program.c'));
    calls.addEventListener('toggle', () => calls.children.length < 2 && calls.append(differenceTable(M.calls, 'Call, line')));
    section('measured', 'Measured beside predicted', [
        `A run of ${M.steps === 1 ? 'one step' : whole(M.steps) + ' steps'} on ${things(M.devices)} (${M.trace}) took ${ms(M.ms)} a step where ${ms(T)} were predicted: ${change(T, M.ms)}. `,
        h('b', {}, `Largest differences: ${largest.join(', ')}.`),
        ' Times are those of a step, on the average of the devices. Waits are left out. A traced step is launched call by call and can take longer than another.'],
    holder, rest, calls, legend([['bar', 'predicted'], ['fwd', 'measured']]));
}
