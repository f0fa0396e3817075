// The verdict, the alternatives, what would help, how far to trust it.
function showHead() {
    const facts = [`batch ${whole(D.batch)}`, D.precision];
    if (D.micro_batches > 1) facts.push([`${D.micro_batches} `, term('micro-batch', 'micro-batches')]);
    if (D.recomputed) facts.push([`${D.recomputed} blocks `, term('recomputed')]);
    facts.push(`plan by ${D.producer}`);
    const notes = [D.note];
    const stale = C.filter(c => c.plan_only).map(c => c.name);
    if (stale.length)
        notes.push(`This plan cannot run with the installed CUDA, which has no code for ${stale.join(', ')}. The times are for reading only.`);
    if (D.trust.emulated)
        notes.push('Devices or hosts are emulated on other hardware: memory and links keep their real speed.');
    app.replaceChildren(
        h('header', {}, h('div', {}, h('h1', {}, `${D.model} on ${D.cluster}`),
            h('p', {}, facts.map((f, i) => [i ? ', ' : '', f]))), themeButton),
        h('div', {class: 'big'}, h('strong', {}, ms(T)),
          h('span', {}, term('predicted'), ' time of one training step')),
        h('div', {class: 'verdict'}, ['What was decided', 'What it brings', 'What limits it'].map(
            (title, i) => h('div', {}, h('h2', {}, title), h('p', {}, said(D.verdict[i]))))),
        ...notes.filter(Boolean).map(n => h('p', {class: 'warn'}, said(n))));
}

// A bar as long as its time; the plan's own shows what the busiest class does.
function alternativeRow(a, most) {
    const own = a.id === 'this';
    const c = C[D.busiest];
    const parts = own && [['fwd', c.compute_ms, 'computes'], ['exp', c.exposed_ms, 'waits for data'],
                          ['wait', c.waiting_ms, 'waits for others', 'hatch']]
        .map(([colour, x, w, kind]) => piece(x / T, colour, `${c.name} ${w}: ${ms(x)}`, kind));
    const bar = a.ms == null ? h('em', {class: 'why'}, a.why) : [
        h('i', {style: `width:calc((100% - 165px)*${Math.min(1, a.ms / most)})`}, parts),
        a.ms > most ? '»' : '', h('b', {}, ms(a.ms)), !own && h('em', {}, times(a.ms / T))];
    const name = GLOSSARY[a.name.replace(/,.*/, '')] ? term(a.name.replace(/,.*/, ''), a.name) : a.name;
    const kind = own ? 'this' : a.id === 'bound' ? 'bound' : a.kept && D.kept < D.all ? 'kept' : '';
    return h('div', {class: 'alt ' + kind},
             h('div', {class: 'n'}, name, h('small', {}, a.where)), h('div', {class: 'track'}, bar));
}

function showAlternatives() {
    const CLIP = 12; // a bar is at most so many times the plan's
    const timed = D.alternatives.filter(a => a.ms != null);
    const most = Math.min(CLIP * T, Math.max(T, ...timed.map(a => a.ms)));
    const own = {id: 'this', name: 'This plan', ms: T,
                 where: D.kept < D.all ? `on ${whole(D.kept)} of ${things(D.all)}` : `on ${D.all > 1 ? 'all ' : ''}${things(D.all)}`};
    const rows = [own, ...D.alternatives];
    if (D.lower_ms != null)
        rows.push({id: 'bound', name: 'lower bound', ms: D.lower_ms, where: 'no plan can be below, even if sending were free'});
    const lead = [timed.length ? 'The same step done in other ways, by the same simulator. '
                               : 'No simple alternative has a time for a model of this size. '];
    if (D.kept < D.all && timed.some(a => a.kept))
        lead.push(h('b', {}, `Blue: on the ${things(D.kept)} that this plan uses, or on fewer. Grey: on all ${whole(D.all)}.`));
    section('alternatives', 'Against the alternatives', lead, rows.map(a => alternativeRow(a, most)),
            legend([['fwd', `${C[D.busiest].name} computes`], ['exp', 'waits for data'],
                    ...(C[D.busiest].waiting_ms > 0.003 * T ? [['wait', 'waits for others', 'hatch']] : [])]));
}

function helpColumn() {
    const NOTHING = 2e-4; // of the step
    const all = [...D.what_if].sort((a, b) => b.ms - a.ms);
    const shown = all.filter((q, i) => q.ms > NOTHING * T || i === 0);
    const rest = all.filter(q => !shown.includes(q));
    const most = Math.max(...all.map(q => q.ms), 1e-9);
    return h('div', {}, h('h2', {}, 'What would help'),
        h('p', {class: 'lead'}, all.length ? 'Time that 10\xa0% more of one thing saves, the plan staying as it is.'
                                           : D.stages ? 'Not worked out for plans of stages.' : 'Not worked out for a model of this size.'),
        shown.map(q => h('div', {class: 'wi'}, h('div', {}, q.name), h('div', {class: 'track'},
            h('i', {style: `width:calc((100% - 130px)*${q.ms / most})`}), h('b', {}, ms(q.ms)),
            h('em', {}, percent(q.ms / T))))),
        rest.length ? h('p', {class: 'small'}, `Nothing, or under 0.02\xa0%: ${rest.map(q => q.name).join(', ')}.`) : null,
        D.asked.length ? askedTable() : null);
}

// --what-if: planned again with one thing changed.
function askedTable() {
    const row = (name, x, cut) => h('tr', {}, h('td', {}, h('span', {class: 'name'}, name), cut ? h('small', {}, cut) : ''),
        x.ms == null ? h('td', {colspan: 3}, 'no plan: ' + x.why)
                     : [h('td', {class: 'r'}, ms(x.ms), h('small', {}, x.ms === T ? '' : times(x.ms / T))),
                        h('td', {class: 'r opt'}, `${whole(x.devices)} of ${whole(x.of)}`), h('td', {class: 'r opt'}, percent(x.filled))]);
    const filled = Math.max(...C.map(c => (c.arena + c.workspace) / c.capacity));
    return h('div', {}, h('h3', {}, 'What if, planned again'), h('table', {},
        h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, 'Changed'), h('th', {scope: 'col', class: 'r'}, 'A step'),
          h('th', {scope: 'col', class: 'r opt'}, 'Devices'), h('th', {scope: 'col', class: 'r opt'}, 'Memory'))),
        h('tbody', {}, row('as it is', {ms: T, devices: D.kept, of: D.all, filled}), D.asked.map(x => row(x.change, x, x.cut)))));
}

function trustColumn() {
    const t = D.trust;
    const entry = (good, title, words) =>
        [h('dt', {}, h('span', {class: 'dot' + (good ? '' : ' w'), role: 'img', 'aria-label': good ? 'good' : 'caution'}), title),
         h('dd', {}, words)];
    const list = [
        t.times === 'measured' ? entry(true, 'Times are measured', 'Ops and collectives were measured on these devices (hapc profile).')
        : t.times === 'mixed' ? entry(false, 'Most times are measured', t.said)
        : entry(false, 'Times are estimates from datasheets', 'Nothing was measured on this cluster. Compare plans with each other; expect other absolute times. hapc profile measures the cluster.'),
        entry(!t.proof, ['The program has its ', term('certificate')], `${t.proof || 'program.c computes exactly the step of the model.'} hapc check proves it again after an edit.`)];
    if (M)
        list.unshift(entry(Math.abs(M.ms / T - 1) < 0.05, `A run was measured: ${change(T, M.ms)}`,
            `A traced step took ${ms(M.ms)}. What differs stands under “Measured beside predicted”.`));
    const gap = t.additive_bound_ms > 0 && t.additive_ms != null ? t.additive_ms / t.additive_bound_ms - 1 : null;
    if (gap != null)
        list.push(entry(gap < 0.005, ['Search: ', gap > 1e-6 ? ['a ', term('gap'), ' of ', percent(gap)] : ['no ', term('gap')]],
            `With the same cuts, and costs added up without overlap, no plan is ${gap > 1e-6 ? `more than ${percent(gap)} ` : ''}cheaper than the best that was found. That sum is no predicted time. ${t.open}`));
    if (D.lower_ms != null)
        list.push(entry(T / D.lower_ms < 1.2, [term('lower bound', 'Lower bound'), `: ${ms(D.lower_ms)}`],
            `No plan of this model on this cluster can be faster, even if sending were free. This one takes ${times(T / D.lower_ms)} that.`));
    return h('div', {id: 'trust'}, h('h2', {}, 'How far to trust this'), h('dl', {class: 'trust'}, list));
}

function showEnd() {
    app.append(h('section', {id: 'help', class: 'two'}, helpColumn(), trustColumn()),
        h('section', {id: 'gloss'}, h('details', {class: 'gl', id: 'words'}, h('summary', {}, h('h2', {}, 'Words used here')),
            h('dl', {}, Object.entries(GLOSSARY).map(([k, v]) => [h('dt', {}, k), h('dd', {}, v)])))),
        h('footer', {}, h('code', {}, D.command), h('br'),
          `graph ${D.graph}. In the same folder: program.c (what runs), plan.json (all of this as data), report.txt (as text), trace.json (the timeline, for ui.perfetto.dev).`));
}
