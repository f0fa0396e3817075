// What two instructions must share to be one statement of a block: everything but which buffers,
// which layer's node, and the dropout key. Exact: shapes are interned by their bytes, not by a hash
// of them.

#include "synth/passes/roll_shape.h"

#include <string.h>

int roll_slots(const syn_instr *in)
{
    return in->n_out + in->n_in + (in->kind == SYN_START && in->scratch >= 0);
}

int roll_slot(const syn_instr *in, int slot)
{
    if (slot < in->n_out) return in->out[slot];
    if (slot < in->n_out + in->n_in) return in->in[slot - in->n_out];
    return in->scratch;
}

int roll_at(const syn_program *p, const syn_loop *l, int rep, int j, int slot)
{
    return roll_slot(&p->instr.p[l->first + rep * l->len + j], slot);
}

typedef struct interner {
    hb_map *map;
    int n;
} interner;

static void put(hb_buf *b, int64_t v)
{
    while (v < -64 || v > 63) { // signed LEB128: short keys hash fast
        hb_putc(b, (char)((v & 127) | 128));
        v >>= 7;
    }
    hb_putc(b, (char)(v & 127));
}

static void put_real(hb_buf *b, double f)
{
    hb_putn(b, (const char *)&f, sizeof f);
}

// The key so far, as a number; empties the buffer.
static int intern(interner *t, hb_buf *key)
{
    hb_str k = {key->p, key->n};
    int id = hb_map_get(t->map, k);
    if (id < 0) {
        id = t->n++;
        hb_map_put(t->map, hb_str_n(key->arena, k.p, k.n), id);
    }
    key->n = 0;
    return id;
}

// Product of the factors before and after the cut one: what CUT_IN says.
static void put_state(roll *r, hb_buf *b, const syn_tensor *t)
{
    for (int a = 0; a < r->p->mesh->n_axes; a++) {
        const syn_axis_state *x = &t->state.ax[a];
        put(b, x->kind);
        if (x->kind == SYN_P) put(b, x->reducer);
        if (x->kind != SYN_S) continue;
        put(b, x->dim);
        put(b, x->cut);
        if (!r->p->f) continue;
        const ir_dim_factors *d = &r->p->f->dim[t->value][x->dim];
        int64_t outer = 1, inner = 1;
        for (int i = 0; i < d->n; i++) {
            int64_t size = r->p->f->cls[d->cls[i]].size;
            if (i < x->pos) outer *= size;
            if (i > x->pos) inner *= size;
        }
        put(b, outer);
        put(b, inner);
    }
}

// In what a statement reads and writes (`look`: also in how it is declared).
static void put_buffer(roll *r, hb_buf *b, const syn_tensor *t, bool look)
{
    put(b, t->role);
    put(b, t->dtype);
    if (look) {
        put(b, t->sym);
        for (int c = 0; c < r->p->mesh->n_classes; c++)
            put(b, t->bytes[c]);
    }
    if (t->value < 0) {
        put(b, t->bytes[0]);
        return;
    }
    const ir_tensor *v = &r->p->g->tensors.p[t->value];
    put(b, v->kind);
    put(b, v->rank);
    for (int d = 0; d < v->rank; d++)
        put(b, v->dim[d]);
    put_state(r, b, t);
    if (!look || v->kind == IR_VALUE) return;
    put(b, v->init.kind);
    put_real(b, v->init.a);
    put_real(b, v->init.b);
    hb_putn(b, v->init.stored.p, v->init.stored.n);
}

static void put_op(roll *r, hb_buf *b, const syn_instr *in)
{
    const ir_node *n = &r->p->g->nodes.p[in->node];
    const ir_op_info *row = ir_op_of(n->op);
    put(b, n->op);
    put(b, n->phase);
    put(b, n->step);
    for (int i = 0; i < row->n_attr; i++) {
        if (strcmp(row->attr[i].name, "key") == 0) continue;
        put(b, n->attr[i].i);
        put_real(b, n->attr[i].f);
        put(b, n->attr[i].n);
        for (int k = 0; k < n->attr[i].n; k++)
            put(b, n->attr[i].v[k]);
    }
}

static void put_pair(hb_buf *b, const syn_pair *x)
{
    const syn_tiles *t = &x->tiles;
    for (int k = 0; k < 3 * x->n_chunks; k++)
        put(b, x->chunk[k / 3][k % 3]);
    put(b, t->n_chunks ? (int64_t)t->rows << 40 | (int64_t)t->cols << 16 | t->how : -1);
    for (int k = 0; k < 3 * t->n_chunks; k++)
        put(b, t->chunk[k / 3][k % 3]);
}

void roll_shapes(roll *r)
{
    const syn_program *p = r->p;
    interner in_use = {.map = hb_map_new(r->arena)}, looks = {.map = hb_map_new(r->arena)};
    interner shapes = {.map = hb_map_new(r->arena)};
    hb_buf b = {.arena = r->arena};
    int *use = HB_ARRAY(r->arena, int, p->tensors.n + 1);
    r->look = HB_ARRAY(r->arena, int, p->tensors.n + 1);
    r->shape = HB_ARRAY(r->arena, int, p->instr.n + 1);
    for (int t = 0; t < p->tensors.n; t++) {
        put_buffer(r, &b, &p->tensors.p[t], false);
        use[t] = intern(&in_use, &b);
        put_buffer(r, &b, &p->tensors.p[t], true);
        r->look[t] = intern(&looks, &b);
    }
    const syn_pair *x = p->pairs.p, *end = x + p->pairs.n;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        while (x < end && i >= x->first + x->len)
            x++;
        put(&b, x < end && i >= x->first ? i - x->first + 1 : 0);
        if (x < end && i == x->first) put_pair(&b, x);
        put(&b, in->kind);
        put(&b, in->turn);
        if (in->kind == SYN_WAIT) put(&b, r->shape[in->start]);
        if (in->kind == SYN_OP) put_op(r, &b, in);
        if (in->kind == SYN_START) {
            put(&b, in->coll);
            put(&b, in->form);
            put(&b, in->reduce_max);
            put(&b, in->scratch >= 0);
        }
        if (in->kind != SYN_WAIT && in->kind != SYN_OP) put(&b, in->axes);
        put(&b, in->n_out);
        for (int s = 0; s < roll_slots(in); s++)
            put(&b, roll_slot(in, s) < 0 ? -1 : use[roll_slot(in, s)]);
        r->shape[i] = intern(&shapes, &b);
    }
}
