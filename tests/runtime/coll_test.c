// Every kind and form of collective on random shapes, factor cuts, tables with zeros, meshes, types
// and lists, several under way at once, against values computed from global indices alone.
//
//     mpirun -n 4 coll_test [rounds] [seed]

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend.h"
#include "core/coll_geometry.h"
#include "core/comm.h"
#include "tests/support/coll_memory.h"
#include "tests/support/coll_random.h"
#include "tests/support/test_options.h"

enum { ARENA = 64 << 20, MAX_FLIGHT = 3, POISON = 0xA5 };

// --- the mesh and memory of a round ---
static hap_rank *r;
static int failures;
static int seen[HAP_RESHARD + 1][FORM_PUTS + 1][4]; // on meshes of two real axes, by mask
enum { MOST_COPIES = 3 };
static int seen_copies[HAP_RESHARD + 1][MOST_COPIES + 1];
static int seen_joint[HAP_RESHARD + 1]; // over axis 1, of a factor that axis 0 cuts as well
static int64_t bump[2];                 // by segment
static int64_t offsets[256];            // by class, which here is the rank; all the same

static void fail(const char *what, const hap_coll_call *c, const hap_tensor *dst, int64_t at)
{
    char text[128];
    if (failures++ < 10)
        fprintf(stderr, "rank %d: %s %s of %s: %s at element %lld\n", r->id, hap_coll_name(c),
                hap_form_name(c->form).s, hap_tensor_text(r, dst, text, sizeof text), what,
                (long long)at);
}

// A tensor, and the memory that the host reads and writes for it (coll_memory.h).
typedef struct held {
    hap_tensor *t, host; // host: the same tensor there
    int64_t room;        // bytes of it, with some behind the tensor
} held;

static held declare(hap_segment seg, hap_dtype type, int rank, const hap_dim *dims)
{
    held h;
    int64_t bytes = hap_dtype_bytes(type);
    for (int i = 0; i < rank; i++)
        bytes *= hap_dim_size(&dims[i]);
    r->in_step = false;
    for (int i = 0; i < 256; i++)
        offsets[i] = bump[seg];
    h.room = (bytes + 64 + 255) / 256 * 256;
    h.t = hap_at(r, seg, offsets, type, rank, dims);
    r->in_step = true;
    h.host = *h.t;
    h.host.data = malloc((size_t)h.room);
    memset(h.host.data, POISON, (size_t)h.room);
    coll_memory_put(h.t->data, h.host.data, h.room);
    bump[seg] += h.room;
    return h;
}

static void release(held *h)
{
    free(h->host.data);
}

// --- one random collective ---
typedef struct flight {
    hap_coll_call call;
    hap_tensor *dst[COLL_MOST_LIST], *src[COLL_MOST_LIST];
    held hd[COLL_MOST_LIST], hs[COLL_MOST_LIST], hx; // of dst, src, scratch
    unsigned char *src_copy[COLL_MOST_LIST];
    hap_event *event;
} flight;

static void launch(flight *f)
{
    hap_coll_call *c = &f->call;
    hap_dtype type;
    memset(f, 0, sizeof *f);
    coll_call(r, c, &type);
    c->dst = f->dst;
    c->src = f->src;
    bool put = hap_form_put(c->form);
    for (int k = 0; k < c->n; k++) {
        coll_shape s;
        coll_shapes(r, c, &s);
        for (int i = 0; i < s.rank && c->axes == 2u; i++)
            seen_joint[c->kind] += s.src[i].axis == HAP_BOTH || s.dst[i].axis == HAP_BOTH;
        bool in_place = c->kind == HAP_ALL_REDUCE && coll_chance(50);
        // Of the library some lie where one-sided puts go, and their operands do not.
        bool sym = put ? c->kind != HAP_REDUCE_SCATTER : coll_chance(30);
        hap_segment at = sym ? SEG_SYM : SEG_LOCAL;
        f->hs[k] = declare(in_place ? at : SEG_LOCAL, type, s.rank, s.src);
        f->hd[k] = in_place ? f->hs[k] : declare(at, type, s.rank, s.dst);
        f->src[k] = f->hs[k].t;
        f->dst[k] = f->hd[k].t;
        for (int64_t i = 0; i < f->src[k]->elements; i++)
            coll_set(&f->hs[k].host, i,
                     coll_value(type, coll_global(f->src[k], i), coll_sums(c) ? r->id : 0, k));
        coll_memory_put(f->src[k]->data, f->hs[k].host.data, f->hs[k].room);
        f->src_copy[k] = malloc((size_t)f->hs[k].room);
        memcpy(f->src_copy[k], f->hs[k].host.data, (size_t)f->hs[k].room);
    }
    if (r->n_axes == 2 && r->size[0] > 1 && r->size[1] > 1)
        seen[c->kind][put ? FORM_PUTS : c->form][c->axes]++;
    if (put && hap_form_copies(c->form) <= MOST_COPIES)
        seen_copies[c->kind][hap_form_copies(c->form)]++;
    // Groups whose parts of other dims are larger need more; it lies at one place on all ranks.
    int64_t need = -hap_comm_min(r, -(int)hap_coll_scratch_bytes(r, c));
    if (need > 0) {
        hap_dim d = WHOLE(need);
        f->hx = declare(put ? SEG_SYM : SEG_LOCAL, HAP_BOOL, 1, &d);
        c->scratch = f->hx.t;
    }
    f->event = coll_start(r, c);
}

static bool poisoned(const held *h)
{
    const unsigned char *p = h->host.data;
    for (int64_t i = h->host.bytes; i < h->room; i++) {
        if (p[i] != POISON) return false;
    }
    return true;
}

static void fetch(held *h)
{
    coll_memory_get(h->host.data, h->t->data, h->room);
}

static void check(flight *f)
{
    for (int k = 0; k < f->call.n; k++) {
        const hap_tensor *dst = f->dst[k], *src = f->src[k];
        fetch(&f->hd[k]);
        if (dst != src) fetch(&f->hs[k]);
        for (int64_t i = 0; i < dst->elements; i++) {
            double want = coll_expected(r, &f->call, dst->type, coll_global(dst, i), k),
                   have = coll_get(&f->hd[k].host, i);
            if (want < have || want > have) {
                fail("wrong value", &f->call, dst, i);
                break;
            }
        }
        if (dst != src && !poisoned(&f->hd[k])) fail("written past dst", &f->call, dst, 0);
        if (dst != src && memcmp(f->hs[k].host.data, f->src_copy[k], (size_t)f->hs[k].room) != 0)
            fail("src changed", &f->call, dst, 0);
        release(&f->hs[k]);
        if (dst != src) release(&f->hd[k]);
        free(f->src_copy[k]);
    }
    if (!f->call.scratch) return;
    fetch(&f->hx);
    if (!poisoned(&f->hx)) fail("written past scratch", &f->call, f->dst[0], 0);
    release(&f->hx);
}

// Every kind and form over every mask, and every kind that there is of a factor over both axes.
static int check_seen(void)
{
    int missing = 0;
    for (int k = 0; k <= HAP_RESHARD; k++) {
        missing += k != HAP_ALL_REDUCE && seen_joint[k] == 0;
        for (int copies = 1; copies <= MOST_COPIES && k != HAP_RESHARD; copies++)
            missing += seen_copies[k][copies] == 0;
        for (int i = 0; i < COLL_N_FORMS; i++)
            for (unsigned mask = 1; mask < 4; mask++)
                missing += seen[k][coll_forms[k][i]][mask] == 0 &&
                           (coll_forms[k][i] != FORM_TWO_LEVEL || mask == 3u);
    }
    if (missing > 0) fprintf(stderr, "coll_test: %d kinds, forms and masks not seen\n", missing);
    return missing;
}

static void check_local_changes(void)
{
    for (int k = 0; k < 4; k++) {
        coll_shape s;
        unsigned axes = r->n_axes == 2 ? (unsigned)(1 + coll_below(3)) : 1u;
        hap_coll_call c = {.kind = HAP_ALL_GATHER, .axes = axes, .form = FORM_PADDED};
        bump[SEG_LOCAL] = 0;
        coll_shapes(r, &c, &s);
        held hx = declare(SEG_LOCAL, HAP_F32, s.rank, s.dst);
        held hy = declare(SEG_LOCAL, HAP_F32, s.rank, s.src);
        hap_tensor *x = hx.t, *y = hy.t;
        for (int64_t i = 0; i < x->elements; i++)
            coll_set(&hx.host, i, coll_value(HAP_F32, coll_global(x, i), 0, 0));
        coll_memory_put(x->data, hx.host.data, hx.room);
        hap_cut(r, y, x);
        hap_backend_sync(r);
        fetch(&hy);
        for (int64_t i = 0; i < y->elements; i++) {
            double want = coll_value(HAP_F32, coll_global(y, i), 0, 0),
                   have = coll_get(&hy.host, i);
            if (want < have || want > have) fail("hap_cut", &c, y, i);
        }
        if (!poisoned(&hy)) fail("hap_cut wrote past y", &c, y, 0);

        held hz = declare(SEG_LOCAL, HAP_F32, s.rank, s.dst);
        hap_tensor *z = hz.t;
        bool zero = false, over = false;
        for (int a = 0; a < r->n_axes; a++)
            zero |= (axes & AXIS(a)) && r->coord[a] != 0;
        for (int i = 0; i < x->rank; i++)
            over |= hap_dim_in_group(&x->dim[i], axes);
        if (!over) hap_partial(r, axes, z, x);
        hap_backend_sync(r);
        fetch(&hz);
        for (int64_t i = 0; i < z->elements && !over; i++) {
            double want = zero ? 0 : coll_get(&hx.host, i), have = coll_get(&hz.host, i);
            if (want < have || want > have) fail("hap_partial", &c, z, i);
        }
        release(&hx);
        release(&hy);
        release(&hz);
    }
}

int main(int argc, char **argv)
{
    static hap_rank base;
    hap_comm_start(&base, &argc, &argv);
    test_options(&base.opt);
    int rounds = argc > 1 ? atoi(argv[1]) : 60;
    uint64_t seed = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
    int class_of[64];
    for (int i = 0; i < 64; i++)
        class_of[i] = i;
    int64_t local[64], done = 0;
    for (int i = 0; i < 64; i++)
        local[i] = ARENA;
    for (int round = 0; round < rounds; round++) {
        hap_rank rank = base;
        int n_axes, size[2];
        coll_seed(seed * 7919 + (uint64_t)round);
        coll_mesh(base.n_ranks, &n_axes, size);
        r = &rank;
        r->seg_bytes[SEG_SYM] = r->seg_bytes[SEG_LOCAL] = -1;
        hap_mesh(r, n_axes, size);
        hap_classes(r, class_of);
        hap_segments(r, ARENA, local);
        coll_memory_begin(r);
        for (int k = 0; k < 12; k++) {
            flight f[MAX_FLIGHT];
            int n = (int)(1 + coll_below(MAX_FLIGHT));
            bump[0] = bump[1] = 0;
            for (int i = 0; i < n; i++)
                launch(&f[i]);
            // Waits need not be in the order of the starts.
            int from = (int)coll_below(n);
            for (int i = 0; i < n; i++)
                hap_wait(r, f[(from + i) % n].event);
            hap_backend_sync(r);
            for (int i = 0; i < n; i++)
                check(&f[i]);
            done += n;
        }
        check_local_changes();
        coll_memory_end(r);
        hap_backend_finish(r);
        hap_tensor_free_all(r);
    }
    bool all_kinds = base.n_ranks >= 4 && rounds >= 60;
    if (all_kinds) failures += check_seen();
    int all = -hap_comm_min(&base, -failures);
    if (base.id == 0)
        printf("coll_test: %lld collectives on %d ranks, %s\n", (long long)done, base.n_ranks,
               all ? "FAILED" : "all right");
    hap_comm_finish(&base);
    return all ? 1 : 0;
}
