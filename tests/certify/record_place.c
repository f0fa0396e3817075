// Offsets for the buffers of a record: first fit over lifetimes, per class, declared buffers all
// step long.

#include "tests/certify/record_gen.h"

typedef struct life {
    int first, last;
} life;

static void touch(life *l, int at)
{
    if (l->first < 0) l->first = at;
    if (at > l->last) l->last = at;
}

static life *lifetimes(hb_arena *a, const record *r)
{
    life *l = HB_ARRAY(a, life, r->tensors.n + 1);
    for (int i = 0; i < r->tensors.n; i++)
        l[i] = (life){-1, -1};
    for (int c = 0; c < r->calls.n; c++) {
        const rec_call *k = &r->calls.p[c];
        for (int i = 0; i < k->n_in; i++) {
            touch(&l[k->in[i]], c);
            if (k->kind <= REC_CONST) l[k->in[i]].first = 0; // there when the step begins
            if (k->kind < REC_OP && k->kind != REC_INPUT) l[k->in[i]].last = r->calls.n;
        }
        for (int i = 0; i < k->n_out; i++)
            touch(&l[k->out[i]], c);
        if (k->kind == REC_START && k->scratch >= 0) touch(&l[k->scratch], c);
        if (k->kind != REC_WAIT) continue;
        for (int s = 0; s < c; s++) {
            const rec_call *b = &r->calls.p[s];
            if (b->kind != REC_START || b->event != k->event) continue;
            touch(&l[b->in[0]], c);
            touch(&l[b->out[0]], c);
            if (b->scratch >= 0) touch(&l[b->scratch], c);
        }
    }
    return l;
}

static int64_t class_bytes(const record *r, const rec_tensor *t, int cls)
{
    int64_t most = 0;
    for (int rank = 0; rank < r->n_ranks; rank++) {
        if (r->class_of[rank] != cls && cls >= 0) continue;
        int64_t e = ir_dtype_bytes(t->dtype);
        for (int d = 0; d < t->rank; d++) {
            const rec_dim *v = &t->dim[d];
            int c = r->n_axes == 1 || v->axis == SYN_BOTH ? rank
                    : v->axis == 0                        ? rank / r->size[1]
                                                          : rank % r->size[1];
            e *= v->outer * (v->axis < 0 ? v->n : v->table[c]) * v->inner;
        }
        if (e > most) most = e;
    }
    return most;
}

static int64_t place_all(hb_arena *a, record *r, const life *l, int seg, int cls, int64_t align)
{
    int64_t top = 0, *bytes = HB_ARRAY(a, int64_t, r->tensors.n + 1);
    for (int i = 0; i < r->tensors.n; i++) {
        rec_tensor *t = &r->tensors.p[i];
        if (t->seg != seg || l[i].first < 0) continue;
        bytes[i] = class_bytes(r, t, seg == 0 ? -1 : cls);
        int64_t at = 0;
        for (bool moved = true; moved;) {
            moved = false;
            for (int k = 0; k < i; k++) {
                const rec_tensor *o = &r->tensors.p[k];
                if (o->seg != seg || l[k].first < 0 || l[k].last < l[i].first ||
                    l[i].last < l[k].first)
                    continue;
                if (at < o->off[cls] + bytes[k] && o->off[cls] < at + bytes[i]) {
                    at = (o->off[cls] + bytes[k] + align - 1) / align * align;
                    moved = true;
                }
            }
        }
        for (int c = 0; c < r->n_classes; c++)
            if (seg == 0 || c == cls) t->off[c] = at;
        if (at + bytes[i] > top) top = at + bytes[i];
    }
    return (top + align - 1) / align * align;
}

void record_place(hb_arena *a, record *r)
{
    const life *l = lifetimes(a, r);
    for (int c = 0; c < r->n_classes; c++) {
        r->local_bytes[c] = place_all(a, r, l, 1, c, 256);
        if (c == 0) r->sym_bytes = place_all(a, r, l, 0, 0, 4096);
    }
}
