#include "tests/mutate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const mutate_names[MUT_N] = {
#define X(name) #name,
    MUTATIONS(X)
#undef X
};

typedef struct mut {
    hb_arena *a;
    record *r; // the copy that is changed
    uint64_t rng;
    hb_str *what;
    bool *needed;   // by call
    uint64_t *term; // scratch of walk(): by buffer
} mut;

static int pick(mut *m, int n)
{
    uint64_t z = m->rng += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (int)((z ^ z >> 31) % (uint64_t)n);
}

static rec_call *call(mut *m, int i)
{
    return &m->r->calls.p[i];
}

static int *copy_ids(hb_arena *a, const int *v, int n)
{
    return hb_copy(a, v, sizeof *v * (size_t)(n > 0 ? n : 1));
}

static record *deep_copy(hb_arena *a, const record *r)
{
    record *c = hb_copy(a, r, sizeof *r);
    c->tensors.p = hb_copy(a, r->tensors.p, sizeof *r->tensors.p * (size_t)r->tensors.n);
    c->tensors.cap = r->tensors.n;
    c->calls.p = hb_copy(a, r->calls.p, sizeof *r->calls.p * (size_t)r->calls.n);
    c->calls.cap = r->calls.n;
    for (int i = 0; i < c->calls.n; i++) {
        rec_call *k = &c->calls.p[i];
        if (k->n_in > 0) k->in = copy_ids(a, k->in, k->n_in);
        if (k->n_out > 0) k->out = copy_ids(a, k->out, k->n_out);
    }
    return c;
}

// --- what is known of the record

static int first_step(const mut *m)
{
    int i = 0;
    while (i < m->r->calls.n && m->r->calls.p[i].kind < REC_OP)
        i++;
    return i;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
    return h * 0xff51afd7ed558ccdu;
}

// Terms of all buffers just before call `upto`.
static const uint64_t *walk(mut *m, int upto)
{
    memset(m->term, 0, sizeof *m->term * (size_t)m->r->tensors.n);
    for (int c = 0; c < upto && c < m->r->calls.n; c++) {
        const rec_call *k = call(m, c);
        bool home = k->kind <= REC_CONST;
        if (home) m->term[k->in[0]] = hb_hash(k->name.p, k->name.n) | 1u;
        if (k->kind == REC_SLICE || k->kind == REC_PARTIAL || k->kind == REC_START)
            for (int i = 0; i < k->n_out; i++)
                m->term[k->out[i]] = m->term[k->in[i]];
        if (k->kind != REC_OP) continue;
        uint64_t h = mix(0, (uint64_t)k->op);
        for (int i = 0; i < k->n_in; i++)
            h = mix(h, m->term[k->in[i]]);
        for (int i = 0; i < ir_row((ir_op)k->op)->n_attr; i++) {
            const ir_attr *v = &k->attr[i];
            uint64_t bits;
            memcpy(&bits, &v->f, sizeof bits);
            h = mix(mix(h, (uint64_t)v->i), bits);
            for (int e = 0; e < v->n; e++)
                h = mix(h, (uint64_t)v->v[e]);
        }
        for (int i = 0; i < k->n_out; i++)
            m->term[k->out[i]] = mix(h, (uint64_t)i) | 1u;
    }
    return m->term;
}

// Calls whose result reaches the end of the step: what a compiler would keep.
static void find_needed(mut *m)
{
    int n = m->r->calls.n, first = first_step(m);
    bool *live = HB_ARRAY(m->a, bool, m->r->tensors.n + 1);
    m->needed = HB_ARRAY(m->a, bool, n + 1);
    for (int c = 0; c < first; c++)
        if (call(m, c)->n_in > 0 && call(m, c)->kind != REC_INPUT && call(m, c)->kind != REC_CONST)
            live[call(m, c)->in[0]] = true;
    for (int c = n - 1; c >= first; c--) {
        const rec_call *k = call(m, c);
        for (int i = 0; i < k->n_out; i++)
            m->needed[c] |= live[k->out[i]];
        if (!m->needed[c]) continue;
        for (int i = 0; i < k->n_out; i++)
            live[k->out[i]] = false;
        for (int i = 0; i < k->n_in; i++)
            live[k->in[i]] = true;
    }
}

// First call from `from` on that reads buffer b before another writes it; calls.n: it is read at
// the end; -1.
static int reader(mut *m, int b, int from)
{
    for (int c = from; c < m->r->calls.n; c++) {
        const rec_call *k = call(m, c);
        for (int i = 0; i < k->n_in; i++)
            if (k->in[i] == b) return c;
        for (int i = 0; i < k->n_out; i++)
            if (k->out[i] == b) return -1;
    }
    for (int c = 0; c < first_step(m); c++)
        if (call(m, c)->n_in > 0 && call(m, c)->kind != REC_INPUT && call(m, c)->in[0] == b)
            return m->r->calls.n;
    return -1;
}

static int wait_of(mut *m, int start)
{
    for (int c = start + 1; c < m->r->calls.n; c++)
        if (call(m, c)->kind == REC_WAIT && call(m, c)->event == call(m, start)->event) return c;
    return -1;
}

static int axis_cut(const rec_tensor *t, int axis)
{
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d].axis == axis) return d;
    return -1;
}

static bool same_dims(const rec_tensor *a, const rec_tensor *b)
{
    if (a->rank != b->rank || a->dtype != b->dtype) return false;
    for (int d = 0; d < a->rank; d++) {
        const rec_dim *x = &a->dim[d], *y = &b->dim[d];
        if (x->n != y->n || x->outer != y->outer || x->inner != y->inner || x->axis != y->axis ||
            x->n_table != y->n_table)
            return false;
        if (x->n_table > 0 &&
            memcmp(x->table, y->table, sizeof *x->table * (size_t)x->n_table) != 0)
            return false;
    }
    return true;
}

static int64_t global_bytes(const rec_tensor *t)
{
    int64_t n = ir_dtype_bytes(t->dtype);
    for (int d = 0; d < t->rank; d++)
        n *= t->dim[d].outer * t->dim[d].n * t->dim[d].inner;
    return n;
}

// --- edits

static void remove_call(mut *m, int at)
{
    for (int c = at; c + 1 < m->r->calls.n; c++)
        m->r->calls.p[c] = m->r->calls.p[c + 1];
    m->r->calls.n--;
}

static void insert_call(mut *m, int at, rec_call k)
{
    HB_PUSH(m->a, &m->r->calls, k);
    for (int c = m->r->calls.n - 1; c > at; c--)
        m->r->calls.p[c] = m->r->calls.p[c - 1];
    m->r->calls.p[at] = k;
}

// A random call of the step for which fits() holds, -1 after enough tries.
typedef bool fits_fn(mut *m, int c);
static int choose(mut *m, fits_fn *fits)
{
    int first = first_step(m), n = m->r->calls.n - first;
    if (n <= 0) return -1;
    int start = pick(m, n);
    for (int i = 0; i < n; i++) {
        int c = first + (start + i) % n;
        if (fits(m, c)) return c;
    }
    return -1;
}

static bool is_op(mut *m, int c)
{
    return call(m, c)->kind == REC_OP && m->needed[c];
}

static bool is_start(mut *m, int c)
{
    return call(m, c)->kind == REC_START && m->needed[c];
}

static bool in_place(const rec_call *k)
{
    return k->kind == REC_OP && (ir_row((ir_op)k->op)->flags & IR_IN_PLACE);
}

// Not a view that may lie on its operand: dropping that one changes nothing.
static bool droppable(mut *m, int c)
{
    const rec_call *k = call(m, c);
    bool view = k->kind == REC_OP && (ir_row((ir_op)k->op)->flags & IR_ZERO_COPY);
    bool makes = k->kind == REC_OP || k->kind == REC_SLICE || k->kind == REC_PARTIAL;
    return makes && m->needed[c] && !view;
}

static bool drop_call(mut *m)
{
    int c = choose(m, droppable);
    if (c < 0) return false;
    remove_call(m, c);
    return true;
}

static bool drop_start(mut *m)
{
    int c = choose(m, is_start);
    if (c < 0) return false;
    remove_call(m, c);
    return true;
}

static bool is_wait(mut *m, int c)
{
    return call(m, c)->kind == REC_WAIT;
}

static bool drop_wait(mut *m)
{
    int c = choose(m, is_wait);
    if (c < 0) return false;
    remove_call(m, c);
    return true;
}

static bool double_wait(mut *m)
{
    int c = choose(m, is_wait);
    if (c < 0) return false;
    int to = c + 1 + pick(m, m->r->calls.n - c);
    for (int i = c + 1; i < to; i++) // events may be used again
        if (call(m, i)->kind == REC_START) to = i;
    insert_call(m, to, *call(m, c));
    return true;
}

static bool is_update(mut *m, int c)
{
    return in_place(call(m, c)) && m->needed[c];
}

static bool double_update(mut *m)
{
    int c = choose(m, is_update);
    if (c < 0) return false;
    insert_call(m, c + 1, *call(m, c));
    return true;
}

static bool late_wait(mut *m)
{
    int s = choose(m, is_start);
    if (s < 0) return false;
    int w = wait_of(m, s), r = -1;
    for (int i = 0; i < call(m, s)->n_out && r < 0; i++)
        r = reader(m, call(m, s)->out[i], w + 1);
    if (w < 0 || r < 0 || r >= m->r->calls.n) return false;
    rec_call k = *call(m, w);
    insert_call(m, r + 1, k);
    remove_call(m, w);
    return true;
}

static bool swap_waits(mut *m)
{
    int s = choose(m, is_start);
    if (s < 0) return false;
    int w = wait_of(m, s);
    if (w < 0) return false;
    int r = reader(m, call(m, s)->out[0], w + 1);
    for (int c = r + 1; r >= 0 && c < m->r->calls.n; c++) {
        if (call(m, c)->kind != REC_WAIT) continue;
        int e = call(m, c)->event;
        call(m, c)->event = call(m, w)->event;
        call(m, w)->event = e;
        return true;
    }
    return false;
}

static bool early_call(mut *m)
{
    int c = choose(m, is_op);
    if (c < 0) return false;
    rec_call k = *call(m, c);
    if (k.n_in == 0) return false;
    int b = k.in[pick(m, k.n_in)], p = c - 1;
    for (; p >= first_step(m); p--) {
        bool writes = false;
        for (int i = 0; i < call(m, p)->n_out; i++)
            writes = writes || call(m, p)->out[i] == b;
        if (writes) break;
    }
    if (p < first_step(m)) return false;
    uint64_t needs = walk(m, c)[b];
    if (walk(m, p)[b] == needs) return false;
    remove_call(m, c);
    insert_call(m, p, k);
    return true;
}

static bool commutes(int op)
{
    switch (op) {
    case IR_OP_add:
    case IR_OP_mul:
    case IR_OP_eq:
    case IR_OP_ne:
    case IR_OP_logical_and:
    case IR_OP_logical_or:
    case IR_OP_row_dot:
        return true;
    default:
        return false;
    }
}

static bool two_operands(mut *m, int c)
{
    return is_op(m, c) && call(m, c)->n_in >= 2 && !commutes(call(m, c)->op);
}

static bool swap_operands(mut *m)
{
    int c = choose(m, two_operands);
    if (c < 0) return false;
    rec_call *k = call(m, c);
    int i = pick(m, k->n_in), j = pick(m, k->n_in), t = k->in[i];
    const uint64_t *term = walk(m, c);
    if (term[k->in[i]] == term[k->in[j]]) return false;
    k->in[i] = k->in[j];
    k->in[j] = t;
    return true;
}

// A buffer of the same dims as b with another term before call c; -1.
static int other_term(mut *m, int b, int c)
{
    const uint64_t *term = walk(m, c);
    int n = m->r->tensors.n, at = pick(m, n);
    for (int i = 0; i < n; i++) {
        int o = (at + i) % n;
        if (o != b && term[o] && term[o] != term[b] &&
            same_dims(&m->r->tensors.p[o], &m->r->tensors.p[b]))
            return o;
    }
    return -1;
}

static bool reads(mut *m, int c)
{
    rec_kind k = call(m, c)->kind;
    return m->needed[c] && call(m, c)->n_in > 0 &&
           (k == REC_OP || k == REC_SLICE || k == REC_PARTIAL || k == REC_START);
}

static bool wrong_operand(mut *m)
{
    int c = choose(m, reads);
    if (c < 0) return false;
    rec_call *k = call(m, c);
    int i = pick(m, k->n_in), o = other_term(m, k->in[i], c);
    if (o < 0 || in_place(k)) return false;
    k->in[i] = o;
    return true;
}

static bool wrong_output(mut *m)
{
    int c = choose(m, droppable);
    if (c < 0) return false;
    rec_call *k = call(m, c);
    int i = pick(m, k->n_out), o = other_term(m, k->out[i], c);
    if (o < 0 || in_place(k) || reader(m, k->out[i], c + 1) < 0) return false;
    uint64_t now = walk(m, c + 1)[k->out[i]];
    if (walk(m, c)[o] == now || reader(m, o, c + 1) < 0) return false;
    k->out[i] = o;
    return true;
}

static bool two_outputs(mut *m, int c)
{
    return is_op(m, c) && call(m, c)->n_out >= 2;
}

static bool swap_outputs(mut *m)
{
    int c = choose(m, two_outputs);
    if (c < 0) return false;
    rec_call *k = call(m, c);
    int i = pick(m, k->n_out), j = (i + 1) % k->n_out, t = k->out[i];
    if (reader(m, k->out[i], c + 1) < 0 && reader(m, k->out[j], c + 1) < 0) return false;
    k->out[i] = k->out[j];
    k->out[j] = t;
    return true;
}

// An op that reads the result of a call of the kind reads its source instead.
static bool skip_call(mut *m, bool reduce)
{
    int first = first_step(m), n = m->r->calls.n - first, at = pick(m, n);
    for (int i = 0; i < n; i++) {
        int c = first + (at + i) % n;
        const rec_call *k = call(m, c);
        bool is =
            reduce ? k->kind == REC_START && k->coll == COST_ALL_REDUCE : k->kind == REC_PARTIAL;
        if (!is || k->out[0] == k->in[0]) continue;
        int from = k->in[0], to = k->out[0];
        for (int o = c + 1; o < m->r->calls.n; o++) {
            rec_call *u = call(m, o);
            if (!is_op(m, o) || in_place(u)) continue;
            for (int p = 0; p < u->n_in; p++) {
                if (u->in[p] != to) continue;
                u->in[p] = from;
                return true;
            }
        }
    }
    return false;
}

static bool wrong_op(mut *m)
{
    int c = choose(m, is_op);
    if (c < 0) return false;
    rec_call *k = call(m, c);
    const ir_op_row *row = ir_row((ir_op)k->op);
    if (row->n_attr > 0) return false;
    int at = pick(m, IR_N_OPS);
    for (int i = 0; i < IR_N_OPS; i++) {
        int o = (at + i) % IR_N_OPS;
        const ir_op_row *other = ir_row((ir_op)o);
        if (o == k->op || other->n_attr > 0 || other->n_out != row->n_out ||
            k->n_in < other->min_in || k->n_in > other->max_in)
            continue;
        k->op = o;
        return true;
    }
    return false;
}

static bool wrong_attr(mut *m)
{
    int c = choose(m, is_op);
    if (c < 0) return false;
    rec_call *k = call(m, c);
    const ir_op_row *row = ir_row((ir_op)k->op);
    if (row->n_attr == 0) return false;
    int i = pick(m, row->n_attr);
    ir_attr *v = &k->attr[i];
    if (strcmp(row->attr[i].name, "key") == 0) { // unused where nothing is dropped
        const char *p = k->op == IR_OP_dropout ? "p" : "dropout";
        if (!(k->attr[ir_attr_index((ir_op)k->op, p)].f > 0)) return false;
    }
    switch (row->attr[i].kind) {
    case IR_ATTR_INT:
        v->i += pick(m, 2) ? 1 : -1;
        break;
    case IR_ATTR_BOOL:
        v->i = !v->i;
        break;
    case IR_ATTR_DTYPE:
        v->i = (v->i + 1 + pick(m, IR_N_DTYPES - 1)) % IR_N_DTYPES;
        break;
    case IR_ATTR_REAL:
        v->f = pick(m, 2) ? nextafter(v->f, 1e30) : v->f + 1;
        break;
    case IR_ATTR_INTS:
        if (v->n == 0) return false;
        v->v[pick(m, v->n)] += 1;
        break;
    }
    return true;
}

// A buffer of an op call that is cut on an axis on which another buffer of the call is cut as well.
typedef struct shared {
    int tensor, axis;
} shared;

static bool find_shared(mut *m, shared *s)
{
    int c = choose(m, is_op);
    if (c < 0) return false;
    const rec_call *k = call(m, c);
    int n = k->n_in + k->n_out, at = pick(m, n * SYN_MAX_AXES);
    for (int i = 0; i < n * SYN_MAX_AXES; i++) {
        int slot = (at + i) % n, axis = (at + i) / n % SYN_MAX_AXES;
        int id = slot < k->n_in ? k->in[slot] : k->out[slot - k->n_in];
        if (axis_cut(&m->r->tensors.p[id], axis) < 0) continue;
        for (int o = 0; o < n; o++) {
            int other = o < k->n_in ? k->in[o] : k->out[o - k->n_in];
            if (other == id || axis_cut(&m->r->tensors.p[other], axis) < 0) continue;
            *s = (shared){id, axis};
            return true;
        }
    }
    return false;
}

static rec_dim *shared_dim(mut *m, const shared *s)
{
    rec_tensor *t = &m->r->tensors.p[s->tensor];
    rec_dim *d = &t->dim[axis_cut(t, s->axis)];
    d->table = hb_copy(m->a, d->table, sizeof *d->table * (size_t)d->n_table);
    return d;
}

static bool swap_table(mut *m)
{
    shared s;
    if (!find_shared(m, &s)) return false;
    rec_dim *d = shared_dim(m, &s);
    int i = pick(m, d->n_table), j = pick(m, d->n_table);
    int64_t t = d->table[i];
    if (t == d->table[j]) return false;
    d->table[i] = d->table[j];
    d->table[j] = t;
    return true;
}

static bool bad_table(mut *m)
{
    shared s;
    if (!find_shared(m, &s)) return false;
    rec_dim *d = shared_dim(m, &s);
    d->table[pick(m, d->n_table)] += pick(m, 2) ? 1 : -1;
    return true;
}

static bool uncut_dim(mut *m)
{
    shared s;
    if (!find_shared(m, &s)) return false;
    rec_dim *d = shared_dim(m, &s);
    *d = (rec_dim){.n = d->outer * d->n * d->inner, .outer = 1, .inner = 1, .axis = -1};
    return true;
}

static bool other_factor(mut *m)
{
    shared s;
    if (!find_shared(m, &s)) return false;
    rec_dim *d = shared_dim(m, &s);
    if (d->n % 2 != 0 || d->n < 4) return false;
    d->n /= 2;
    *(pick(m, 2) ? &d->outer : &d->inner) *= 2;
    int64_t left = d->n;
    for (int i = 0; i < d->n_table; i++) {
        d->table[i] = i + 1 < d->n_table ? d->n / d->n_table : left;
        left -= d->table[i];
    }
    return true;
}

static bool other_axis(mut *m)
{
    shared s;
    if (m->r->n_axes < 2 || m->r->size[0] != m->r->size[1] || !find_shared(m, &s)) return false;
    if (axis_cut(&m->r->tensors.p[s.tensor], 1 - s.axis) >= 0) return false;
    shared_dim(m, &s)->axis = 1 - s.axis;
    return true;
}

// A tensor that some needed op call reads or writes.
static rec_tensor *used_tensor(mut *m)
{
    int c = choose(m, is_op);
    if (c < 0) return NULL;
    const rec_call *k = call(m, c);
    int i = pick(m, k->n_in + k->n_out);
    return &m->r->tensors.p[i < k->n_in ? k->in[i] : k->out[i - k->n_in]];
}

static bool wrong_size(mut *m)
{
    rec_tensor *t = used_tensor(m);
    if (!t || t->rank == 0) return false;
    rec_dim *d = &t->dim[pick(m, t->rank)];
    d->n++;
    if (d->axis >= 0) {
        d->table = hb_copy(m->a, d->table, sizeof *d->table * (size_t)d->n_table);
        d->table[pick(m, d->n_table)]++;
    }
    return true;
}

static bool wrong_dtype(mut *m)
{
    rec_tensor *t = used_tensor(m);
    if (!t) return false;
    t->dtype = (ir_dtype)(((int)t->dtype + 1 + pick(m, IR_N_DTYPES - 1)) % IR_N_DTYPES);
    return true;
}

static bool wrong_form(mut *m)
{
    static const unsigned has[] = {[COST_ALL_GATHER] = 0xf,
                                   [COST_REDUCE_SCATTER] = 0x1f,
                                   [COST_ALL_REDUCE] = 0x60,
                                   [COST_ALL_TO_ALL] = 0x9,
                                   [COST_RECUT] = 0x9};
    int c = choose(m, is_start);
    if (c < 0) return false;
    rec_call *k = call(m, c);
    cost_form f = (cost_form)pick(m, COST_N_FORMS);
    bool exists = has[k->coll] >> f & 1u;
    if (f == COST_TWO_LEVEL && k->coll == COST_ALL_REDUCE) exists = k->axes == 3u;
    if (f == COST_EVEN && (k->coll == COST_ALL_GATHER || k->coll == COST_REDUCE_SCATTER)) {
        int axis = k->axes == 2u ? 1 : 0;
        const rec_tensor *t = &m->r->tensors.p[k->coll == COST_ALL_GATHER ? k->in[0] : k->out[0]];
        const rec_dim *d = &t->dim[axis_cut(t, axis)];
        for (int i = 1; i < d->n_table; i++)
            exists = exists && d->table[i] == d->table[0];
    }
    if (exists) return false;
    k->form = f;
    return true;
}

static bool is_reduce(mut *m, int c)
{
    return is_start(m, c) && call(m, c)->coll == COST_ALL_REDUCE;
}

static bool wrong_reducer(mut *m)
{
    int c = choose(m, is_reduce);
    if (c < 0) return false;
    call(m, c)->reduce_max = !call(m, c)->reduce_max;
    return true;
}

static bool wrong_coll(mut *m)
{
    int c = choose(m, is_start);
    if (c < 0) return false;
    rec_call *k = call(m, c);
    k->coll = (cost_coll)(((int)k->coll + 1 + pick(m, COST_RECUT)) % (COST_RECUT + 1));
    k->reduce_max = false;
    return true;
}

static bool wrong_mask(mut *m)
{
    int c = choose(m, is_start);
    if (c < 0 || m->r->n_axes < 2) return false;
    rec_call *k = call(m, c);
    k->axes = (k->axes - 1 + 1 + (unsigned)pick(m, 2)) % 3 + 1; // one of the other two of {1, 2, 3}
    return true;
}

static void put_at(mut *m, int id, const rec_tensor *where)
{
    rec_tensor *t = &m->r->tensors.p[id];
    t->seg = where->seg;
    for (int i = 0; i < m->r->n_classes; i++)
        t->off[i] = where->off[i];
}

static bool wire(mut *m, int id)
{
    for (int c = 0; c < m->r->calls.n; c++) {
        const rec_call *k = call(m, c);
        if (k->kind != REC_START) continue;
        for (int i = 0; i < k->n_in; i++)
            if (k->in[i] == id || k->out[i] == id) return true;
    }
    return false;
}

// Has every rank at least one byte of it?
static bool everywhere(const rec_tensor *t)
{
    for (int d = 0; d < t->rank; d++) {
        if (t->dim[d].n == 0) return false;
        for (int i = 0; i < t->dim[d].n_table; i++)
            if (t->dim[d].table[i] == 0) return false;
    }
    return true;
}

static bool overlap(mut *m)
{
    int c = choose(m, droppable);
    if (c < 0 || in_place(call(m, c))) return false;
    int x = call(m, c)->out[0];
    uint64_t after = walk(m, c + 1)[x];
    const uint64_t *term = walk(m, c);
    int n = m->r->tensors.n, at = pick(m, n);
    for (int i = 0; i < n; i++) {
        int y = (at + i) % n;
        const rec_tensor *ty = &m->r->tensors.p[y];
        if (y == x || !term[y] || term[y] == after || reader(m, y, c + 1) < 0 ||
            (ty->seg == 1 && wire(m, x)) || !everywhere(ty) || !everywhere(&m->r->tensors.p[x]))
            continue;
        put_at(m, x, ty);
        return true;
    }
    return false;
}

// A call between start and wait writes on bytes that the collective sends or fills.
static bool in_flight(mut *m)
{
    int s = choose(m, is_start);
    if (s < 0) return false;
    const rec_call *k = call(m, s);
    int w = wait_of(m, s), p = pick(m, k->n_in), y = pick(m, 2) ? k->in[p] : k->out[p];
    for (int c = s + 1; c < w; c++) {
        if (!droppable(m, c) || in_place(call(m, c))) continue;
        int x = call(m, c)->out[0];
        if (x == y || !everywhere(&m->r->tensors.p[x]) || !everywhere(&m->r->tensors.p[y]))
            continue;
        put_at(m, x, &m->r->tensors.p[y]);
        return true;
    }
    return false;
}

// The call moves behind the end of its buffer's first life: some reader sees the value before it.
static bool late_call(mut *m)
{
    int c = choose(m, droppable);
    if (c < 0) return false;
    rec_call k = *call(m, c);
    int r = reader(m, k.out[0], c + 1);
    if (r < 0 || r >= m->r->calls.n || in_place(&k)) return false;
    insert_call(m, r + 1, k);
    remove_call(m, c);
    return true;
}

static bool has_scratch(mut *m, int c)
{
    return is_start(m, c) && call(m, c)->scratch >= 0;
}

static bool scratch_on_data(mut *m)
{
    int c = choose(m, has_scratch);
    if (c < 0) return false;
    const rec_tensor *s = &m->r->tensors.p[call(m, c)->in[0]];
    for (int d = 0; d < s->rank; d++)
        if (s->dim[d].axis >= 0) return false; // a part may be empty on every rank of a class
    if (global_bytes(s) == 0) return false;
    put_at(m, call(m, c)->scratch, s);
    return true;
}

// Forms that need scratch whatever the shapes, as long as anything moves.
static bool always_scratch(mut *m, int c)
{
    const rec_call *k = call(m, c);
    if (!has_scratch(m, c)) return false;
    return k->coll == COST_ALL_TO_ALL || k->coll == COST_RECUT || k->form == COST_PADDED ||
           k->form == COST_EVEN_FLAT || k->form == COST_TWO_LEVEL;
}

static bool no_scratch(mut *m)
{
    int c = choose(m, always_scratch);
    if (c < 0) return false;
    call(m, c)->scratch = -1;
    return true;
}

static bool small_scratch(mut *m)
{
    int c = choose(m, always_scratch);
    if (c < 0) return false;
    rec_tensor *t = &m->r->tensors.p[call(m, c)->scratch];
    t->dim[0].n = 4 / ir_dtype_bytes(t->dtype);
    return true;
}

static bool misaligned(mut *m)
{
    rec_tensor *t = used_tensor(m);
    if (!t) return false;
    for (int i = 0; i < m->r->n_classes; i++)
        t->off[i] += 64;
    return true;
}

static bool outside(mut *m)
{
    rec_tensor *t = used_tensor(m);
    if (!t || global_bytes(t) == 0) return false;
    for (int i = 0; i < m->r->n_classes; i++) // some rank of some class holds a part
        t->off[i] = t->seg == 0 ? m->r->sym_bytes : m->r->local_bytes[i];
    return true;
}

static bool off_wire(mut *m)
{
    int c = choose(m, is_start);
    if (c < 0) return false;
    rec_call *k = call(m, c);
    m->r->tensors.p[pick(m, 2) ? k->in[0] : k->out[0]].seg = 1;
    for (int i = 0; i < m->r->n_classes; i++) // room enough, so that only the segment is wrong
        m->r->local_bytes[i] += m->r->sym_bytes;
    return true;
}

static bool not_symmetric(mut *m)
{
    int c = choose(m, is_start);
    if (c < 0 || m->r->n_classes < 2) return false;
    m->r->tensors.p[call(m, c)->in[0]].off[1] += 4096;
    m->r->sym_bytes += 4096;
    return true;
}

// A random declaration of one of the kinds in the mask; NULL.
static rec_call *declaration(mut *m, unsigned kinds)
{
    int n = first_step(m), at = n > 0 ? pick(m, n) : 0;
    for (int i = 0; i < n; i++)
        if (kinds >> call(m, (at + i) % n)->kind & 1u) return call(m, (at + i) % n);
    return NULL;
}

static bool wrong_fill(mut *m)
{
    rec_call *k = declaration(m, 1u << REC_PARAM | 1u << REC_BUFFER | 1u << REC_CONST);
    if (!k) return false;
    int i = 1 + pick(m, 2);
    if (k->num[0] == 0 && i == 2) return false; // a constant has one number
    k->num[i] = nextafter(k->num[i], 10);
    if (k->text.n > 0) k->text = HB_STR("consts.safetensors#something else");
    return true;
}

static bool wrong_rate(mut *m)
{
    rec_call *k = declaration(m, 1u << REC_SCHEDULE);
    if (!k) return false;
    k->num[pick(m, 4)] += 1;
    return true;
}

static bool wrong_batch(mut *m)
{
    rec_call *k = declaration(m, 1u << REC_BATCH);
    if (!k) return false;
    k->num[0] += 1;
    return true;
}

static bool swap_names(mut *m)
{
    rec_call *a = declaration(m, 1u << REC_PARAM | 1u << REC_STATE);
    rec_call *b = declaration(m, 1u << REC_PARAM | 1u << REC_STATE);
    if (!a || !b || a == b) return false;
    hb_str t = a->name;
    a->name = b->name;
    b->name = t;
    return true;
}

static bool no_declaration(mut *m)
{
    rec_call *k = declaration(m, 1u << REC_PARAM | 1u << REC_STATE | 1u << REC_LOSS |
                                     1u << REC_BATCH | 1u << REC_SCHEDULE | 1u << REC_ALIAS);
    if (!k) return false;
    remove_call(m, (int)(k - m->r->calls.p));
    return true;
}

static bool wrong_result(mut *m, rec_kind kind)
{
    rec_call *k = declaration(m, 1u << kind);
    if (!k) return false;
    const uint64_t *term = walk(m, m->r->calls.n);
    int n = m->r->tensors.n, at = pick(m, n), now = k->in[0];
    for (int i = 0; i < n; i++) {
        int o = (at + i) % n;
        if (!term[o] || term[o] == term[now]) continue;
        k->in[0] = o;
        return true;
    }
    return false;
}

static bool apply(mut *m, mut_kind kind)
{
    switch (kind) {
    case MUT_DROP_CALL:
        return drop_call(m);
    case MUT_DROP_START:
        return drop_start(m);
    case MUT_DROP_WAIT:
        return drop_wait(m);
    case MUT_DOUBLE_WAIT:
        return double_wait(m);
    case MUT_DOUBLE_UPDATE:
        return double_update(m);
    case MUT_LATE_WAIT:
        return late_wait(m);
    case MUT_SWAP_WAITS:
        return swap_waits(m);
    case MUT_LATE_CALL:
        return late_call(m);
    case MUT_EARLY_CALL:
        return early_call(m);
    case MUT_SWAP_OPERANDS:
        return swap_operands(m);
    case MUT_WRONG_OPERAND:
        return wrong_operand(m);
    case MUT_WRONG_OUTPUT:
        return wrong_output(m);
    case MUT_SWAP_OUTPUTS:
        return swap_outputs(m);
    case MUT_SKIP_REDUCE:
        return skip_call(m, true);
    case MUT_SKIP_PARTIAL:
        return skip_call(m, false);
    case MUT_WRONG_OP:
        return wrong_op(m);
    case MUT_WRONG_ATTR:
        return wrong_attr(m);
    case MUT_SWAP_TABLE:
        return swap_table(m);
    case MUT_BAD_TABLE:
        return bad_table(m);
    case MUT_UNCUT_DIM:
        return uncut_dim(m);
    case MUT_OTHER_FACTOR:
        return other_factor(m);
    case MUT_OTHER_AXIS:
        return other_axis(m);
    case MUT_WRONG_SIZE:
        return wrong_size(m);
    case MUT_WRONG_DTYPE:
        return wrong_dtype(m);
    case MUT_WRONG_FORM:
        return wrong_form(m);
    case MUT_WRONG_REDUCER:
        return wrong_reducer(m);
    case MUT_WRONG_COLL:
        return wrong_coll(m);
    case MUT_WRONG_MASK:
        return wrong_mask(m);
    case MUT_OVERLAP:
        return overlap(m);
    case MUT_IN_FLIGHT:
        return in_flight(m);
    case MUT_SCRATCH_ON_DATA:
        return scratch_on_data(m);
    case MUT_NO_SCRATCH:
        return no_scratch(m);
    case MUT_SMALL_SCRATCH:
        return small_scratch(m);
    case MUT_MISALIGNED:
        return misaligned(m);
    case MUT_OUTSIDE:
        return outside(m);
    case MUT_OFF_WIRE:
        return off_wire(m);
    case MUT_NOT_SYMMETRIC:
        return not_symmetric(m);
    case MUT_WRONG_FILL:
        return wrong_fill(m);
    case MUT_WRONG_RATE:
        return wrong_rate(m);
    case MUT_WRONG_BATCH:
        return wrong_batch(m);
    case MUT_SWAP_NAMES:
        return swap_names(m);
    case MUT_NO_DECLARATION:
        return no_declaration(m);
    case MUT_WRONG_LOSS:
        return wrong_result(m, REC_LOSS);
    case MUT_WRONG_GRADIENT:
        return wrong_result(m, REC_GRAD);
    case MUT_N:
        break;
    }
    return false;
}

record *mutate(hb_arena *a, const record *r, mut_kind kind, uint64_t seed, hb_str *what)
{
    mut m = {.a = a,
             .r = deep_copy(a, r),
             .rng = seed * 0x2545f4914f6cdd1du + (uint64_t)kind,
             .what = what};
    m.term = HB_ARRAY(a, uint64_t, r->tensors.n + 1);
    find_needed(&m);
    if (!apply(&m, kind)) return NULL;
    *what = hb_fmt(a, "%s, seed %llu", mutate_names[kind], (unsigned long long)seed);
    return m.r;
}
