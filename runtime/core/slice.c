#include "core/slice.h"

#include <string.h>

typedef struct walk {
    int rank;
    const hap_dim *dims;
    const hap_range *part;
    int64_t local[HAP_MAX_RANK + 1], global[HAP_MAX_RANK + 1]; // elements of dims [i, rank)
    hap_run_fn *fn;
    void *user;
} walk;

static void visit(const walk *w, int i, int64_t local, int64_t global)
{
    if (w->local[i] == w->global[i]) {
        w->fn(w->user, local, global, w->local[i]);
        return;
    }
    const hap_dim *d = &w->dims[i];
    hap_range p = w->part[i];
    int64_t l = w->local[i + 1], g = w->global[i + 1], n = p.n * d->inner;
    for (int64_t o = 0; o < d->outer; o++) {
        int64_t lo = local + o * n * l, go = global + (o * d->n + p.lo) * d->inner * g;
        if (l == g) {
            w->fn(w->user, lo, go, n * l);
            continue;
        }
        for (int64_t k = 0; k < n; k++)
            visit(w, i + 1, lo + k * l, go + k * g);
    }
}

void hap_slice_runs(int rank, const hap_dim *dims, const hap_range *part, hap_run_fn *fn,
                    void *user)
{
    walk w = {.rank = rank, .dims = dims, .part = part, .fn = fn, .user = user};
    w.local[rank] = w.global[rank] = 1;
    for (int i = rank - 1; i >= 0; i--) {
        w.local[i] = w.local[i + 1] * dims[i].outer * part[i].n * dims[i].inner;
        w.global[i] = w.global[i + 1] * hap_dim_size(&dims[i]);
    }
    if (w.local[0] > 0) visit(&w, 0, 0, 0);
}

static unsigned all_axes(const hap_rank *r)
{
    return r->n_axes == 2 ? 3u : 1u;
}

int64_t hap_slice_of(const hap_rank *r, const hap_tensor *t, int q, hap_range *part)
{
    int64_t elements = 1;
    for (int i = 0; i < t->rank; i++) {
        part[i] = hap_dim_range(r, &t->dim[i], all_axes(r), q);
        elements *= t->dim[i].outer * part[i].n * t->dim[i].inner;
    }
    return elements;
}

bool hap_slice_owner(const hap_rank *r, const hap_tensor *t, int q)
{
    for (int a = 0; a < r->n_axes; a++) {
        int coord = r->n_axes == 2 ? (a == 0 ? q / r->size[1] : q % r->size[1]) : q;
        bool cuts = false;
        for (int i = 0; i < t->rank; i++)
            cuts |= hap_dim_in_group(&t->dim[i], AXIS(a));
        if (!cuts && coord != 0) return false;
    }
    return true;
}

typedef struct copy {
    char *to;
    const char *from;
    int64_t item;
    bool out; // local -> global
} copy;

static void copy_run(void *user, int64_t local, int64_t global, int64_t n)
{
    const copy *c = user;
    memcpy(c->to + (c->out ? global : local) * c->item,
           c->from + (c->out ? local : global) * c->item, (size_t)(n * c->item));
}

void hap_slice_read(const hap_rank *r, const hap_tensor *t, void *local, const void *global)
{
    hap_range part[HAP_MAX_RANK];
    copy c = {local, global, hap_dtype_bytes(t->type), false};
    hap_slice_of(r, t, r->member, part);
    hap_slice_runs(t->rank, t->dim, part, copy_run, &c);
}

void hap_slice_write(const hap_rank *r, const hap_tensor *t, int q, const void *local, void *global)
{
    hap_range part[HAP_MAX_RANK];
    copy c = {global, local, hap_dtype_bytes(t->type), true};
    hap_slice_of(r, t, q, part);
    hap_slice_runs(t->rank, t->dim, part, copy_run, &c);
}
