#include "emit/program_blocks.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    hb_arena *a;
    const syn_program *p;
    pb_blocks *b;
    hb_map *used;
    const hb_str *names;
    int *holders; // by buffer: in how many fields
} finder;

static bool digits(hb_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9') return false;
    return s.n > 0;
}

// "transformer_h_3_ln_1" among the names of its family: parts that are numbers and differ are left
// out. full: "transformer_h_ln_1"; tail: what follows the first such number, "ln_1". False: the
// names have no such pattern.
static bool common_name(finder *f, const int *member, int n, hb_str *full, hb_str *tail)
{
    enum { PARTS = 32 };
    hb_str part[PARTS];
    bool varies[PARTS] = {false};
    int n_parts = 0;
    for (int m = 0; m < n; m++) {
        hb_str s = f->names[member[m]];
        int k = 0;
        size_t from = 0;
        for (size_t i = 0; i <= s.n; i++) {
            if (i < s.n && s.p[i] != '_') continue;
            hb_str piece = {s.p + from, i - from};
            from = i + 1;
            if (k == PARTS || (m > 0 && k >= n_parts)) return false;
            if (m == 0) {
                part[k] = piece;
            } else if (!hb_str_eq(part[k], piece)) {
                if (!digits(piece) || !digits(part[k])) return false;
                varies[k] = true;
            }
            k++;
        }
        if (m == 0) n_parts = k;
        if (k != n_parts) return false;
    }
    hb_buf all = {.arena = f->a}, end = {.arena = f->a};
    bool behind = false;
    for (int k = 0; k < n_parts; k++) {
        if (varies[k]) {
            behind = true;
            continue;
        }
        hb_printf(&all, "%s%.*s", all.n ? "_" : "", HB_ARG(part[k]));
        if (behind) hb_printf(&end, "%s%.*s", end.n ? "_" : "", HB_ARG(part[k]));
    }
    if (all.n == 0) return false;
    *full = emit_identifier(f->a, hb_done(&all));
    *tail = emit_identifier(f->a, end.n ? hb_done(&end) : hb_done(&all));
    return true;
}

// The same of the most of them that agree: all, all but the first or the last, or one.
static void name_of(finder *f, const int *member, int n, hb_str *full, hb_str *tail)
{
    if (common_name(f, member, n, full, tail)) return;
    if (n > 2 && common_name(f, member + 1, n - 1, full, tail)) return;
    if (n > 2 && common_name(f, member, n - 1, full, tail)) return;
    const int last[2] = {member[n - 1], member[n - 1]};
    bool named = common_name(f, last, 2, full, tail);
    hb_assert(named);
    hb_str s = *full; // behind its first number
    for (size_t i = 0; i + 2 < s.n; i++) {
        if (s.p[i] != '_' || s.p[i + 1] < '0' || s.p[i + 1] > '9') continue;
        size_t k = i + 1;
        while (k < s.n && s.p[k] >= '0' && s.p[k] <= '9')
            k++;
        if (k < s.n && s.p[k] == '_')
            *tail = emit_identifier(f->a, (hb_str){s.p + k + 1, s.n - k - 1});
        return;
    }
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

static int instr_at(const syn_program *p, const pb_blocks *b, int loop, int j, int entry)
{
    const syn_loop *l = &p->loops.p[loop];
    const pb_loop *x = &b->loop[loop];
    return l->first + (entry - x->first) * x->dir * l->len + j;
}

static bool covers(const syn_program *p, const pb_blocks *b, int loop, int entry)
{
    int it = (entry - b->loop[loop].first) * b->loop[loop].dir;
    return it >= 0 && it < p->loops.p[loop].count;
}

// By entry: what a slot of a loop's body is, -1 where the loop does not go.
static int *slot_vector(hb_arena *a, const syn_program *p, const pb_blocks *b, int loop, int j,
                        int slot)
{
    const pb_block *k = &b->blocks.p[b->loop[loop].block];
    int *v = HB_ARRAY(a, int, k->count);
    for (int e = 0; e < k->count; e++)
        v[e] =
            covers(p, b, loop, e) ? slot_tensor(&p->instr.p[instr_at(p, b, loop, j, e)], slot) : -1;
    return v;
}

static bool constant(const int *v, int n)
{
    int first = -1;
    for (int e = 0; e < n; e++) {
        if (v[e] < 0) continue;
        if (first >= 0 && v[e] != first) return false;
        first = v[e];
    }
    return true;
}

// --- loops and blocks

static int layer_number(hb_str name, hb_str layers)
{
    if (layers.n == 0 || name.n < layers.n + 2 || memcmp(name.p, layers.p, layers.n) != 0 ||
        name.p[layers.n] != '.')
        return -1;
    int n = -1;
    for (size_t i = layers.n + 1;
         i < name.n && i < layers.n + 7 && name.p[i] >= '0' && name.p[i] <= '9'; i++)
        n = (n < 0 ? 0 : n * 10) + (name.p[i] - '0');
    return n;
}

// The layer that most calls of one repetition belong to, -1 none.
static int layer_of(const syn_program *p, const syn_loop *l, int it)
{
    int best = -1, most = 0;
    for (int j = 0; j < l->len; j++) {
        int n = layer_number(p->g->nodes.p[p->instr.p[l->first + it * l->len + j].node].name,
                             l->name),
            votes = 0;
        for (int k = 0; n >= 0 && k < l->len; k++)
            votes += layer_number(p->g->nodes.p[p->instr.p[l->first + it * l->len + k].node].name,
                                  l->name) == n;
        if (votes > most) {
            best = n;
            most = votes;
        }
    }
    return best;
}

// Do the layers of a loop have numbers, one after the other?
static bool numbered(const syn_program *p, const syn_loop *l, int *first, int *dir)
{
    *first = layer_of(p, l, 0);
    *dir = layer_of(p, l, 1) - *first;
    if (*first < 0 || (*dir != 1 && *dir != -1)) return false;
    for (int it = 2; it < l->count; it++)
        if (layer_of(p, l, it) != *first + *dir * it) return false;
    return *first + *dir * (l->count - 1) >= 0;
}

static int block_of(finder *f, hb_str name, hb_str layers, int count)
{
    pb_blocks *b = f->b;
    for (int k = 0; k < b->blocks.n; k++) {
        pb_block *x = &b->blocks.p[k];
        if (!hb_str_eq(x->layers, layers) || (layers.n == 0 && x->count != count)) continue;
        if (count > x->count) x->count = count;
        return k;
    }
    pb_block k = {.count = count, .layers = layers, .names = hb_map_new(f->a)};
    k.name = emit_unique(f->a, f->used, emit_identifier(f->a, name));
    k.type = emit_unique(f->a, f->used, hb_fmt(f->a, "%.*s_block", HB_ARG(k.name)));
    HB_PUSH(f->a, &b->blocks, k);
    return b->blocks.n - 1;
}

static void find_loops(finder *f)
{
    const syn_program *p = f->p;
    pb_blocks *b = f->b;
    for (int l = 0; l < p->loops.n; l++) {
        const syn_loop *lp = &p->loops.p[l];
        pb_loop *x = &b->loop[l];
        hb_str layers = lp->name;
        int last = lp->count - 1;
        if (numbered(p, lp, &x->first, &x->dir)) {
            last = x->first + x->dir * last > x->first ? x->first + x->dir * last : x->first;
        } else {
            layers = (hb_str){0};
            x->dir = lp->dir < 0 ? -1 : 1;
            x->first = x->dir > 0 ? 0 : last;
        }
        x->block = block_of(f, emit_without_root(emit_root(p->g), lp->name), layers, last + 1);
    }
}

ir_phase pb_phase(const syn_program *p, int first, int end)
{
    int i = first;
    while (i + 1 < end && p->instr.p[i].kind == SYN_WAIT)
        i++;
    return p->g->nodes.p[p->instr.p[i].node].phase;
}

// What the loops of a block do in each phase is a function of its name: h_forward. A second one
// of a phase is called after what it does.
static void name_functions(finder *f)
{
    static const char *const phases[] = {"forward", "backward", "update"};
    const syn_program *p = f->p;
    for (int l = 0; l < p->loops.n; l++) {
        const syn_loop *lp = &p->loops.p[l];
        ir_phase phase = pb_phase(p, lp->first, lp->first + lp->len);
        const char *word = phases[phase];
        int sums = 0, updates = 0, waits = 0;
        for (int j = 0; j < lp->len; j++) {
            const syn_instr *in = &p->instr.p[lp->first + j];
            waits += in->kind == SYN_WAIT;
            if (in->kind != SYN_OP) continue;
            sums += p->g->nodes.p[in->node].op == IR_OP_sumsq;
            updates += (ir_op_of(p->g->nodes.p[in->node].op)->flags & IR_IN_PLACE) != 0;
        }
        if (phase == IR_UPDATE && sums > 0 && updates == 0) word = "norm";
        if (p->instr.p[lp->first].turn == IR_SLOT_WEIGHTS) word = "weights";
        if (waits == lp->len) word = "wait";
        f->b->loop[l].function = emit_unique(
            f->a, f->used,
            hb_fmt(f->a, "%.*s_%s", HB_ARG(f->b->blocks.p[f->b->loop[l].block].name), word));
    }
}

// --- fields

static bool agree(const int *a, const int *b, int n)
{
    bool meet = false;
    for (int e = 0; e < n; e++) {
        if (a[e] < 0 || b[e] < 0) continue;
        if (a[e] != b[e]) return false;
        meet = true;
    }
    return meet;
}

// The field that holds a vector, -1. Looked for among those that hold its first buffer there.
static int find_field(const pb_block *k, const int *v)
{
    for (int i = 0; i < k->fields.n; i++)
        if (agree(k->fields.p[i].member, v, k->count)) return i;
    return -1;
}

static bool holds(const pb_field *x, const int *v, int n)
{
    for (int e = 0; e < n; e++)
        if (v[e] >= 0 && x->member[e] != v[e]) return false;
    return true;
}

static void add_field(finder *f, pb_block *k, int *v)
{
    if (constant(v, k->count)) return;
    int at = find_field(k, v);
    if (at >= 0) {
        for (int e = 0; e < k->count; e++)
            if (v[e] >= 0) k->fields.p[at].member[e] = v[e];
        return;
    }
    pb_field x = {.member = v};
    HB_PUSH(f->a, &k->fields, x);
}

static int present(const pb_field *x, int count, int *member)
{
    int n = 0;
    for (int e = 0; e < count; e++)
        if (x->member[e] >= 0) member[n++] = x->member[e];
    return n;
}

static void find_fields(finder *f)
{
    const syn_program *p = f->p;
    pb_blocks *b = f->b;
    for (int l = 0; l < p->loops.n; l++)
        for (int j = 0; j < p->loops.p[l].len; j++)
            for (int s = 0; s < n_slots(&p->instr.p[p->loops.p[l].first + j]); s++)
                add_field(f, &b->blocks.p[b->loop[l].block], slot_vector(f->a, p, b, l, j, s));
    for (int k = 0; k < b->blocks.n; k++) {
        pb_block *x = &b->blocks.p[k];
        int *member = HB_ARRAY(f->a, int, x->count);
        for (int i = 0; i < x->fields.n; i++) {
            hb_str full;
            int n = present(&x->fields.p[i], x->count, member);
            name_of(f, member, n, &full, &x->fields.p[i].name);
            for (int e = 0; e < n; e++)
                f->holders[member[e]]++;
        }
    }
}

// A field owns its buffers if nobody else holds them and each family among them stands whole and
// in order.
static bool owns(const finder *f, const pb_block *k, const pb_field *x)
{
    for (int e = 0; e < k->count; e++) {
        if (x->member[e] < 0) continue;
        const syn_tensor *t = &f->p->tensors.p[x->member[e]];
        if (f->holders[x->member[e]] != 1) return false;
        if (t->family < 0) continue;
        const syn_family *y = &f->p->families.p[t->family];
        int first = e - t->index;
        if (first < 0 || first + y->count > k->count) return false;
        for (int m = 0; m < y->count; m++)
            if (x->member[first + m] != y->member[m]) return false;
    }
    return true;
}

// Layer 11 stands outside of a loop over the others: what it has of their kind is of its block.
static void take_singles(finder *f, pb_block *k)
{
    const syn_program *p = f->p;
    hb_str before = emit_without_root(emit_root(p->g), k->layers);
    hb_map *field = hb_map_new(f->a);
    for (int i = 0; i < k->fields.n; i++)
        if (k->fields.p[i].owned) hb_map_put(field, k->fields.p[i].name, i);
    for (int t = 0; t < p->tensors.n && k->layers.n > 0; t++) {
        if (p->tensors.p[t].family >= 0 || f->holders[t] > 0) continue;
        hb_str head = emit_identifier(f->a, before), s = f->names[t];
        size_t at = head.n + 1;
        if (s.n < at + 2 || memcmp(s.p, head.p, head.n) != 0 || s.p[head.n] != '_') continue;
        int layer = 0;
        size_t from = at;
        for (; at < s.n && at < from + 6 && s.p[at] >= '0' && s.p[at] <= '9'; at++)
            layer = 10 * layer + (s.p[at] - '0');
        if (at == from || at + 1 >= s.n || s.p[at] != '_' || layer >= k->count) continue;
        int i = hb_map_get(field, (hb_str){s.p + at + 1, s.n - at - 1});
        if (i < 0 || k->fields.p[i].member[layer] >= 0) continue;
        k->fields.p[i].member[layer] = t;
        f->holders[t] = 1;
    }
}

static void own_fields(finder *f)
{
    const syn_program *p = f->p;
    pb_blocks *b = f->b;
    for (int t = 0; t < p->tensors.n; t++)
        b->id[t] = f->names[t];
    for (int i = 0; i < p->families.n; i++) { // the others' are taken back below
        hb_str tail;
        name_of(f, p->families.p[i].member, p->families.p[i].count, &b->list[i].name, &tail);
    }
    for (int k = 0; k < b->blocks.n; k++) {
        pb_block *x = &b->blocks.p[k];
        for (int i = 0; i < x->fields.n; i++)
            x->fields.p[i].owned = owns(f, x, &x->fields.p[i]);
        take_singles(f, x);
        for (int pass = 0; pass < 2; pass++) // owned fields have the first choice of names
            for (int i = 0; i < x->fields.n; i++) {
                pb_field *y = &x->fields.p[i];
                if (y->owned != (pass == 0)) continue;
                y->name = emit_unique(f->a, x->names, y->name);
                for (int e = 0; e < x->count && y->owned; e++) {
                    if (y->member[e] < 0) continue;
                    int family = p->tensors.p[y->member[e]].family;
                    if (family >= 0) b->list[family].name = (hb_str){0};
                    b->id[y->member[e]] =
                        hb_fmt(f->a, "%.*s[%d].%.*s", HB_ARG(x->name), e, HB_ARG(y->name));
                }
            }
    }
    for (int i = 0; i < p->families.n; i++) {
        if (b->list[i].name.n == 0) continue;
        b->list[i].name = emit_unique(f->a, f->used, b->list[i].name);
        for (int m = 0; m < p->families.p[i].count; m++)
            b->id[p->families.p[i].member[m]] =
                hb_fmt(f->a, "%.*s[%d]", HB_ARG(b->list[i].name), m);
    }
}

// "name[i + 2]", "name[4 - i]": entry e of the loop is element c + d * e.
static hb_str indexed(hb_arena *a, hb_str name, int c, int d)
{
    if (d < 0) return hb_fmt(a, "%.*s[%d - i]", HB_ARG(name), c);
    if (c == 0) return hb_fmt(a, "%.*s[i]", HB_ARG(name));
    return hb_fmt(a, "%.*s[i %c %d]", HB_ARG(name), c > 0 ? '+' : '-', abs(c));
}

// A vector of list elements c + d * e; false: it is none.
static bool along_list(const syn_program *p, const pb_blocks *b, const int *v, int count, int *list,
                       int *c, int *d)
{
    int first = -1, n = 0;
    *d = 1;
    for (int e = 0; e < count; e++) {
        if (v[e] < 0) continue;
        const syn_tensor *t = &p->tensors.p[v[e]];
        if (t->family < 0 || b->list[t->family].name.n == 0) return false;
        if (first >= 0 && t->family != *list) return false;
        if (n == 1) *d = t->index - *c;
        if (n == 1 && *d != 1 && *d != -1) return false;
        if (first < 0) {
            first = e;
            *list = t->family;
            *c = t->index;
        }
        if (n > 1 && t->index != *c + *d * (e - first)) return false;
        n++;
    }
    *c -= *d * first;
    return n > 0;
}

static const pb_field *field_of(const pb_blocks *b, int block, const int *v, bool owned)
{
    const pb_block *k = &b->blocks.p[block];
    for (int i = 0; i < k->fields.n; i++)
        if (k->fields.p[i].owned == owned && holds(&k->fields.p[i], v, k->count))
            return &k->fields.p[i];
    return NULL;
}

hb_str pb_operand(hb_arena *a, const syn_program *p, const pb_blocks *b, int loop, int j, int slot)
{
    int block = b->loop[loop].block, count = b->blocks.p[block].count, list, c, d;
    int *v = slot_vector(a, p, b, loop, j, slot);
    if (constant(v, count)) return b->id[v[b->loop[loop].first]];
    const pb_field *x = field_of(b, block, v, true);
    if (!x && along_list(p, b, v, count, &list, &c, &d))
        return indexed(a, b->list[list].name, c, d);
    if (!x) x = field_of(b, block, v, false);
    hb_assert(x);
    return hb_fmt(a, "b->%.*s", HB_ARG(x->name));
}

// Fields that some statement needs although its buffers are others' and follow no list.
static void find_links(finder *f)
{
    const syn_program *p = f->p;
    pb_blocks *b = f->b;
    for (int l = 0; l < p->loops.n; l++)
        for (int j = 0; j < p->loops.p[l].len; j++)
            for (int s = 0; s < n_slots(&p->instr.p[p->loops.p[l].first + j]); s++) {
                int block = b->loop[l].block, list, c, d;
                pb_block *k = &b->blocks.p[block];
                int *v = slot_vector(f->a, p, b, l, j, s);
                if (constant(v, k->count) || field_of(b, block, v, true) ||
                    along_list(p, b, v, k->count, &list, &c, &d))
                    continue;
                for (int i = 0; i < k->fields.n; i++)
                    if (!k->fields.p[i].owned && holds(&k->fields.p[i], v, k->count)) {
                        k->fields.p[i].linked = true;
                        break;
                    }
            }
}

// --- events

static bool local_event(const syn_program *p, const pb_blocks *b, int start, int wait)
{
    int l = b->loop_of[wait];
    if (syn_once(p, &b->slot, start) && wait != start + 1) return false; // a block of its own
    if (l != b->loop_of[start]) return false;
    if (l < 0) return b->part_of[start] == b->part_of[wait];
    const syn_loop *lp = &p->loops.p[l];
    return (wait - lp->first) / lp->len == (start - lp->first) / lp->len;
}

static void take_event(pb_blocks *b, int which, int at, int start)
{
    b->events.p[which].start[at] = start;
    b->events_of[start] = which;
    b->event_at[start] = at;
}

// One array for what a START of a loop's body starts, with room for one more at each end.
static void events_of_loop(finder *f, int loop, int j)
{
    pb_blocks *b = f->b;
    int count = b->blocks.p[b->loop[loop].block].count;
    pb_events ev = {.n = count + 2, .shift = 1, .start = HB_ARRAY(f->a, int, count + 2)};
    int *out = HB_ARRAY(f->a, int, count), n = 0;
    for (int e = 0; e < ev.n; e++)
        ev.start[e] = -1;
    HB_PUSH(f->a, &b->events, ev);
    for (int e = 0; e < count; e++) {
        if (!covers(f->p, b, loop, e)) continue;
        int start = instr_at(f->p, b, loop, j, e);
        out[n++] = f->p->instr.p[start].out[0];
        take_event(b, b->events.n - 1, e + 1, start);
    }
    hb_str full, tail;
    name_of(f, out, n, &full, &tail);
    b->events.p[b->events.n - 1].name = full;
}

// The waits of a loop's body for events of an array, with a constant shift; what is started
// outside of loops for one of them takes the element that is free.
static void join_events(finder *f, int loop, int j)
{
    pb_blocks *b = f->b;
    int count = b->blocks.p[b->loop[loop].block].count, which = -1, shift = 0;
    for (int e = 0; e < count && which < 0; e++) {
        if (!covers(f->p, b, loop, e)) continue;
        int start = f->p->instr.p[instr_at(f->p, b, loop, j, e)].start;
        if (b->loop_of[start] < 0 || b->events_of[start] < 0) continue;
        which = b->events_of[start];
        shift = b->event_at[start] - e;
    }
    for (int e = 0; e < count && which >= 0; e++) {
        if (!covers(f->p, b, loop, e)) continue;
        int start = f->p->instr.p[instr_at(f->p, b, loop, j, e)].start, at = e + shift;
        if (b->loop_of[start] >= 0 || b->events_of[start] >= 0) continue;
        if (at >= 0 && at < b->events.p[which].n && b->events.p[which].start[at] < 0)
            take_event(b, which, at, start);
    }
}

// Arrays begin with the first event there is.
static void trim_events(finder *f)
{
    pb_blocks *b = f->b;
    for (int i = 0; i < b->events.n; i++) {
        pb_events *ev = &b->events.p[i];
        int from = 0, to = ev->n;
        while (from < ev->shift && ev->start[from] < 0)
            from++;
        while (to > from && ev->start[to - 1] < 0)
            to--;
        ev->start += from;
        ev->n = to - from;
        ev->shift -= from;
        for (int e = 0; e < ev->n; e++)
            if (ev->start[e] >= 0) b->event_at[ev->start[e]] = e;
        ev->name = emit_unique(f->a, f->used, hb_fmt(f->a, "%.*s_ready", HB_ARG(ev->name)));
    }
}

// Events that cross from one repetition or function to another need a place of their own.
static void find_events(finder *f)
{
    const syn_program *p = f->p;
    pb_blocks *b = f->b;
    b->slot = syn_slot_of(p);
    bool *crosses = HB_ARRAY(f->a, bool, p->instr.n + 1);
    for (int i = 0; i < p->instr.n; i++)
        b->events_of[i] = -1;
    for (int i = 0; i < p->instr.n; i++)
        if (p->instr.p[i].kind == SYN_WAIT && !local_event(p, b, p->instr.p[i].start, i))
            crosses[p->instr.p[i].start] = true;
    for (int l = 0; l < p->loops.n; l++) { // all repetitions of a START alike
        const syn_loop *lp = &p->loops.p[l];
        for (int j = 0; j < lp->len; j++) {
            bool any = false;
            for (int it = 0; it < lp->count; it++)
                any = any || crosses[lp->first + it * lp->len + j];
            if (any) events_of_loop(f, l, j);
        }
    }
    for (int l = 0; l < p->loops.n; l++)
        for (int j = 0; j < p->loops.p[l].len; j++)
            if (p->instr.p[p->loops.p[l].first + j].kind == SYN_WAIT) join_events(f, l, j);
    for (int i = 0; i < p->instr.n; i++) {
        if (!crosses[i] || b->events_of[i] >= 0) continue;
        pb_events ev = {.n = 1, .start = HB_ARRAY(f->a, int, 1)};
        hb_str tail;
        name_of(f, p->instr.p[i].out, 1, &ev.name, &tail);
        HB_PUSH(f->a, &b->events, ev);
        take_event(b, b->events.n - 1, 0, i);
    }
    trim_events(f);
}

hb_str pb_event_of(hb_arena *a, const pb_blocks *b, int start)
{
    if (b->events_of[start] < 0) return (hb_str){0};
    const pb_events *ev = &b->events.p[b->events_of[start]];
    return ev->n == 1 && ev->shift == 0
               ? ev->name
               : hb_fmt(a, "%.*s[%d]", HB_ARG(ev->name), b->event_at[start]);
}

hb_str pb_event(hb_arena *a, const syn_program *p, const pb_blocks *b, int loop, int j)
{
    const pb_block *k = &b->blocks.p[b->loop[loop].block];
    int which = -1, c = 0, d = 1, last = -1, n = 0;
    bool straight = true;
    hb_buf list = {.arena = a};
    for (int e = 0; e < k->count; e++) {
        if (!covers(p, b, loop, e)) {
            hb_puts(&list, e ? ", NULL" : "NULL");
            continue;
        }
        int i = instr_at(p, b, loop, j, e);
        int start = p->instr.p[i].kind == SYN_WAIT ? p->instr.p[i].start : i;
        if (b->events_of[start] < 0) return (hb_str){0};
        if (n == 1) d = (b->event_at[start] - c) / (e - last ? e - last : 1);
        straight = straight && (n == 0 || b->events_of[start] == which) &&
                   (n == 0 || b->event_at[start] == c + d * (e - last));
        if (n == 0) {
            which = b->events_of[start];
            c = b->event_at[start];
            last = e;
        }
        n++;
        hb_printf(&list, "%s%.*s", e ? ", " : "", HB_ARG(pb_event_of(a, b, start)));
    }
    const pb_events *ev = &b->events.p[which];
    if (straight && d == 0) return pb_event_of(a, b, ev->start[c]);
    if (straight && (d == 1 || d == -1)) return indexed(a, ev->name, c - d * last, d);
    return hb_fmt(a, "((hap_event *[]){%.*s})[i]", HB_ARG(hb_done(&list)));
}

pb_blocks *pb_find(hb_arena *a, const syn_program *p, hb_map *used, const hb_str *names,
                   const int *loop_of, const int *part_of)
{
    pb_blocks *b = HB_NEW(a, pb_blocks);
    b->loop = HB_ARRAY(a, pb_loop, p->loops.n + 1);
    b->list = HB_ARRAY(a, pb_list, p->families.n + 1);
    b->events_of = HB_ARRAY(a, int, p->instr.n + 1);
    b->event_at = HB_ARRAY(a, int, p->instr.n + 1);
    b->loop_of = loop_of;
    b->part_of = part_of;
    b->id = HB_ARRAY(a, hb_str, p->tensors.n + 1);
    finder f = {.a = a, .p = p, .b = b, .used = used, .names = names};
    f.holders = HB_ARRAY(a, int, p->tensors.n + 1);
    find_loops(&f);
    name_functions(&f);
    find_fields(&f);
    own_fields(&f);
    find_links(&f);
    find_events(&f);
    return b;
}
