#include "tests/certify/mutate_parts.h"

#include <string.h>

const char *const mutate_names[MUT_N] = {
#define X(name, function) #name,
    MUTATIONS(X)
#undef X
};

int mut_pick(mut *m, int n)
{
    uint64_t z = m->rng += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (int)((z ^ z >> 31) % (uint64_t)n);
}

rec_call *mut_call(mut *m, int i)
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

int mut_first_step(const mut *m)
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
const uint64_t *mut_walk(mut *m, int upto)
{
    memset(m->term, 0, sizeof *m->term * (size_t)m->r->tensors.n);
    for (int c = 0; c < upto && c < m->r->calls.n; c++) {
        const rec_call *k = mut_call(m, c);
        bool home = k->kind <= REC_CONST;
        if (home) m->term[k->in[0]] = hb_hash(k->name.p, k->name.n) | 1u;
        if (k->kind == REC_SLICE || k->kind == REC_PARTIAL || k->kind == REC_START)
            for (int i = 0; i < k->n_out; i++)
                m->term[k->out[i]] = m->term[k->in[i]];
        if (k->kind != REC_OP) continue;
        uint64_t h = mix(0, (uint64_t)k->op);
        for (int i = 0; i < k->n_in; i++)
            h = mix(h, m->term[k->in[i]]);
        for (int i = 0; i < ir_op_of((ir_op)k->op)->n_attr; i++) {
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
    int n = m->r->calls.n, first = mut_first_step(m);
    bool *live = HB_ARRAY(m->a, bool, m->r->tensors.n + 1);
    m->needed = HB_ARRAY(m->a, bool, n + 1);
    for (int c = 0; c < first; c++)
        if (mut_call(m, c)->n_in > 0 && mut_call(m, c)->kind != REC_INPUT &&
            mut_call(m, c)->kind != REC_CONST)
            live[mut_call(m, c)->in[0]] = true;
    for (int c = n - 1; c >= first; c--) {
        const rec_call *k = mut_call(m, c);
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
int mut_reader(mut *m, int b, int from)
{
    for (int c = from; c < m->r->calls.n; c++) {
        const rec_call *k = mut_call(m, c);
        for (int i = 0; i < k->n_in; i++)
            if (k->in[i] == b) return c;
        for (int i = 0; i < k->n_out; i++)
            if (k->out[i] == b) return -1;
    }
    for (int c = 0; c < mut_first_step(m); c++)
        if (mut_call(m, c)->n_in > 0 && mut_call(m, c)->kind != REC_INPUT &&
            mut_call(m, c)->in[0] == b)
            return m->r->calls.n;
    return -1;
}

int mut_wait_of(mut *m, int start)
{
    for (int c = start + 1; c < m->r->calls.n; c++)
        if (mut_call(m, c)->kind == REC_WAIT && mut_call(m, c)->event == mut_call(m, start)->event)
            return c;
    return -1;
}

int mut_axis_cut(const rec_tensor *t, int axis)
{
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d].axis == axis || t->dim[d].axis == SYN_BOTH) return d;
    return -1;
}

bool mut_same_dims(const rec_tensor *a, const rec_tensor *b)
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

int64_t mut_global_bytes(const rec_tensor *t)
{
    int64_t n = ir_dtype_bytes(t->dtype);
    for (int d = 0; d < t->rank; d++)
        n *= t->dim[d].outer * t->dim[d].n * t->dim[d].inner;
    return n;
}

// --- edits

void mut_remove_call(mut *m, int at)
{
    for (int c = at; c + 1 < m->r->calls.n; c++)
        m->r->calls.p[c] = m->r->calls.p[c + 1];
    m->r->calls.n--;
}

void mut_insert_call(mut *m, int at, rec_call k)
{
    HB_PUSH(m->a, &m->r->calls, k);
    for (int c = m->r->calls.n - 1; c > at; c--)
        m->r->calls.p[c] = m->r->calls.p[c - 1];
    m->r->calls.p[at] = k;
}

// A random call of the step for which fits() holds, -1 after enough tries.
int mut_choose(mut *m, mut_fits *fits)
{
    int first = mut_first_step(m), n = m->r->calls.n - first;
    if (n <= 0) return -1;
    int start = mut_pick(m, n);
    for (int i = 0; i < n; i++) {
        int c = first + (start + i) % n;
        if (fits(m, c)) return c;
    }
    return -1;
}

bool mut_is_op(mut *m, int c)
{
    return mut_call(m, c)->kind == REC_OP && m->needed[c];
}

bool mut_is_start(mut *m, int c)
{
    return mut_call(m, c)->kind == REC_START && m->needed[c];
}

bool mut_in_place(const rec_call *k)
{
    return k->kind == REC_OP && (ir_op_of((ir_op)k->op)->flags & IR_IN_PLACE);
}

// Not a view that may lie on its operand: dropping that one changes nothing.
bool mut_droppable(mut *m, int c)
{
    const rec_call *k = mut_call(m, c);
    bool view = k->kind == REC_OP && (ir_op_of((ir_op)k->op)->flags & IR_ZERO_COPY);
    bool makes = k->kind == REC_OP || k->kind == REC_SLICE || k->kind == REC_PARTIAL;
    return makes && m->needed[c] && !view;
}

mut mut_of(hb_arena *a, const record *r)
{
    mut m = {.a = a, .r = deep_copy(a, r)};
    m.term = HB_ARRAY(a, uint64_t, r->tensors.n + 1);
    find_needed(&m);
    return m;
}

record *mutate(hb_arena *a, const record *r, mut_kind kind, uint64_t seed, hb_str *what)
{
    static bool (*const make[MUT_N])(mut *) = {
#define X(name, function) mut_##function,
        MUTATIONS(X)
#undef X
    };
    mut m = mut_of(a, r);
    m.rng = seed * 0x2545f4914f6cdd1du + (uint64_t)kind;
    m.what = what;
    if (!make[kind](&m)) return NULL;
    *what = hb_fmt(a, "%s, seed %llu", mutate_names[kind], (unsigned long long)seed);
    return m.r;
}
