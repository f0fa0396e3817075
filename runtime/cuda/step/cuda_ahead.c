#include "cuda/step/cuda_ahead.h"

#include "core/coll_geometry.h"
#include "cuda/fuse/cuda_list.h"

static bool touches(const cuda_record *c, int i, const hap_tensor *t)
{
    return cuda_reads(c, i, t) || cuda_writes(c, i, t);
}

static bool in_place(const hap_coll_call *c)
{
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < c->n; j++)
            if (cuda_meets(c->dst[i], c->src[j])) return true;
    return false;
}

// A collective that was under way over these bytes is waited for before they are written again, so
// its wait is a call that touches them. Not before the collective itself: i + 1.
static int free_from(const cuda_record *c, int i)
{
    const hap_coll_call *coll = &c->call[i].coll;
    if (in_place(coll)) return i + 1; // what is to be sent lies there
    for (int k = i - 1; k >= 0; k--) {
        bool touched = coll->scratch && touches(c, k, coll->scratch);
        for (int j = 0; j < coll->n && !touched; j++)
            touched = touches(c, k, coll->dst[j]);
        if (touched) return k + 1;
    }
    return 0;
}

void cuda_ahead_find(cuda_record *c)
{
    int next[CUDA_MASKS];
    for (int a = 0; a < CUDA_MASKS; a++)
        next[a] = -1;
    for (int i = c->n - 1; i >= 0; i--) {
        cuda_call *e = &c->call[i];
        bool put = e->kind == CUDA_START && hap_form_put(e->coll.form);
        if (!put && e->kind != CUDA_PAIR) continue;
        e->free_from = put ? free_from(c, i) : i + 1;
        e->next = next[e->coll.axes];
        next[e->coll.axes] = i;
    }
    for (int a = 0; a < CUDA_MASKS; a++)
        c->first[a] = next[a];
}

void cuda_ahead_begin(cuda_record *c)
{
    for (int a = 0; a < CUDA_MASKS; a++)
        c->ahead[a] = c->first[a];
}

int cuda_ahead_next(cuda_record *c, unsigned axes, int i)
{
    int k = c->ahead[axes];
    while (k >= 0 && k <= i)
        k = c->call[k].next; // has begun
    bool free = k >= 0 && c->call[k].free_from <= i + 1;
    c->ahead[axes] = free ? c->call[k].next : k;
    return free ? k : -1;
}
