#include "synth/space/pins.h"

#include <string.h>

#include "synth/plan/search_limits.h"

// One pin while it is read.
typedef struct reader {
    hb_arena *arena;
    const ir_graph *g;
    const ir_factors *f;
    const hb_source *src; // lives as long as the diagnostics
    hb_diag *d;
    size_t at; // where its state begins in the text
} reader;

static void wrong(const reader *r, size_t at, hb_str what)
{
    hb_error(r->d, r->src, (hb_pos){1, (int)at + 1}, "%.*s", HB_ARG(what));
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool parse_state(const reader *r, hb_str s, size_t at, syn_pin_state *p)
{
    p->dim = -1;
    if (hb_str_is(s, "R") || hb_str_is(s, "P")) {
        p->kind = s.p[0] == 'R' ? SYN_R : SYN_P;
        return true;
    }
    if (s.n < 4 || s.p[0] != 'S' || s.p[1] != '(' || s.p[s.n - 1] != ')') {
        wrong(r, at, HB_STR("a pin's state is R, P, S(letter) or S(dim)"));
        return false;
    }
    p->kind = SYN_S;
    p->letter = (hb_str){s.p + 2, s.n - 3};
    bool number = true;
    for (size_t i = 0; i < p->letter.n; i++)
        number = number && is_digit(p->letter.p[i]);
    if (!number) return true;
    p->dim = p->letter.n == 1 ? p->letter.p[0] - '0' : IR_MAX_RANK;
    p->letter.n = 0;
    return true;
}

// STATE, or STATE,STATE: of machines and inside them.
static bool parse(const reader *r, syn_pin *p)
{
    hb_str rest = {p->text.p + r->at, p->text.n - r->at};
    for (;;) {
        const char *comma = memchr(rest.p, ',', rest.n);
        hb_str one = {rest.p, comma ? (size_t)(comma - rest.p) : rest.n};
        size_t at = (size_t)(one.p - p->text.p);
        if (p->n == SYN_MAX_AXES) {
            wrong(r, at, HB_STR("a mesh has at most two axes: machines, devices"));
            return false;
        }
        if (!parse_state(r, one, at, &p->on[p->n++])) return false;
        if (!comma) return true;
        rest = (hb_str){comma + 1, rest.n - one.n - 1};
    }
}

// "h" is the letter of every layer's h, h2, h3, …
static bool letter_is(const ir_class *c, hb_str want)
{
    if (hb_str_is(want, c->letter)) return true;
    size_t n = strlen(c->letter);
    while (n > 1 && is_digit(c->letter[n - 1]))
        n--;
    return want.n == n && memcmp(want.p, c->letter, n) == 0;
}

static bool holds(const ir_factors *f, int tensor, int dim, int pos, const syn_pin_state *p)
{
    const ir_class *c = &f->cls[f->dim[tensor][dim].cls[pos]];
    return p->letter.n ? letter_is(c, p->letter) : p->dim == dim;
}

static uint64_t place(int dim, int pos)
{
    return (uint64_t)1 << (dim * IR_MAX_FACTORS + pos);
}

static bool is_so(const syn_pins *pins, int k, int i, int tensor, const syn_axis_state *x)
{
    if (x->kind != pins->pin[k].on[i].kind) return false;
    return x->kind != SYN_S ||
           (pins->places[k * SYN_MAX_AXES + i][tensor] & place(x->dim, x->pos)) != 0;
}

static bool allows(const syn_pins *pins, int k, int tensor, const syn_state *s, int n_axes)
{
    const syn_pin *p = &pins->pin[k];
    bool all = true, any = false, beside = true;
    if (p->n > n_axes) return false;
    for (int a = 0; a < n_axes; a++) {
        bool so = is_so(pins, k, p->n == 1 ? 0 : a, tensor, &s->ax[a]);
        all &= so;
        any |= so;
        beside &= so || s->ax[a].kind == SYN_R;
    }
    return p->n == 1 ? any && beside && (all || p->on[0].kind != SYN_R) : all;
}

static bool computed(const ir_tensor *t)
{
    return t->kind == IR_VALUE;
}

static bool is_float(ir_dtype t)
{
    return t == IR_F32 || t == IR_BF16 || t == IR_F16;
}

static hb_str letters_of(const reader *r, int tensor)
{
    hb_buf b = {.arena = r->arena};
    for (int d = 0; d < r->g->tensors.p[tensor].rank; d++)
        for (int p = 0; p < r->f->dim[tensor][d].n; p++) {
            const ir_class *c = &r->f->cls[r->f->dim[tensor][d].cls[p]];
            if (c->size > 1) hb_printf(&b, "%s%s", b.n ? ", " : "", c->letter);
        }
    return b.n ? hb_done(&b) : HB_STR("none");
}

// Why no cut of a factor class exists: its size, or an op that needs it whole.
static hb_str why_whole(const reader *r, int cls)
{
    if (r->f->cls[cls].size < 2) return HB_STR("it has one entry");
    for (int n = 0; n < r->g->nodes.n; n++)
        for (int k = 0; k < r->f->rule[n]->n_factors; k++)
            if (r->f->rule[n]->factor[k].cls == cls && r->f->rule[n]->factor[k].whole)
                return hb_fmt(r->arena, "%s of %.*s, or a view behind it, needs it whole",
                              ir_op_of(r->g->nodes.p[n].op)->name, HB_ARG(r->g->nodes.p[n].name));
    return HB_STR("views keep it whole");
}

// Has the tensor a state that the pin allows, under any strategy at all?
static bool possible(const reader *r, const syn_pin_state *p, size_t at, int t)
{
    const ir_tensor *ten = &r->g->tensors.p[t];
    size_t in = at + 2;
    if (p->kind == SYN_R) return true;
    if (p->kind == SYN_P) {
        if (computed(ten) && is_float(ten->dtype)) return true;
        wrong(r, at,
              hb_fmt(r->arena, "%.*s is never partial: it is %s", HB_ARG(ten->name),
                     computed(ten) ? "no float" : "not computed"));
        return false;
    }
    int found = -1;
    for (int d = 0; d < ten->rank; d++)
        for (int k = 0; k < r->f->dim[t][d].n; k++) {
            if (!holds(r->f, t, d, k, p)) continue;
            int c = r->f->dim[t][d].cls[k];
            if (!r->f->cls[c].whole && r->f->cls[c].size > 1) return true;
            found = c;
        }
    if (found >= 0)
        wrong(r, in,
              hb_fmt(r->arena, "%.*s cannot be cut there: %.*s", HB_ARG(ten->name),
                     HB_ARG(why_whole(r, found))));
    else if (p->letter.n)
        wrong(r, in,
              hb_fmt(r->arena, "%.*s has no factor '%.*s'; it has: %.*s", HB_ARG(ten->name),
                     HB_ARG(p->letter), HB_ARG(letters_of(r, t))));
    else
        wrong(r, in,
              hb_fmt(r->arena, "%.*s has %d dim%s", HB_ARG(ten->name), ten->rank,
                     ten->rank == 1 ? "" : "s"));
    return false;
}

// A name without a chunk's mark: fc1 of fc1#2, and fc1'dx of fc1#2'dx.
static hb_str without_chunk(hb_arena *a, hb_str name)
{
    const char *mark = memchr(name.p, '#', name.n);
    size_t from = mark ? (size_t)(mark - name.p) : name.n, to = from + 1;
    while (to < name.n && is_digit(name.p[to]))
        to++;
    if (to <= from + 1 || (to < name.n && name.p[to] != '\'')) return name;
    return hb_fmt(a, "%.*s%.*s", (int)from, name.p, (int)(name.n - to), name.p + to);
}

static bool named(hb_arena *a, hb_str pattern, hb_str name)
{
    if (!memchr(pattern.p, '#', pattern.n)) name = without_chunk(a, name); // then all chunks
    bool ours = memchr(name.p, '\'', name.n) && !memchr(pattern.p, '\'', pattern.n);
    return !ours && hb_glob(pattern, name);
}

// Moments and what an update leaves lie as their parameter.
static bool may_be_pinned(const ir_graph *g, const ir_tensor *t)
{
    bool updated = t->producer >= 0 && (ir_op_of(g->nodes.p[t->producer].op)->flags & IR_IN_PLACE);
    return t->kind != IR_STATE && !updated;
}

static bool matches(hb_arena *a, const ir_graph *g, hb_str pattern, int t)
{
    const ir_tensor *ten = &g->tensors.p[t];
    if (!may_be_pinned(g, ten)) return false;
    if (ten->producer < 0) return named(a, pattern, ten->name);
    const ir_node *n = &g->nodes.p[ten->producer];
    return named(a, pattern, ten->name) || named(a, pattern, n->name);
}

static void hint(const reader *r, hb_str name)
{
    const char **names = HB_ARRAY(r->arena, const char *, r->g->tensors.n + 1);
    int n = 0;
    for (int t = 0; t < r->g->tensors.n; t++)
        if (!may_be_pinned(r->g, &r->g->tensors.p[t]) && hb_str_eq(r->g->tensors.p[t].name, name)) {
            hb_hint(r->d, "it lies as the parameter that it updates or belongs to: pin that");
            return;
        }
    for (int t = 0; t < r->g->tensors.n; t++)
        if (may_be_pinned(r->g, &r->g->tensors.p[t]))
            names[n++] = hb_str_n(r->arena, r->g->tensors.p[t].name.p, r->g->tensors.p[t].name.n).p;
    const char *near = hb_nearest(name, names, n);
    if (near) hb_hint(r->d, "did you mean '%s'?", near);
}

static syn_pins *no_pins(hb_arena *a, int n, int n_tensors)
{
    syn_pins *p = HB_NEW(a, syn_pins);
    p->pin = HB_ARRAY(a, syn_pin, n + 1);
    p->of = HB_ARRAY(a, uint64_t, n_tensors + 1);
    p->places = HB_ARRAY(a, uint64_t *, (n + 1) * SYN_MAX_AXES);
    return p;
}

// Where pin number k of a tensor means its states.
static void set_places(const reader *r, syn_pins *pins, int k, int t)
{
    const syn_pin *p = &pins->pin[k];
    for (int i = 0; i < p->n; i++) {
        uint64_t **of = &pins->places[k * SYN_MAX_AXES + i];
        if (p->on[i].kind != SYN_S) continue;
        if (!*of) *of = HB_ARRAY(r->arena, uint64_t, r->g->tensors.n + 1);
        for (int d = 0; d < r->g->tensors.p[t].rank; d++)
            for (int pos = 0; pos < r->f->dim[t][d].n; pos++)
                if (holds(r->f, t, d, pos, &p->on[i])) (*of)[t] |= place(d, pos);
    }
}

syn_pins *syn_pins_read(hb_arena *a, const ir_graph *g, const ir_factors *f, const hb_str *text,
                        int n, hb_diag *d)
{
    syn_pins *out = no_pins(a, n, g->tensors.n);
    int before = hb_diag_count(d);
    for (int k = 0; k < n; k++) {
        hb_source *src = HB_NEW(a, hb_source);
        *src = (hb_source){HB_STR("--pin"), text[k]};
        reader r = {a, g, f, src, d, 0};
        syn_pin *p = &out->pin[out->n];
        if (k >= SYN_MAX_PINS) {
            wrong(&r, 0, hb_fmt(a, "not supported: more than %d pins", SYN_MAX_PINS));
            break;
        }
        size_t eq = text[k].n;
        while (eq > 0 && text[k].p[eq - 1] != '=')
            eq--;
        *p = (syn_pin){.text = text[k]};
        r.at = eq;
        if (eq < 2) {
            wrong(&r, 0, HB_STR("a pin is NAME=R, NAME=P, NAME=S(letter) or NAME=S(dim)"));
            continue;
        }
        p->name = (hb_str){text[k].p, eq - 1};
        if (!parse(&r, p)) continue;
        int found = 0;
        bool good = true;
        for (int t = 0; t < g->tensors.n && good; t++) {
            if (!matches(a, g, p->name, t)) continue;
            found++;
            for (int k2 = 0; k2 < p->n && good; k2++) // one error a pin
                good = possible(&r, &p->on[k2], r.at, t);
            out->of[t] |= (uint64_t)1 << out->n;
            set_places(&r, out, out->n, t);
        }
        if (found == 0) {
            wrong(&r, 0, hb_fmt(a, "no tensor and no op is called '%.*s'", HB_ARG(p->name)));
            hint(&r, p->name);
        }
        out->n++;
    }
    return hb_diag_count(d) == before ? out : NULL;
}

syn_pins *syn_pins_again(hb_arena *a, const syn_pins *p, const ir_graph *g, const ir_factors *f,
                         hb_diag *d)
{
    hb_str *text = HB_ARRAY(a, hb_str, p->n + 1);
    for (int k = 0; k < p->n; k++)
        text[k] = p->pin[k].text;
    return syn_pins_read(a, g, f, text, p->n, d);
}

// Entries of a dim before a factor of it, in its own order.
static int64_t outer_of(const ir_factors *f, int t, int dim, int pos)
{
    int64_t n = 1;
    for (int i = 0; i < pos; i++)
        n *= f->cls[f->dim[t][dim].cls[i]].size;
    return n;
}

static uint64_t places_in(uint64_t of, const ir_factors *whole_f, int w, int rank,
                          const ir_factors *f, int t)
{
    uint64_t out = 0;
    for (int d = 0; d < rank; d++)
        for (int pos = 0; pos < whole_f->dim[w][d].n; pos++)
            for (int i = 0; (of & place(d, pos)) && i < f->dim[t][d].n; i++)
                if (outer_of(f, t, d, i) == outer_of(whole_f, w, d, pos)) out |= place(d, i);
    return out;
}

syn_pins *syn_pins_part(hb_arena *a, const syn_pins *p, const ir_graph *whole,
                        const ir_factors *whole_f, const ir_graph *part, const ir_factors *part_f)
{
    syn_pins *out = no_pins(a, p->n, part->tensors.n);
    hb_map *named = hb_map_new(a);
    memcpy(out->pin, p->pin, sizeof *p->pin * (size_t)p->n);
    out->n = p->n;
    for (int k = 0; k < p->n * SYN_MAX_AXES; k++)
        if (p->places[k]) out->places[k] = HB_ARRAY(a, uint64_t, part->tensors.n + 1);
    for (int w = 0; w < whole->tensors.n; w++)
        if (p->of[w]) hb_map_put(named, whole->tensors.p[w].name, w);
    for (int t = 0; t < part->tensors.n; t++) {
        const ir_tensor *x = &part->tensors.p[t];
        int w = hb_map_get(named, x->name);
        if (w < 0) continue;
        out->of[t] = p->of[w];
        for (int k = 0; k < p->n * SYN_MAX_AXES; k++)
            if (p->places[k])
                out->places[k][t] = places_in(p->places[k][w], whole_f, w, x->rank, part_f, t);
    }
    return out;
}

bool syn_pins_same(const syn_pins *p, const syn_pins *q, int n_tensors)
{
    if (!p || !q) return p == q;
    size_t bytes = sizeof *p->of * (size_t)n_tensors;
    bool same = p->n == q->n && memcmp(p->of, q->of, bytes) == 0;
    for (int k = 0; k < p->n * SYN_MAX_AXES && same; k++)
        same = !p->places[k] || memcmp(p->places[k], q->places[k], bytes) == 0;
    return same;
}

bool syn_pinned(const syn_pins *p, int tensor)
{
    return p && p->of[tensor] != 0;
}

bool syn_pins_allow(const syn_pins *p, int tensor, const syn_state *x, int n_axes)
{
    for (int k = 0; p && k < p->n; k++)
        if ((p->of[tensor] >> k & 1) && !allows(p, k, tensor, x, n_axes)) return false;
    return true;
}

hb_str syn_pins_text(hb_arena *a, const syn_pins *p, int tensor)
{
    hb_buf b = {.arena = a};
    for (int k = 0; k < p->n; k++)
        if (tensor < 0 || (p->of[tensor] >> k & 1))
            hb_printf(&b, "%s--pin '%.*s'", b.n ? " and " : "", HB_ARG(p->pin[k].text));
    return hb_done(&b);
}
