// Put at the end of a report.html by report_browser.sh: uses the page as a person would and leaves
// what is wrong in <pre id="result">, "OK" and figures if nothing is.
addEventListener('load', async () => {
    const wrong = [], all = s => [...document.querySelectorAll(s)], one = s => document.querySelector(s);
    const expect = (ok, words) => ok || wrong.push(words);
    const frame = () => new Promise(done => setTimeout(done, 50));
    const fire = (e, type, x, y, more = {}) => {
        const r = e.getBoundingClientRect();
        e.dispatchEvent(new PointerEvent(type, {clientX: r.left + x, clientY: r.top + y, pointerId: 1, bubbles: true, pointerType: 'mouse', ...more}));
    };
    const key = (e, k, more = {}) => e.dispatchEvent(new KeyboardEvent('keydown', {key: k, bubbles: true, cancelable: true, ...more}));
    try {
        HTMLElement.prototype.setPointerCapture = () => {};
        await frame();
        expect(window.hapcReady > 0, 'the page did not come to its end');
        const ids = all('section').map(s => s.id).join(' ');
        expect(ids === `alternatives ${D.stages ? 'stages ' : ''}cluster devices timeline ${M ? 'measured ' : ''}tree sending ${D.stages ? '' : 'memory '}help gloss`, `sections: ${ids}`);
        expect(!/undefined|NaN|\[object|Infinity/.test(app.innerText), `text: ${/.{30}(undefined|NaN|\[object|Infinity).{30}/.exec(app.innerText)}`);
        for (const c of C) expect(Math.abs(c.compute_ms + c.exposed_ms + c.waiting_ms - T) < 1e-3 * T, `${c.name}: times do not add up`);
        expect(!window.obeyed && !all('img').length, 'a name was obeyed');
        // hover, click
        const lane = tl.lanes[0], middle = lane.n >> 1, y = HEAD + LABEL + BAR / 2;
        fire(canvas, 'pointermove', xOf((lane.from[middle] + lane.to[middle]) / 2), y);
        expect(/ms|µs|s/.test(tip.textContent) && tip.className === 'on', 'hover shows nothing');
        fire(canvas, 'pointerdown', xOf((lane.from[middle] + lane.to[middle]) / 2), y);
        fire(canvas, 'pointerup', xOf((lane.from[middle] + lane.to[middle]) / 2), y);
        expect(/program\.c:\d+/.test(details.textContent), `a click keeps: ${details.textContent}`);
        // drag, wheel, keys, double click
        fire(canvas, 'pointerdown', 100, y);
        fire(canvas, 'pointermove', 200, y);
        fire(canvas, 'pointerup', 200, y);
        expect(view.to - view.from < 0.5 * T, 'a drag does not zoom');
        const before = view.to - view.from;
        canvas.dispatchEvent(new WheelEvent('wheel', {deltaY: -100, ctrlKey: true, cancelable: true, clientX: 300}));
        expect(view.to - view.from < before, 'the wheel does not zoom');
        const from = view.from;
        key(canvas, 'ArrowRight');
        expect(view.from > from, 'arrow keys do not move');
        canvas.dispatchEvent(new MouseEvent('dblclick'));
        expect(view.from === 0 && view.to === T, 'a double click does not show all');
        for (const b of all('#timeline .tools button')) b.click();
        show(0, T);
        // what a run took
        if (M) {
            const b = all('#timeline .tools button').find(x => x.textContent === 'Measured'), on = () => b.getAttribute('aria-pressed') === 'true';
            if (!on()) b.click(); // all buttons were pressed above
            await frame();
            expect(on() && one('#timeline .legend').textContent.includes('slower than predicted'), 'no colours of differences');
            const gelu = lane.row.findIndex(r => tl.ops[tl.op[r]] === 'gelu');
            expect(kindOf(lane, lane.row[gelu]) === 4, 'a slow call is not shown so');
            expect(/measured \+/.test(describe({lane, i: gelu, r: lane.row[gelu]}).map(x => x.textContent || x).join('')), 'a slow call does not say so');
            b.click();
            expect(!on() && one('#timeline .legend').textContent.includes('forward'), 'the colours stay');
            expect(/^Largest differences: .*gelu \(\+/m.test(one('#measured .lead').innerText.replace(/.*Largest/, 'Largest')), 'the lead does not name it');
            for (const x of all('#measured button')) x.click();
            expect(all('#measured tbody tr').length >= M.kinds.length, 'rows of kinds are missing');
        }
        // search
        search.value = tl.ops[tl.op[lane.row[middle]]];
        search.oninput();
        expect(view.hits.size > 0 && /calls: /.test(found.textContent), 'nothing is found');
        key(search, 'Enter');
        expect(/program\.c:\d+/.test(details.textContent) && view.to - view.from < T, 'Enter does not walk');
        search.value = '';
        search.oninput();
        show(0, T);
        // all of the tree, the table behind the canvas, more rows
        for (let n = 0; n < 6; n++) {
            for (const d of all('details')) d.open = true;
            await frame();
        }
        expect(all('.tree .leaf').length > 0 && all('.more table tr').length > 3, 'details stay empty');
        for (const b of all('#sending > button')) b.click();
        expect(all('#sending tbody tr').length >= D.colls.length, 'rows of collectives are missing');
        expect(!/undefined|NaN|\[object/.test(app.innerText), 'text of details');
        // hints by keyboard, colours
        for (const g of all('.g')) expect(g.tabIndex === 0 && GLOSSARY[g.dataset.g], `no meaning of ${g.dataset.g}`);
        all('.g')[0].dispatchEvent(new FocusEvent('focusin', {bubbles: true}));
        expect(tip.className === 'on', 'focus shows no hint');
        const ground = () => getComputedStyle(document.body).backgroundColor;
        const grounds = new Set();
        for (let i = 0; i < 3; i++) {
            themeButton.click();
            grounds.add(ground());
        }
        expect(grounds.size === 2, `colours: ${[...grounds]}`);
        expect(document.documentElement.scrollWidth <= innerWidth, `wider than ${innerWidth}: ${document.documentElement.scrollWidth}`);
        expect(all('canvas, svg[role=img]').every(e => e.getAttribute('aria-label')), 'a picture without words');
        const start = performance.now();
        draw();
        wrong.push(wrong.length ? '' : `OK ready after ${hapcReady.toFixed(0)} ms, drawn in ${(performance.now() - start).toFixed(0)} ms`);
    } catch (e) {
        wrong.push(e.stack);
    }
    const result = wrong.join('; ');
    document.body.append(h('pre', {id: 'result'}, result));
    parent.postMessage(result, '*');
});
