#include "cuda/fuse/cuda_record.h"

#include <stdlib.h>
#include <string.h>

#include "core/coll_geometry.h"
#include "core/fail.h"

void *cuda_record_own(hap_rank *r, cuda_record *c, const void *p, size_t bytes)
{
    void *copy = hap_alloc(r, bytes ? bytes : 1);
    memcpy(copy, p, bytes);
    c->owned = hap_grow(r, c->owned, &c->cap_owned, c->n_owned + 1, sizeof *c->owned);
    c->owned[c->n_owned++] = copy;
    return copy;
}

static cuda_call *add(hap_rank *r, cuda_record *c, cuda_call_kind kind, const char *name)
{
    c->call = hap_grow(r, c->call, &c->cap, c->n + 1, sizeof *c->call);
    cuda_call *e = &c->call[c->n++];
    *e = (cuda_call){.kind = kind, .line = r->line, .name = name};
    return e;
}

// t as it lies in the place of the ring that is meant now.
static hap_tensor *placed(hap_rank *r, cuda_record *c, hap_tensor *t)
{
    if (!t || !t->ring || r->n_rings < 2) return t;
    if (!c->placed) {
        for (int i = 0; i < r->n_tensors; i++)
            c->n_placed += r->tensor[i]->ring > 0;
        c->placed = hap_alloc(r, (size_t)(c->n_placed * r->n_rings) * sizeof *c->placed);
    }
    hap_tensor **at = &c->placed[r->ring * c->n_placed + t->ring - 1];
    if (!*at) *at = cuda_record_own(r, c, t, sizeof *t);
    return *at;
}

static void place_operands(hap_rank *r, cuda_record *c, hap_op_call *op)
{
    for (int i = 0; i < op->n_out; i++)
        op->out[i] = placed(r, c, op->out[i]);
    for (int i = 0; i < op->n_in; i++)
        op->in[i] = placed(r, c, op->in[i]);
}

static hap_tensor *const *placed_list(hap_rank *r, cuda_record *c, hap_tensor *const *t, int n)
{
    hap_tensor **own = cuda_record_own(r, c, t, (size_t)n * sizeof *t);
    for (int i = 0; i < n; i++)
        own[i] = placed(r, c, t[i]);
    return own;
}

static hap_op_call own_op(hap_rank *r, cuda_record *c, const hap_op_call *op)
{
    hap_op_call own = *op;
    place_operands(r, c, &own);
    for (int i = 0; i < op->n_attr; i++)
        if (op->attr[i].v.n > 0)
            own.attr[i].v.v =
                cuda_record_own(r, c, op->attr[i].v.v, (size_t)op->attr[i].v.n * sizeof(int64_t));
    return own;
}

static void add_op(hap_rank *r, cuda_record *c, cuda_call_kind kind, const hap_op_call *op)
{
    cuda_call *e = add(r, c, kind, hap_op_names[op->op]);
    e->op = own_op(r, c, op);
}

void cuda_record_op(hap_rank *r, cuda_record *c, const hap_op_call *op)
{
    add_op(r, c, CUDA_OP, op);
}

void cuda_record_port(hap_rank *r, cuda_record *c, const hap_op_call *op)
{
    add_op(r, c, CUDA_PORT, op);
}

void cuda_record_fusion(hap_rank *r, cuda_record *c, const cuda_fusion *g, const hap_op_call *ops)
{
    cuda_fusion *own = cuda_record_own(r, c, g, sizeof *g);
    own->call = cuda_record_own(r, c, ops, (size_t)g->n_ops * sizeof *ops);
    for (int k = 0; k < g->n_ops; k++)
        own->call[k] = own_op(r, c, &ops[k]);
    for (int i = 0; i < own->n_tensors; i++)
        own->tensor[i].t = placed(r, c, own->tensor[i].t);
    add(r, c, CUDA_FUSION, g->name)->fusion = own;
}

void cuda_record_move(hap_rank *r, cuda_record *c, cuda_call_kind kind, bool keep, hap_tensor *y,
                      hap_tensor *x)
{
    cuda_call *e = add(r, c, kind, kind == CUDA_CUT ? "hap_cut" : "hap_partial");
    e->keep = keep;
    e->op.n_out = e->op.n_in = 1;
    e->op.out[0] = y;
    e->op.in[0] = x;
    place_operands(r, c, &e->op);
}

int cuda_record_start(hap_rank *r, cuda_record *c, const hap_coll_call *coll)
{
    hap_coll_call own = *coll;
    own.dst = placed_list(r, c, coll->dst, coll->n);
    own.src = placed_list(r, c, coll->src, coll->n);
    own.scratch = placed(r, c, coll->scratch);
    cuda_call *e = add(r, c, CUDA_START, hap_coll_name(coll));
    e->coll = own;
    e->other = -1;
    return c->n - 1;
}

int cuda_record_pair(hap_rank *r, cuda_record *c, const hap_pair *p)
{
    hap_pair *own = cuda_record_own(r, c, p, sizeof *p);
    own->dst = placed(r, c, p->dst);
    own->src = placed(r, c, p->src);
    own->scratch = placed(r, c, p->scratch);
    for (int i = 0; i < p->n_ops; i++)
        place_operands(r, c, &own->op[i]);
    own->chunk = cuda_record_own(r, c, p->chunk, (size_t)p->n_chunks * sizeof *p->chunk);
    if (p->tiles.said)
        own->tiles.chunk = cuda_record_own(r, c, p->tiles.chunk,
                                           (size_t)p->tiles.n_chunks * sizeof *p->tiles.chunk);
    cuda_call *e = add(r, c, CUDA_PAIR, "hap_overlap");
    e->pair = own;
    e->coll = hap_pair_coll(own);
    e->other = -1;
    return c->n - 1;
}

void cuda_record_wait(hap_rank *r, cuda_record *c, int start)
{
    cuda_call *e = add(r, c, CUDA_WAIT, "hap_wait");
    e->other = start;
    c->call[start].other = c->n - 1;
}

void *cuda_record_room(cuda_record *c, int64_t bytes)
{
    void *p = NULL;
    if (!c->room && cudaMalloc(&p, CUDA_ROOM) != cudaSuccess) {
        cudaGetLastError(); // not an error of the calls to come
        return NULL;
    }
    if (!c->room) {
        c->room = p;
        c->allocations++;
    }
    if (bytes > CUDA_ROOM - c->room_used) return NULL;
    p = c->room + c->room_used;
    c->room_used += (bytes + 255) / 256 * 256;
    return p;
}

// One tensor in spare memory; the first in a buffer owns it.
struct cuda_spare {
    char *at;
    int64_t bytes; // of the buffer
    int from, to;
    bool owns;
};

static bool may_take(const cuda_record *c, int64_t bytes)
{
    const bool few = bytes <= (int64_t)CUDA_SPARE - c->spare_bytes;
    const int64_t stays = (int64_t)(few ? CUDA_SPARE_KEEP : CUDA_SPARE_LEAVE) << 20;
    size_t left, whole;
    if (cudaMemGetInfo(&left, &whole) == cudaSuccess) return bytes <= (int64_t)left - stays;
    cudaGetLastError();
    return false;
}

void *cuda_record_spare(hap_rank *r, cuda_record *c, int64_t bytes, int from, int to)
{
    const struct cuda_spare *found = NULL;
    for (int i = 0; i < c->n_spare; i++) {
        const struct cuda_spare *s = &c->spare[i];
        bool is_free = s->owns && s->bytes >= bytes && (!found || s->bytes < found->bytes);
        for (int k = 0; is_free && k < c->n_spare; k++)
            is_free = c->spare[k].at != s->at || c->spare[k].to < from || c->spare[k].from > to;
        if (is_free) found = s;
    }
    struct cuda_spare use = {.from = from, .to = to};
    if (found) {
        use.at = found->at, use.bytes = found->bytes;
    } else {
        void *p = NULL;
        if (!may_take(c, bytes)) return NULL;
        if (cudaMalloc(&p, (size_t)bytes) != cudaSuccess) {
            cudaGetLastError(); // not an error of the calls to come
            return NULL;
        }
        c->spare_bytes += bytes;
        c->allocations++;
        use.at = p, use.bytes = bytes, use.owns = true;
    }
    c->spare = hap_grow(r, c->spare, &c->cap_spare, c->n_spare + 1, sizeof *c->spare);
    c->spare[c->n_spare++] = use;
    return use.at;
}

bool cuda_record_keeps(const cuda_record *c, const hap_tensor *t)
{
    const char *at = t->data;
    if (c->room && at >= c->room && at < c->room + CUDA_ROOM) return true;
    for (int i = 0; i < c->n_spare; i++) {
        const struct cuda_spare *s = &c->spare[i];
        if (at >= s->at && at < s->at + s->bytes) return s->from <= 0 && s->to >= c->n;
    }
    return false;
}

void cuda_record_free(cuda_record *c)
{
    if (c->room) cudaFree(c->room);
    for (int i = 0; i < c->n_spare; i++)
        if (c->spare[i].owns) cudaFree(c->spare[i].at);
    free(c->spare);
    for (int i = 0; i < c->n_owned; i++)
        free(c->owned[i]);
    free(c->owned);
    free(c->placed);
    free(c->call);
    *c = (cuda_record){0};
}
