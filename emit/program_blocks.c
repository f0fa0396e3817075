#include "emit/program_blocks.h"

#include <string.h>

typedef struct {
    hb_arena *a;
    const syn_program *p;
    pb_blocks *b;
    hb_map *used;
    const hb_str *names;
} finder;

// "transformer_h_3_ln_1" among the names of its family: parts that are numbers and differ are left
// out. full: "transformer_h_ln_1"; tail: what follows the first such number, "ln_1".
static void common_name(finder *f, const int *member, int n, hb_str *full, hb_str *tail)
{
    enum { PARTS = 32 };
    hb_str part[PARTS];
    bool varies[PARTS] = {false};
    int n_parts = 0;
    bool ok = true;
    for (int m = 0; m < n && ok; m++) {
        hb_str s = f->names[member[m]];
        int k = 0;
        size_t from = 0;
        for (size_t i = 0; i <= s.n; i++) {
            if (i < s.n && s.p[i] != '_') continue;
            hb_str piece = {s.p + from, i - from};
            from = i + 1;
            if (k == PARTS) {
                ok = false;
                break;
            }
            if (m == 0) {
                part[k] = piece;
            } else if (k >= n_parts) {
                ok = false;
                break;
            } else if (!hb_str_eq(part[k], piece)) {
                bool digits = piece.n > 0 && part[k].n > 0;
                for (size_t c = 0; c < piece.n; c++)
                    digits = digits && piece.p[c] >= '0' && piece.p[c] <= '9';
                ok = ok && digits;
                varies[k] = true;
            }
            k++;
        }
        if (m == 0) n_parts = k;
        ok = ok && k == n_parts;
    }
    hb_buf all = {.arena = f->a}, end = {.arena = f->a};
    if (ok) {
        bool behind = false;
        for (int k = 0; k < n_parts; k++) {
            if (varies[k]) {
                behind = true;
                continue;
            }
            hb_printf(&all, "%s%.*s", all.n ? "_" : "", HB_ARG(part[k]));
            if (behind) hb_printf(&end, "%s%.*s", end.n ? "_" : "", HB_ARG(part[k]));
        }
    }
    if (all.n == 0) { // names without a pattern: the last one's, behind its first number
        hb_str s = f->names[member[n - 1]];
        hb_puts(&all, s.p);
        for (size_t i = 0; i + 2 < s.n; i++)
            if (s.p[i] == '_' && s.p[i + 1] >= '0' && s.p[i + 1] <= '9') {
                size_t k = i + 1;
                while (k < s.n && s.p[k] >= '0' && s.p[k] <= '9')
                    k++;
                if (k < s.n && s.p[k] == '_') hb_puts(&end, s.p + k + 1);
                break;
            }
    }
    *full = emit_identifier(f->a, hb_done(&all));
    *tail = emit_identifier(f->a, end.n ? hb_done(&end) : hb_done(&all));
}

static hb_str key_of(hb_arena *a, bool event, const int *v, int n)
{
    hb_buf b = {.arena = a};
    hb_putc(&b, event ? 'e' : 't');
    for (int i = 0; i < n; i++)
        hb_printf(&b, " %d", v[i]);
    return hb_done(&b);
}

static int iteration(const pb_loop *l, int count, int entry)
{
    return l->dir > 0 ? entry : count - 1 - entry;
}

static int slot_tensor(const syn_instr *i, int slot)
{
    if (slot < i->n_out) return i->out[slot];
    if (slot < i->n_out + i->n_in) return i->in[slot - i->n_out];
    return i->scratch;
}

static int n_slots(const syn_instr *i)
{
    return i->n_out + i->n_in + (i->kind == SYN_START && i->scratch >= 0);
}

static int *slot_vector(hb_arena *a, const syn_program *p, const pb_blocks *b, int loop, int j,
                        int slot)
{
    const syn_loop *l = &p->loops.p[loop];
    int *v = HB_ARRAY(a, int, l->count);
    for (int e = 0; e < l->count; e++) {
        int it = iteration(&b->loop[loop], l->count, e);
        v[e] = slot_tensor(&p->instr.p[l->first + it * l->len + j], slot);
    }
    return v;
}

static void add_field(finder *f, pb_block *k, int *v)
{
    hb_str key = key_of(f->a, false, v, k->count);
    if (hb_map_get(k->by_key, key) >= 0) return;
    pb_field x = {.member = v, .family = f->p->tensors.p[v[0]].family, .events = -1};
    for (int e = 0; e < k->count && x.family >= 0; e++) {
        const syn_tensor *t = &f->p->tensors.p[v[e]];
        if (t->family != x.family) x.family = -1;
        if (e == 0) x.c = t->index;
        if (e == 1) x.d = t->index - x.c;
        if (t->index != x.c + x.d * e) x.family = -1;
    }
    if (x.family >= 0 && x.d != 1 && x.d != -1) x.family = -1;
    hb_str full, tail;
    bool same = true;
    for (int e = 1; e < k->count; e++)
        same = same && v[e] == v[0];
    common_name(f, v, same ? 1 : k->count, &full, &tail);
    x.name = emit_unique(f->a, k->names, same ? f->names[v[0]] : tail);
    hb_map_put(k->by_key, key, k->fields.n);
    HB_PUSH(f->a, &k->fields, x);
}

// A loop that meets the buffers of an earlier one in the opposite order runs backwards.
static int direction(finder *f, int loop)
{
    const syn_program *p = f->p;
    const syn_loop *l = &p->loops.p[loop];
    int *first = HB_ARRAY(f->a, int, p->tensors.n), *last = HB_ARRAY(f->a, int, p->tensors.n);
    for (int o = 0; o < loop;
         o++) { // iteration + 1 in which an earlier loop of this block uses a buffer
        const syn_loop *e = &p->loops.p[o];
        if (f->b->loop[o].block != f->b->loop[loop].block) continue;
        for (int it = 0; it < e->count; it++)
            for (int j = 0; j < e->len; j++) {
                const syn_instr *i = &p->instr.p[e->first + it * e->len + j];
                for (int s = 0; s < n_slots(i); s++) {
                    int t = slot_tensor(i, s);
                    int entry = iteration(&f->b->loop[o], e->count, it) + 1;
                    if (first[t] == 0 || entry < first[t]) first[t] = entry;
                    if (entry > last[t]) last[t] = entry;
                }
            }
    }
    int same = 0, opposite = 0;
    for (int it = 0; it < l->count; it++)
        for (int j = 0; j < l->len; j++) {
            const syn_instr *i = &p->instr.p[l->first + it * l->len + j];
            for (int s = 0; s < n_slots(i); s++) {
                int t = slot_tensor(i, s);
                if (first[t] == 0 || first[t] != last[t]) continue;
                same += first[t] == it + 1;
                opposite += first[t] == l->count - it;
            }
        }
    return opposite > same ? -1 : 1;
}

static void find_loops(finder *f)
{
    static const char *const phases[] = {"forward", "backward", "update"};
    const syn_program *p = f->p;
    pb_blocks *b = f->b;
    for (int i = 0; i < p->instr.n; i++)
        b->loop_of[i] = -1;
    for (int l = 0; l < p->loops.n; l++) {
        const syn_loop *lp = &p->loops.p[l];
        for (int i = 0; i < lp->len * lp->count; i++)
            b->loop_of[lp->first + i] = l;
        b->loop[l].block = -1;
        for (int k = 0; k < l && b->loop[l].block < 0; k++)
            if (hb_str_eq(p->loops.p[k].name, lp->name) && p->loops.p[k].count == lp->count)
                b->loop[l].block = b->loop[k].block;
        if (b->loop[l].block < 0) {
            pb_block k = {
                .count = lp->count, .by_key = hb_map_new(f->a), .names = hb_map_new(f->a)};
            k.name = emit_unique(
                f->a, f->used, emit_identifier(f->a, emit_without_root(emit_root(p->g), lp->name)));
            k.type = emit_unique(f->a, f->used, hb_fmt(f->a, "%.*s_block", HB_ARG(k.name)));
            b->loop[l].block = b->blocks.n;
            HB_PUSH(f->a, &b->blocks, k);
        }
        b->loop[l].dir = direction(f, l);
        ir_phase phase = p->g->nodes.p[p->instr.p[lp->first].node].phase;
        pb_block *k = &b->blocks.p[b->loop[l].block];
        b->loop[l].function =
            emit_unique(f->a, f->used, hb_fmt(f->a, "%.*s_%s", HB_ARG(k->name), phases[phase]));
        for (int j = 0; j < lp->len; j++)
            for (int s = 0; s < n_slots(&p->instr.p[lp->first + j]); s++)
                add_field(f, k, slot_vector(f->a, p, b, l, j, s));
    }
}

static void place_families(finder *f)
{
    const syn_program *p = f->p;
    pb_blocks *b = f->b;
    int *uses = HB_ARRAY(f->a, int, p->families.n + 1);
    for (int k = 0; k < b->blocks.n; k++)
        for (int i = 0; i < b->blocks.p[k].fields.n; i++) {
            const pb_field *x = &b->blocks.p[k].fields.p[i];
            bool *seen = HB_ARRAY(f->a, bool, p->families.n + 1);
            for (int e = 0; e < b->blocks.p[k].count; e++) {
                int fam = p->tensors.p[x->member[e]].family;
                if (fam >= 0 && !seen[fam]) uses[fam]++;
                if (fam >= 0) seen[fam] = true;
            }
            if (x->family >= 0) {
                b->family[x->family].block = k;
                b->family[x->family].field = i;
            }
        }
    for (int i = 0; i < p->families.n; i++) {
        pb_family *m = &b->family[i];
        hb_str full, tail;
        common_name(f, p->families.p[i].member, p->families.p[i].count, &full, &tail);
        m->name = emit_unique(f->a, f->used, full);
        m->place = PB_ARRAY;
        if (uses[i] != 1 || m->block < 0) continue;
        pb_block *k = &b->blocks.p[m->block];
        if (k->count != p->families.p[i].count) continue;
        m->place = PB_DIRECT;
        k->fields.p[m->field].direct = true;
    }
    for (int t = 0; t < p->tensors.n; t++) {
        const syn_tensor *s = &p->tensors.p[t];
        if (s->family < 0) {
            b->id[t] = f->names[t];
            continue;
        }
        const pb_family *m = &b->family[s->family];
        if (m->place == PB_ARRAY) {
            b->id[t] = hb_fmt(f->a, "%.*s[%d]", HB_ARG(m->name), s->index);
            continue;
        }
        const pb_block *k = &b->blocks.p[m->block];
        const pb_field *x = &k->fields.p[m->field];
        b->id[t] = hb_fmt(f->a, "%.*s[%d].%.*s", HB_ARG(k->name), (s->index - x->c) * x->d,
                          HB_ARG(x->name));
    }
}

// Events that cross from one repetition or function to another need a place of their own.
static void find_events(finder *f)
{
    const syn_program *p = f->p;
    pb_blocks *b = f->b;
    for (int i = 0; i < p->instr.n; i++)
        b->events_of[i] = -1;
    bool *crosses = HB_ARRAY(f->a, bool, p->instr.n + 1);
    for (int i = 0; i < p->instr.n; i++) {
        if (p->instr.p[i].kind != SYN_WAIT) continue;
        int s = p->instr.p[i].start, l = b->loop_of[i];
        bool local = l == b->loop_of[s];
        if (local && l >= 0) {
            const syn_loop *lp = &p->loops.p[l];
            local = (i - lp->first) / lp->len == (s - lp->first) / lp->len;
        }
        if (!local) crosses[s] = true;
    }
    for (int i = 0; i < p->instr.n; i++) { // all repetitions of a START alike
        int l = b->loop_of[i];
        if (!crosses[i] || l < 0) continue;
        const syn_loop *lp = &p->loops.p[l];
        for (int it = 0; it < lp->count; it++)
            crosses[lp->first + (i - lp->first) % lp->len + it * lp->len] = true;
    }
    for (int i = 0; i < p->instr.n; i++) {
        if (!crosses[i] || b->events_of[i] >= 0) continue;
        int l = b->loop_of[i];
        hb_str full, tail;
        pb_events ev = {.n = 1};
        if (l < 0) {
            ev.start = HB_ARRAY(f->a, int, 1);
            ev.start[0] = i;
            common_name(f, p->instr.p[i].out, 1, &full, &tail);
        } else {
            const syn_loop *lp = &p->loops.p[l];
            ev.n = lp->count;
            ev.start = HB_ARRAY(f->a, int, ev.n);
            int *out = HB_ARRAY(f->a, int, ev.n);
            for (int e = 0; e < ev.n; e++) {
                ev.start[e] = lp->first + (i - lp->first) % lp->len +
                              iteration(&b->loop[l], ev.n, e) * lp->len;
                out[e] = p->instr.p[ev.start[e]].out[0];
            }
            common_name(f, out, ev.n, &full, &tail);
        }
        ev.name = emit_unique(f->a, f->used, hb_fmt(f->a, "%.*s_ready", HB_ARG(full)));
        for (int e = 0; e < ev.n; e++)
            b->events_of[ev.start[e]] = b->events.n;
        HB_PUSH(f->a, &b->events, ev);
    }
    for (int l = 0; l < p->loops.n; l++) {
        const syn_loop *lp = &p->loops.p[l];
        pb_block *k = &b->blocks.p[b->loop[l].block];
        for (int j = 0; j < lp->len; j++) {
            const syn_instr *i = &p->instr.p[lp->first + j];
            if (i->kind != SYN_START && i->kind != SYN_WAIT) continue;
            int *v = HB_ARRAY(f->a, int, k->count);
            bool cross = false;
            for (int e = 0; e < k->count; e++) {
                int at = lp->first + j + iteration(&b->loop[l], k->count, e) * lp->len;
                v[e] = i->kind == SYN_START ? at : p->instr.p[at].start;
                cross = cross || b->events_of[v[e]] >= 0;
            }
            hb_str key = key_of(f->a, true, v, k->count);
            if (!cross || hb_map_get(k->by_key, key) >= 0) continue;
            hb_str full, tail;
            int *out = HB_ARRAY(f->a, int, k->count);
            for (int e = 0; e < k->count; e++)
                out[e] = p->instr.p[v[e]].out[0];
            common_name(f, out, k->count, &full, &tail);
            pb_field x = {.member = v, .event = true, .family = -1, .events = b->events_of[v[0]]};
            x.name = emit_unique(f->a, k->names, hb_fmt(f->a, "%.*s_ready", HB_ARG(tail)));
            hb_map_put(k->by_key, key, k->fields.n);
            HB_PUSH(f->a, &k->fields, x);
        }
    }
}

pb_blocks *pb_find(hb_arena *a, const syn_program *p, hb_map *used, const hb_str *names)
{
    pb_blocks *b = HB_NEW(a, pb_blocks);
    b->loop = HB_ARRAY(a, pb_loop, p->loops.n + 1);
    b->family = HB_ARRAY(a, pb_family, p->families.n + 1);
    for (int i = 0; i < p->families.n; i++)
        b->family[i].block = -1;
    b->events_of = HB_ARRAY(a, int, p->instr.n + 1);
    b->loop_of = HB_ARRAY(a, int, p->instr.n + 1);
    b->id = HB_ARRAY(a, hb_str, p->tensors.n + 1);
    finder f = {a, p, b, used, names};
    find_loops(&f);
    place_families(&f);
    find_events(&f);
    return b;
}

int pb_field_of(hb_arena *a, const syn_program *p, const pb_blocks *b, int loop, int j, int slot)
{
    const pb_block *k = &b->blocks.p[b->loop[loop].block];
    int *v = slot_vector(a, p, b, loop, j, slot);
    int at = hb_map_get(k->by_key, key_of(a, false, v, k->count));
    hb_assert(at >= 0);
    return at;
}

static int event_field(hb_arena *a, const syn_program *p, const pb_blocks *b, int loop, int j,
                       bool wait)
{
    const pb_block *k = &b->blocks.p[b->loop[loop].block];
    const syn_loop *lp = &p->loops.p[loop];
    int *v = HB_ARRAY(a, int, k->count);
    for (int e = 0; e < k->count; e++) {
        int at = lp->first + j + iteration(&b->loop[loop], k->count, e) * lp->len;
        v[e] = wait ? p->instr.p[at].start : at;
    }
    return hb_map_get(k->by_key, key_of(a, true, v, k->count));
}

int pb_wait_field(hb_arena *a, const syn_program *p, const pb_blocks *b, int loop, int j)
{
    return event_field(a, p, b, loop, j, true);
}

int pb_start_field(hb_arena *a, const syn_program *p, const pb_blocks *b, int loop, int j)
{
    return event_field(a, p, b, loop, j, false);
}
