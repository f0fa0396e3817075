#include "cuda/fuse/cuda_list.h"

#include <string.h>

#include "core/coll_geometry.h"
#include "core/fail.h"

bool cuda_meets(const hap_tensor *a, const hap_tensor *b)
{
    const char *p = a->data, *q = b->data;
    return p < q + b->bytes && q < p + a->bytes;
}

bool cuda_same_place(const hap_tensor *a, const hap_tensor *b)
{
    return a->data == b->data && a->bytes == b->bytes && a->type == b->type;
}

static bool coll_reads(const hap_coll_call *c, const hap_tensor *t)
{
    for (int i = 0; i < c->n; i++)
        if (cuda_meets(c->src[i], t)) return true;
    return false;
}

static bool coll_writes(const hap_coll_call *c, const hap_tensor *t)
{
    for (int i = 0; i < c->n; i++)
        if (cuda_meets(c->dst[i], t)) return true;
    return c->scratch && cuda_meets(c->scratch, t);
}

// A collective may read and write at any time from its start to its wait; both calls count as such.
// Between them no call but itself touches what it writes, or the program has a race.
static const hap_coll_call *coll_of(const cuda_record *c, int i)
{
    const cuda_call *e = &c->call[i];
    if (e->kind == CUDA_WAIT) return &c->call[e->other].coll;
    return e->kind == CUDA_START || e->kind == CUDA_PAIR ? &e->coll : NULL;
}

static bool op_reads(const hap_op_call *o, const hap_tensor *t)
{
    for (int k = 0; k < o->n_in; k++)
        if (o->in[k] && cuda_meets(o->in[k], t)) return true;
    return false;
}

bool cuda_reads(const cuda_record *c, int i, const hap_tensor *t)
{
    const cuda_call *e = &c->call[i];
    for (int k = 0; e->kind == CUDA_FUSION && k < e->fusion->n_tensors; k++)
        if (e->fusion->tensor[k].read && cuda_meets(e->fusion->tensor[k].t, t)) return true;
    const hap_coll_call *coll = coll_of(c, i);
    for (int k = 0; e->kind == CUDA_PAIR && k < e->pair->n_ops; k++)
        if (op_reads(&e->pair->op[k], t)) return true;
    if (coll) return coll_reads(coll, t);
    if (e->kind == CUDA_DONE) return false;
    return op_reads(&e->op, t);
}

bool cuda_writes(const cuda_record *c, int i, const hap_tensor *t)
{
    const cuda_call *e = &c->call[i];
    for (int k = 0; e->kind == CUDA_FUSION && k < e->fusion->n_tensors; k++)
        if (e->fusion->tensor[k].written && cuda_meets(e->fusion->tensor[k].t, t)) return true;
    const hap_coll_call *coll = coll_of(c, i);
    for (int k = 0; e->kind == CUDA_PAIR && k < e->pair->n_ops; k++)
        if (cuda_meets(e->pair->op[k].out[0], t)) return true;
    if (coll) return coll_writes(coll, t);
    if (e->kind == CUDA_DONE) return false;
    for (int k = 0; k < e->op.n_out; k++)
        if (cuda_meets(e->op.out[k], t)) return true;
    return false;
}

bool cuda_under_way(const cuda_record *c, int from, int to, const hap_tensor *t)
{
    for (int i = 0; i <= to && i < c->n; i++)
        if ((c->call[i].kind == CUDA_START || c->call[i].kind == CUDA_PAIR) &&
            c->call[i].other >= from &&
            (coll_writes(&c->call[i].coll, t) || coll_reads(&c->call[i].coll, t)))
            return true;
    return false;
}

static bool outlives(const hap_rank *r, const hap_tensor *t, bool inputs)
{
    for (int i = 0; i < r->n_vars; i++)
        if ((inputs || r->var[i].kind != HAP_VAR_INPUT) && cuda_meets(r->var[i].t, t)) return true;
    return r->loss && cuda_meets(r->loss, t);
}

bool cuda_outlives(const hap_rank *r, const hap_tensor *t)
{
    return outlives(r, t, true);
}

bool cuda_made_outlives(const hap_rank *r, const hap_tensor *t)
{
    return outlives(r, t, false);
}

int cuda_next_write(const cuda_record *c, int i, const hap_tensor *t)
{
    for (i++; i < c->n; i++)
        if (cuda_writes(c, i, t)) return i;
    return c->n;
}

int cuda_last_write(const cuda_record *c, int i, const hap_tensor *t)
{
    for (i--; i >= 0; i--)
        if (cuda_writes(c, i, t)) return i;
    return -1;
}

bool cuda_untouched(const cuda_record *c, int from, int to, const hap_tensor *t)
{
    for (int k = from; k <= to && k < c->n; k++)
        if (cuda_reads(c, k, t) || cuda_writes(c, k, t)) return false;
    return !cuda_under_way(c, from, to, t);
}

bool cuda_only_reads(const cuda_record *c, int from, int reader, const hap_tensor *t)
{
    int end = cuda_next_write(c, from, t);
    for (int k = from + 1; k <= end && k < c->n; k++)
        if (k != reader && cuda_reads(c, k, t)) return false;
    return reader <= end;
}

hap_tensor *cuda_retyped(hap_rank *r, cuda_record *c, const hap_tensor *as, const hap_tensor *of)
{
    hap_tensor t = *as;
    t.type = of->type;
    t.data = of->data;
    t.bytes = of->bytes;
    return cuda_record_own(r, c, &t, sizeof t);
}

static bool within(const hap_tensor *part, const hap_tensor *t)
{
    const char *p = part->data, *q = t->data;
    return part->type == t->type && p >= q && p + part->bytes <= q + t->bytes;
}

static bool src_within(const hap_coll_call *c, const hap_tensor *t)
{
    for (int i = 0; i < c->n; i++)
        if (cuda_meets(c->src[i], t) && !within(c->src[i], t)) return false;
    return !hap_form_put(c->form) && !coll_writes(c, t);
}

static bool known_readers(const cuda_record *c, int from, const hap_tensor *t, bool colls,
                          int *last)
{
    int end = cuda_next_write(c, from, t);
    *last = from;
    for (int k = from + 1; k <= end && k < c->n; k++) {
        const cuda_call *e = &c->call[k];
        if (!cuda_reads(c, k, t)) continue;
        *last = k;
        if (colls && e->kind == CUDA_START && src_within(&e->coll, t)) continue;
        if (colls && e->kind == CUDA_WAIT && e->other > from) continue;
        if (e->kind != CUDA_OP || e->at) return false;
        for (int i = 0; i < e->op.n_in; i++)
            if (e->op.in[i] && cuda_meets(e->op.in[i], t) && !within(e->op.in[i], t)) return false;
    }
    return true;
}

bool cuda_ops_read(const cuda_record *c, int from, const hap_tensor *t, int *last)
{
    return known_readers(c, from, t, false, last);
}

bool cuda_ops_or_colls_read(const cuda_record *c, int from, const hap_tensor *t, int *last)
{
    return known_readers(c, from, t, true, last);
}

// The part of `there` that `part` is of t.
static hap_tensor *part_there(hap_rank *r, cuda_record *c, const hap_tensor *part,
                              const hap_tensor *t, const hap_tensor *there)
{
    hap_tensor at = *there;
    at.data = (char *)there->data + ((const char *)part->data - (const char *)t->data);
    at.bytes = part->bytes;
    return cuda_retyped(r, c, part, &at);
}

void cuda_redirect(hap_rank *r, cuda_record *c, int from, int to, const hap_tensor *t,
                   const hap_tensor *there)
{
    for (int k = from; k <= to; k++) {
        cuda_call *e = &c->call[k];
        for (int i = 0; e->kind == CUDA_OP && i < e->op.n_in; i++)
            if (e->op.in[i] && within(e->op.in[i], t))
                e->op.in[i] = part_there(r, c, e->op.in[i], t, there);
        for (int i = 0; e->kind == CUDA_START && i < e->coll.n; i++) {
            if (!within(e->coll.src[i], t)) continue;
            hap_tensor **src = cuda_record_own(r, c, e->coll.src, (size_t)e->coll.n * sizeof *src);
            src[i] = part_there(r, c, src[i], t, there);
            e->coll.src = src;
        }
    }
}

static bool ordered(const cuda_record *c, int k, const hap_op_call *o)
{
    for (int i = 0; i < o->n_out; i++)
        if (cuda_reads(c, k, o->out[i]) || cuda_writes(c, k, o->out[i])) return true;
    for (int i = 0; i < o->n_in; i++)
        if (o->in[i] && cuda_writes(c, k, o->in[i])) return true;
    return false;
}

bool cuda_ordered(const cuda_record *c, int k, int j)
{
    return ordered(c, k, &c->call[j].op);
}

bool cuda_may_rise(const cuda_record *c, int from, int to, const hap_op_call *op)
{
    for (int k = to; k < from; k++)
        if (ordered(c, k, op)) return false;
    return true;
}

static int renumbered(int k, int from, int to)
{
    return k == from ? to : k >= to && k < from ? k + 1 : k > from && k <= to ? k - 1 : k;
}

static void renumber(cuda_record *c, int from, int to)
{
    for (int k = 0; k < c->n; k++)
        if (c->call[k].kind == CUDA_START || c->call[k].kind == CUDA_WAIT ||
            c->call[k].kind == CUDA_PAIR)
            c->call[k].other = renumbered(c->call[k].other, from, to);
}

static void move_up(cuda_record *c, int from, int to)
{
    cuda_call moved = c->call[from];
    memmove(&c->call[to + 1], &c->call[to], (size_t)(from - to) * sizeof moved);
    c->call[to] = moved;
    renumber(c, from, to);
}

bool cuda_moves_up(cuda_record *c, int from, int to)
{
    if (!cuda_may_rise(c, from, to, &c->call[from].op)) return false;
    move_up(c, from, to);
    return true;
}

bool cuda_start_ordered(const cuda_record *c, int k, int start)
{
    const hap_coll_call *coll = &c->call[start].coll;
    for (int i = 0; i < coll->n; i++)
        if (cuda_writes(c, k, coll->src[i]) || cuda_writes(c, k, coll->dst[i]) ||
            cuda_reads(c, k, coll->dst[i]))
            return true;
    return coll->scratch && (cuda_writes(c, k, coll->scratch) || cuda_reads(c, k, coll->scratch));
}

void cuda_start_goes(cuda_record *c, int from, int to)
{
    move_up(c, from, to);
}

bool cuda_updates(const cuda_call *e)
{
    return e->kind == CUDA_OP && cuda_update_places(e->op.op) > 0;
}

static bool is_full(const cuda_call *first)
{
    return first->n_joined >= (cuda_updates(first) ? CUDA_MAX_UPDATES : CUDA_MAX_CHAIN);
}

bool cuda_leads(cuda_record *c, int from, int first)
{
    int to = first - 1;
    if (is_full(&c->call[first])) return false;
    for (int k = from + 1; k <= to; k++)
        if (cuda_ordered(c, k, from)) return false;
    cuda_call moved = c->call[from];
    memmove(&c->call[from], &c->call[from + 1], (size_t)(to - from) * sizeof moved);
    moved.chain = c->call[first].chain;
    moved.n_joined = c->call[first].n_joined + 1;
    c->call[to] = moved;
    c->call[first].kind = CUDA_JOINED;
    c->call[first].chain = CUDA_ALONE;
    c->call[first].n_joined = 0;
    renumber(c, from, to);
    return true;
}

void cuda_insert(hap_rank *r, cuda_record *c, int at, const hap_op_call *op)
{
    c->call = hap_grow(r, c->call, &c->cap, c->n + 1, sizeof *c->call);
    cuda_call *e = &c->call[at],
              made = {.kind = CUDA_OP, .line = e->line, .name = e->name, .op = *op};
    memmove(e + 1, e, (size_t)(c->n - at) * sizeof *e);
    *e = made;
    c->n++;
    for (int k = 0; k < c->n; k++)
        if (k != at && (c->call[k].kind == CUDA_START || c->call[k].kind == CUDA_WAIT ||
                        c->call[k].kind == CUDA_PAIR))
            c->call[k].other += c->call[k].other >= at;
}

void cuda_opens(hap_rank *r, cuda_record *c, int i)
{
    const cuda_fusion *g = c->call[i].fusion;
    int line = c->call[i].line, last = g->n_ops - 1;
    for (int k = 0; k < last; k++)
        cuda_insert(r, c, i + k, &g->call[k]);
    c->call[i + last] = (cuda_call){.kind = CUDA_OP, .line = line, .op = g->call[last]};
    for (int k = 0; k <= last; k++) {
        c->call[i + k].name = hap_op_names[g->op[k]];
        c->call[i + k].line = g->line[k];
    }
}

bool cuda_joins(cuda_record *c, int first, int j)
{
    int to = first + c->call[first].n_joined + 1;
    if (is_full(&c->call[first]) || !cuda_moves_up(c, j, to)) return false;
    c->call[to].kind = CUDA_JOINED;
    c->call[first].n_joined++;
    return true;
}

int cuda_reader_near(const cuda_record *c, int i, hap_op_id op, const hap_tensor *t)
{
    return cuda_reader_within(c, i, 8, op, t);
}

int cuda_reader_within(const cuda_record *c, int i, int most, hap_op_id op, const hap_tensor *t)
{
    for (int k = i + 1, near = 0; k < c->n && near < most; k++) {
        const cuda_call *e = &c->call[k];
        near += e->kind != CUDA_DONE && e->kind != CUDA_JOINED;
        if (e->kind != CUDA_OP || e->op.op != op || e->chain) continue;
        for (int o = 0; o < e->op.n_in; o++)
            if (e->op.in[o] && cuda_same_place(e->op.in[o], t)) return k;
    }
    return -1;
}

bool cuda_apart(const hap_op_call *const *op, int n)
{
    for (int a = 0; a < n; a++)
        for (int o = 0; o < op[a]->n_out; o++)
            for (int b = 0; b < n; b++) {
                for (int i = 0; i < op[b]->n_in; i++)
                    if (op[b]->in[i] && cuda_meets(op[a]->out[o], op[b]->in[i]) &&
                        !cuda_same_place(op[a]->out[o], op[b]->in[i]))
                        return false;
                for (int i = 0; i < op[b]->n_out; i++)
                    if (cuda_meets(op[a]->out[o], op[b]->out[i]) &&
                        !cuda_same_place(op[a]->out[o], op[b]->out[i]))
                        return false;
            }
    return true;
}

// Renaming: what is small need not wait for its place in the arena.
bool cuda_gets_room(hap_rank *r, cuda_record *c, int i, const hap_tensor *t)
{
    enum { SMALL = 1 << 20 };
    cuda_call *e = &c->call[i];
    int slot = -1, last;
    if (e->kind != CUDA_OP || e->at || t->bytes > SMALL || cuda_outlives(r, t)) return false;
    for (int k = 0; k < e->op.n_out; k++)
        if (cuda_meets(e->op.out[k], t)) {
            if (slot >= 0 || !cuda_same_place(e->op.out[k], t)) return false;
            slot = k;
        }
    for (int k = 0; k < e->op.n_in; k++)
        if (e->op.in[k] && cuda_meets(e->op.in[k], t)) return false;
    if (slot < 0 || !cuda_ops_read(c, i, t, &last)) return false;
    hap_tensor there = *t;
    there.data = cuda_record_room(c, t->bytes);
    if (!there.data) return false;
    const hap_tensor old = *t; // t may be the call's own
    e->op.out[slot] = cuda_record_own(r, c, &there, sizeof there);
    cuda_redirect(r, c, i + 1, last, &old, &there);
    return true;
}
