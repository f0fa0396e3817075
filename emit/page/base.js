'use strict';
// What all parts of the page use: the data, elements, numbers in words, hints, colours.
const D = JSON.parse(document.getElementById('data').textContent);
const M = JSON.parse(document.getElementById('measured').textContent); // of hapc compare, else null
const app = document.getElementById('app');
const root = document.documentElement;
const C = D.classes;
const T = D.ms;
// Whose computing the sums by op and module are of.
const PACE = D.stages ? "each stage's busiest devices" : C[D.busiest].name;
const PHASES = ['forward', 'backward', 'update'];
const redraw = []; // what is drawn with colours, again when they change

// An element: attributes, on… handlers, then children; null and false are left out.
function h(tag, attributes, ...children) {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(attributes || {})) {
        if (v == null || v === false) continue;
        if (k.startsWith('on')) e[k] = v;
        else if (k === 'style') e.style.cssText = v;
        else e.setAttribute(k, v === true ? '' : v);
    }
    for (const c of children.flat(9)) if (c != null && c !== false) e.append(c);
    return e;
}

function svg(tag, attributes, ...children) {
    const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    e.append(...children);
    return e;
}

// Three significant figures, no exponent.
function figures(x, n = 3) {
    if (!x) return '0';
    const d = Math.max(0, Math.min(9, n - 1 - Math.floor(Math.log10(Math.abs(x)) + 1e-9)));
    return x.toLocaleString('en-US', {minimumFractionDigits: d, maximumFractionDigits: d});
}

const whole = n => n.toLocaleString('en-US');

function ms(x) {
    if (Math.abs(x) >= 999.5) return figures(x / 1e3) + '\xa0s';
    if (Math.abs(x) >= 0.9995 || !x) return figures(x) + '\xa0ms';
    return figures(x * 1e3) + '\xa0µs';
}

function percent(x) {
    x *= 100;
    return (x <= 0 ? '0' : x < 0.1 ? '<0.1' : x.toFixed(x < 9.95 ? 1 : 0)) + '\xa0%';
}

function bytes(b) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
    let u = 0;
    for (; b >= 1024 && u < 5; u++) b /= 1024;
    return (u ? figures(b) : Math.round(b)) + '\xa0' + units[u];
}

function rate(v, unit) {
    for (const [prefix, k] of [['P', 1e15], ['T', 1e12], ['G', 1e9], ['M', 1e6]])
        if (v >= k) return figures(v / k) + '\xa0' + prefix + unit;
    return figures(v) + '\xa0' + unit;
}

const times = x => (x < 1.995 ? x.toFixed(2) : x < 19.95 ? x.toFixed(1) : x.toFixed(0)) + '\xa0×';
const things = (n, word = D.device) => whole(n) + '\xa0' + word + (n === 1 ? '' : 's');
// Sentences come with plain spaces: a number and its unit stay together.
const said = s => s.replace(/(\d) (%|(?:ms|us|s|x|[KMGTP]?i?B|GPUs?|devices?)\b)/g, '$1\xa0$2')
    .replace(/(\d\xa0)us/g, '$1µs').replace(/(\d\xa0)x /g, '$1×\xa0');

// --- hints: a word of the glossary, or a value, on hover, focus and tap ---
const term = (key, words) => h('span', {class: 'g', tabindex: 0, 'data-g': key}, words || key);
const tip = h('div', {id: 'tip', role: 'tooltip'});

function showTip(x, y, ...content) {
    tip.replaceChildren(...content);
    tip.className = 'on';
    const r = tip.getBoundingClientRect();
    tip.style.left = Math.max(6, Math.min(innerWidth - r.width - 6, x + 12)) + 'px';
    tip.style.top = (y + r.height + 24 > innerHeight ? y - r.height - 12 : y + 16) + 'px';
}

function hideTip() {
    tip.className = '';
}

function hint(event) {
    const t = event.target.closest && event.target.closest('[data-g],[data-t]');
    if (!t) return hideTip();
    const r = t.getBoundingClientRect();
    showTip(r.left - 12, r.bottom - 8, t.dataset.t || GLOSSARY[t.dataset.g] || '');
}

addEventListener('mouseover', e => e.target.tagName !== 'CANVAS' && hint(e));
addEventListener('focusin', hint);
addEventListener('focusout', hideTip);
addEventListener('scroll', hideTip, {passive: true});
addEventListener('click', e => e.target.closest && e.target.closest('[data-g],[data-t]') && hint(e));
addEventListener('keydown', e => e.key === 'Escape' && hideTip());

// --- building blocks ---
function section(id, title, lead, ...content) {
    app.append(h('section', {id, 'aria-labelledby': id + '-h'}, h('h2', {id: id + '-h'}, title),
                 lead && h('p', {class: 'lead'}, lead), ...content));
}

const legend = entries => h('div', {class: 'legend'}, entries.map(([colour, words, kind]) =>
    h('span', {}, h('i', {style: `background:var(--${colour})`, class: kind}), words)));

// A share of a bar.
const piece = (share, colour, words, kind) =>
    h('i', {style: `flex:0 0 ${100 * share}%;background:var(--${colour})`, class: kind, 'data-t': words});

// Devices by speed: the fastest is darkest.
const tints = C.map((_, i) => i).sort((a, b) => C[b].flops - C[a].flops);
const tintOf = c => c < 0 ? 'line' : 't' + (C.length < 2 ? 0 : Math.round(tints.indexOf(c) / (C.length - 1) * 4));
const tint = c => `var(--${tintOf(c)})`;

// --- colours ---
const modes = ['auto', 'light', 'dark'];
let mode = 'auto';
let printing = false;
try {
    mode = localStorage.getItem('hapc-theme') || 'auto';
} catch (e) { /* a file without storage: as the system has it */ }
const dark = matchMedia('(prefers-color-scheme: dark)');
const themeButton = h('button', {id: 'theme', onclick: () => {
    mode = modes[(modes.indexOf(mode) + 1) % 3];
    try {
        localStorage.setItem('hapc-theme', mode);
    } catch (e) { /* forgotten when the page is closed */ }
    theme();
}});

function theme() {
    const name = mode === 'auto' ? (dark.matches ? 'dark' : 'light') : mode;
    root.dataset.theme = printing ? 'light' : name;
    themeButton.textContent = 'Colours: ' + mode;
    for (const f of redraw) f();
}

function print(on) {
    printing = on;
    document.getElementById('words').open = on;
    theme();
}

dark.addEventListener('change', theme);
matchMedia('print').addEventListener('change', e => print(e.matches));
addEventListener('beforeprint', () => print(true));
addEventListener('afterprint', () => print(false));
