// One case: its tensors, its calls, its time.

#include <stdlib.h>
#include <string.h>

#include "core/coll_geometry.h"
#include "core/comm.h"
#include "core/fail.h"
#include "core/heartbeat.h"
#include "profile/profile.h"

enum { ALIGN = 4096, MOST_STEPS = 15 };
#define LONG_STEP_SEC 0.04 // on a GPU

void *profile_own(profile *p, size_t bytes)
{
    p->owned = hap_grow(p->r, p->owned, &p->cap_owned, p->n_owned + 1, sizeof *p->owned);
    return p->owned[p->n_owned++] = hap_alloc(p->r, bytes ? bytes : 1);
}

void profile_begin(profile *p)
{
    hap_backend_forget(p->r);
    hap_tensor_free_all(p->r);
    for (int i = 0; i < p->n_owned; i++)
        free(p->owned[i]);
    p->n_owned = p->n_calls = 0;
}

static hap_tensor *place(profile *p, hap_segment seg, int64_t at, hap_dtype type, int rank,
                         const hap_dim *dims)
{
    int64_t *off = profile_own(p, sizeof *off);
    *off = at;
    return hap_at(p->r, seg, off, type, rank, dims);
}

hap_tensor *profile_cut(profile *p, int zone, hap_dtype type, int rank, const hap_dim *dims)
{
    int64_t bytes = hap_dtype_bytes(type);
    for (int d = 0; d < rank; d++)
        bytes *= dims[d].outer * dims[d].inner * hap_dim_range(p->r, &dims[d], 0, 0).n;
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (bytes > p->zone[zone] / 3) return NULL;
    if (p->at[zone] + bytes > p->zone[zone]) p->at[zone] = 0;
    int64_t at = (zone == PROFILE_OUT ? p->zone[PROFILE_IN] : 0) + p->at[zone];
    p->at[zone] += bytes;
    return place(p, zone == PROFILE_SYM ? SEG_SYM : SEG_LOCAL, at, type, rank, dims);
}

hap_tensor *profile_tensor(profile *p, int zone, hap_dtype type, int rank, const int64_t *size)
{
    hap_dim dim[HAP_MAX_RANK];
    for (int d = 0; d < rank; d++)
        dim[d] = WHOLE(size[d]);
    return profile_cut(p, zone, type, rank, dim);
}

hap_tensor *profile_ids(profile *p, int64_t n)
{
    if (n * 8 > p->ids) return NULL;
    return place(p, SEG_LOCAL, p->zone[PROFILE_IN] + p->zone[PROFILE_OUT], HAP_I64, 1,
                 HAP_DIMS(WHOLE(n)));
}

profile_call *profile_add(profile *p, profile_call_kind kind)
{
    p->call = hap_grow(p->r, p->call, &p->cap_calls, p->n_calls + 1, sizeof *p->call);
    profile_call *c = &p->call[p->n_calls++];
    *c = (profile_call){.kind = kind};
    return c;
}

void profile_add_coll(profile *p, const hap_coll_call *coll, hap_tensor *dst, hap_tensor *src)
{
    profile_call *c = profile_add(p, CALL_START);
    hap_coll_call asked = *coll;
    asked.n = 1;
    asked.dst = &dst;
    asked.src = &src;
    int64_t scratch = hap_coll_scratch_bytes(p->r, &asked);
    HAP_CK(p->r, scratch >= 0, "a collective that does not fit its tensors");
    c->coll = *coll;
    c->coll.n = 1;
    c->dst = dst;
    c->src = src;
    bool put = hap_form_put(coll->form);
    if (scratch > 0)
        c->coll.scratch = profile_tensor(p, put ? PROFILE_SYM : PROFILE_OUT, HAP_F32, 1,
                                         &(int64_t){(scratch + 3) / 4});
    HAP_CK(p->r, scratch == 0 || c->coll.scratch, "scratch of %lld bytes does not fit its zone",
           (long long)scratch);
}

static void bracket(profile *p, profile_call_kind kind, int n_chunks, const int64_t (*chunks)[3],
                    const hap_pair_tiles *tiles)
{
    if (n_chunks == 0) return;
    profile_call *c = profile_add(p, kind);
    c->n_chunks = n_chunks;
    c->chunks = chunks;
    c->tiles = tiles;
}

void profile_add_matmul(profile *p, hap_tensor *y, hap_tensor *x, hap_tensor *w)
{
    profile_add(p, CALL_OP)->op = (hap_op_call){.op = HAP_OP_linear,
                                                .n_in = 2,
                                                .in = {x, w},
                                                .n_out = 1,
                                                .out = {y},
                                                .n_attr = 1,
                                                .attr = {{.i = HAP_NN}}};
}

void profile_add_gathered(profile *p, hap_form form, int n_chunks, const int64_t (*chunks)[3],
                          const hap_pair_tiles *tiles, hap_tensor *full, hap_tensor *x,
                          hap_tensor *w, hap_tensor *y)
{
    hap_coll_call c = {.kind = HAP_ALL_GATHER, .axes = AXIS(0), .form = form};
    bracket(p, CALL_OVERLAP, n_chunks, chunks, tiles);
    profile_add_coll(p, &c, full, x);
    profile_add(p, CALL_WAIT);
    profile_add_matmul(p, y, full, w);
    bracket(p, CALL_OVERLAPPED, n_chunks, chunks, tiles);
}

void profile_add_scattered(profile *p, const hap_coll_call *c, int n_chunks,
                           const int64_t (*chunks)[3], const hap_pair_tiles *tiles, hap_tensor *dst,
                           hap_tensor *y, hap_tensor *x, hap_tensor *w)
{
    bracket(p, CALL_OVERLAP, n_chunks, chunks, tiles);
    profile_add_matmul(p, y, x, w);
    profile_add_coll(p, c, dst, y);
    bracket(p, CALL_OVERLAPPED, n_chunks, chunks, tiles);
    profile_add(p, CALL_WAIT);
}

static void start(hap_rank *r, profile_call *c, hap_event **e)
{
    const hap_coll_call *k = &c->coll;
    switch (k->kind) {
    case HAP_ALL_GATHER:
        *e = coll_all_gather_start(r, k->axes, k->form, 1, &c->dst, &c->src, k->scratch);
        break;
    case HAP_REDUCE_SCATTER:
        *e = coll_reduce_scatter_start(r, k->axes, k->form, 1, &c->dst, &c->src, k->scratch);
        break;
    case HAP_ALL_REDUCE:
        *e = coll_all_reduce_start(r, k->axes, k->form, 1, &c->dst, &c->src, k->scratch);
        break;
    case HAP_ALL_TO_ALL:
        *e = coll_all_to_all_start(r, k->axes, k->form, 1, &c->dst, &c->src, k->scratch);
        break;
    case HAP_RESHARD:
        *e = coll_reshard_start(r, k->axes, k->form, 1, &c->dst, &c->src, k->scratch);
        break;
    }
}

// A step as hap_next_step makes it, without inputs and reports.
double profile_step(profile *p)
{
    hap_rank *r = p->r;
    hap_event *e = NULL;
    double from = hap_seconds();
    hap_backend_begin(r);
    r->in_step = true;
    for (int i = 0; i < p->n_calls; i++) {
        profile_call *c = &p->call[i];
        switch (c->kind) {
        case CALL_OP:
            hap_dispatch(r, &c->op);
            break;
        case CALL_CUT:
            hap_cut(r, c->op.out[0], c->op.in[0]);
            break;
        case CALL_START:
            start(r, c, &e);
            break;
        case CALL_WAIT:
            hap_wait(r, e);
            break;
        case CALL_OVERLAP:
            hap_overlap(r, c->n_chunks, c->chunks);
            if (c->tiles)
                hap_tiles(r, c->tiles->rows, c->tiles->cols, c->tiles->how, c->tiles->n_chunks,
                          c->tiles->chunk);
            break;
        case CALL_OVERLAPPED:
            hap_overlapped(r);
            break;
        }
    }
    hap_backend_sync(r);
    r->in_step = false;
    r->now.step++;
    return hap_seconds() - from;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double profile_run(profile *p)
{
    double sec[MOST_STEPS], warm = 0;
    // CUDA: called, recorded, captured, replayed. Beside a long step what launches take is nothing,
    // and one tells as much as several.
    int is_long = 0;
    for (int i = 0; i < (p->device.gpu ? 4 : 1) && !is_long; i++) {
        warm = profile_step(p);
        is_long = p->device.gpu && i > 0 && warm > LONG_STEP_SEC;
        hap_comm_broadcast(p->r, &is_long, sizeof is_long);
    }
    double wanted = (p->quick ? 2e-3 : p->device.gpu ? 30e-3 : 60e-3) / (warm + 1e-9);
    int n = wanted > MOST_STEPS ? MOST_STEPS : is_long ? 1 : wanted < 3 ? 3 : (int)wanted;
    int before = (int)(p->heat / (warm + 1e-5));
    hap_comm_broadcast(p->r, &n, sizeof n);
    hap_comm_broadcast(p->r, &before, sizeof before);
    for (int i = 0; i < before; i++)
        profile_step(p);
    for (int i = 0; i < n; i++) {
        hap_comm_barrier(p->r);
        sec[i] = profile_step(p);
    }
    qsort(sec, (size_t)n, sizeof *sec, by_size);
    double median = sec[n / 2] - p->step_sec;
    return median > 1e-9 ? median : 1e-9;
}

int profile_times(const profile *p, double flops, double bytes)
{
    double target = p->device.gpu ? 1e-3 : p->quick ? 0.5e-3 : 4e-3;
    double about =
        p->device.gpu ? 2e-6 + flops / 4e14 + bytes / 2e12 : 1e-6 + flops / 2e10 + bytes / 5e9;
    double n = target / about, most = p->device.gpu ? 100 : 40;
    return n > most ? (int)most : n < 1 ? 1 : (int)n;
}

void profile_keep(profile *p, profile_result x)
{
    p->result = hap_grow(p->r, p->result, &p->cap_results, p->n_results + 1, sizeof *p->result);
    p->result[p->n_results++] = x;
}
