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
#include "core/fail.h"
#include "core/float16.h"
#include "tests/support/coll_memory.h"

enum {
    ARENA = 64 << 20,
    MAX_LIST = 3,
    MAX_FLIGHT = 3,
    MAX_PARTS = 8,
    N_TABLES = 256,
    POISON = 0xA5,
    N_FORMS = 7 // forms[]: of a kind, some twice
};

// --- random numbers, the same on every rank ---
static uint64_t state;

static uint64_t mix(uint64_t z) // finaliser of SplitMix64
{
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static int64_t below(int64_t n)
{
    return (int64_t)(mix(state += 0x9E3779B97F4A7C15u) % (uint64_t)n);
}

static bool chance(int percent)
{
    return below(100) < percent;
}

// --- the mesh and memory of a round ---
static hap_rank *r;
static int failures;
static int seen[HAP_RECUT + 1][FORM_PUSH_ALL + 1][4]; // on meshes of two real axes, by mask
static int seen_joint[HAP_RECUT + 1]; // over axis 1, of a factor that axis 0 cuts as well
static int64_t bump[2];               // by segment
static int64_t offsets[256];          // by class, which here is the rank; all the same
static int64_t tables[N_TABLES][MAX_PARTS];
static int n_tables;

static void fail(const char *what, const hap_coll_call *c, const hap_tensor *dst, int64_t at)
{
    char text[128];
    if (failures++ < 10)
        fprintf(stderr, "rank %d: %s %s of %s: %s at element %lld\n", r->id, hap_coll_name(c),
                hap_form_name(c->form), hap_tensor_text(r, dst, text, sizeof text), what,
                (long long)at);
}

static int axis_parts(int axis)
{
    if (axis == HAP_BOTH) return r->n_ranks;
    return r->size[axis];
}

// n entries over the coordinates: even, or at random with zeros.
static const int64_t *random_table(int64_t n, int parts, bool even)
{
    int64_t *t = tables[n_tables++ % N_TABLES], left = n;
    for (int i = 0; i < parts; i++) {
        t[i] = even ? n / parts : i == parts - 1 ? left : chance(25) ? 0 : below(left + 1);
        left -= t[i];
    }
    if (!even && chance(50)) { // the large last part goes anywhere
        int k = (int)below(parts);
        int64_t swap = t[k];
        t[k] = t[parts - 1];
        t[parts - 1] = swap;
    }
    return t;
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

// --- values: small integers, exact in every type and sum ---
static int value(int64_t global, int rank, int item)
{
    uint64_t h = mix(mix((uint64_t)global * 64 + (uint64_t)rank) + (uint64_t)item);
    return (int)(h >> 40 & 15u) - 3;
}

static double get(const hap_tensor *t, int64_t i)
{
    switch (t->type) {
    case HAP_F32:
        return (double)((const float *)t->data)[i];
    case HAP_BF16:
        return (double)hap_bf16_to_f32(((const uint16_t *)t->data)[i]);
    case HAP_F16:
        return (double)hap_f16_to_f32(((const uint16_t *)t->data)[i]);
    case HAP_I64:
        return (double)((const int64_t *)t->data)[i];
    case HAP_I32:
        return (double)((const int32_t *)t->data)[i];
    case HAP_BOOL:
        return ((const uint8_t *)t->data)[i];
    }
    return 0;
}

static void set(hap_tensor *t, int64_t i, int x)
{
    switch (t->type) {
    case HAP_F32:
        ((float *)t->data)[i] = (float)x;
        break;
    case HAP_BF16:
        ((uint16_t *)t->data)[i] = hap_f32_to_bf16((float)x);
        break;
    case HAP_F16:
        ((uint16_t *)t->data)[i] = hap_f32_to_f16((float)x);
        break;
    case HAP_I64:
        ((int64_t *)t->data)[i] = x;
        break;
    case HAP_I32:
        ((int32_t *)t->data)[i] = x;
        break;
    case HAP_BOOL:
        ((uint8_t *)t->data)[i] = (uint8_t)x;
        break;
    }
}

static int clip(hap_dtype type, int x)
{
    return type == HAP_BOOL ? x > 4 : x;
}

// Index in the global tensor of a local element, dim by dim from the definition of a cut.
static int64_t global_of(const hap_tensor *t, int64_t local)
{
    int64_t index = 0, scale = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        const hap_dim *d = &t->dim[i];
        int64_t l = local % t->local[i], part = t->local[i] / d->outer / d->inner;
        int64_t in = l % d->inner, f = l / d->inner % part, o = l / d->inner / part;
        local /= t->local[i];
        index += ((o * d->n + t->first[i] + f) * d->inner + in) * scale;
        scale *= hap_dim_size(d);
    }
    return index;
}

// --- one random collective ---
typedef struct flight {
    hap_coll_call call;
    hap_tensor *dst[MAX_LIST], *src[MAX_LIST], *scratch;
    held hd[MAX_LIST], hs[MAX_LIST], hx; // of dst, src, scratch
    unsigned char *src_copy[MAX_LIST];
    hap_event *event;
} flight;

static const hap_form forms[][N_FORMS] = {
    [HAP_ALL_GATHER] = {FORM_EVEN, FORM_PADDED, FORM_GROUPED, FORM_SENDRECV, FORM_PADDED, FORM_PUSH,
                        FORM_PUSH_ALL},
    [HAP_REDUCE_SCATTER] = {FORM_EVEN, FORM_PADDED, FORM_GROUPED, FORM_SENDRECV, FORM_EVEN_FLAT,
                            FORM_PUSH, FORM_PUSH_ALL},
    [HAP_ALL_REDUCE] = {FORM_FLAT, FORM_TWO_LEVEL, FORM_FLAT, FORM_TWO_LEVEL, FORM_FLAT, FORM_PUSH,
                        FORM_PUSH_ALL},
    [HAP_ALL_TO_ALL] = {FORM_EVEN, FORM_SENDRECV, FORM_EVEN, FORM_SENDRECV, FORM_EVEN, FORM_PUSH,
                        FORM_PUSH_ALL},
    [HAP_RECUT] = {FORM_EVEN, FORM_SENDRECV, FORM_EVEN, FORM_SENDRECV, FORM_EVEN, FORM_SENDRECV,
                   FORM_EVEN}};

typedef struct shape {
    int rank;
    hap_dim src[HAP_MAX_RANK], dst[HAP_MAX_RANK];
} shape;

static hap_dim whole(const hap_dim *d)
{
    return WHOLE(hap_dim_size(d));
}

static hap_dim factor(int64_t n, bool inner_too)
{
    hap_dim d = WHOLE(n);
    if (chance(40)) d.outer = 1 + below(3);
    if (inner_too && chance(40)) d.inner = 1 + below(3);
    return d;
}

// A dim cut over the group, and what the group holds of it together.
static void cut_dim(unsigned axes, bool even, hap_dim *cut, hap_dim *full)
{
    int axis = axes == 3u ? HAP_BOTH : axes == 2u ? 1 : 0, parts = axis_parts(axis);
    int64_t n = even ? parts * below(4) : below(9);
    *cut = factor(n, true);
    cut->axis = axis;
    cut->table = random_table(n, parts, even);
    *full = whole(cut);
    if (axes != 2u || r->n_axes < 2 || !chance(40)) return;
    // Cut over both axes, gathered over the second: the first stays.
    int64_t *both = tables[n_tables++ % N_TABLES], *first = tables[n_tables++ % N_TABLES];
    int64_t sum = 0, k = below(4);
    for (int i = 0; i < r->size[0]; i++) {
        first[i] = 0;
        for (int j = 0; j < r->size[1]; j++) {
            int64_t x = even ? k : below(4);
            both[i * r->size[1] + j] = x;
            first[i] += x;
        }
        sum += first[i];
    }
    cut->n = full->n = sum;
    full->outer = cut->outer;
    full->inner = cut->inner;
    cut->axis = HAP_BOTH;
    cut->table = both;
    full->axis = 0;
    full->table = first;
}

static void random_shape(hap_coll_kind kind, unsigned axes, bool even, shape *s)
{
    s->rank = (int)(1 + below(4));
    if (kind == HAP_ALL_REDUCE && chance(15)) s->rank = 0;
    bool nested = kind == HAP_ALL_TO_ALL && (s->rank == 1 || chance(25));
    for (int i = 0; i < s->rank; i++)
        s->src[i] = s->dst[i] = WHOLE(1 + below(5));
    // A dim cut over the axis that takes no part is the same on both sides.
    int moved = s->rank ? (int)below(s->rank) : 0, other = moved, bystander = -1;
    while (kind == HAP_ALL_TO_ALL && !nested && other == moved)
        other = (int)below(s->rank);
    if (r->n_axes == 2 && axes != 3u) {
        for (int i = 0; i < s->rank; i++) {
            if (i != moved && i != other && chance(60)) bystander = i;
        }
    }
    if (bystander >= 0) {
        int axis = axes == 1u ? 1 : 0;
        hap_dim d = factor(below(6), true);
        d.axis = axis;
        d.table = random_table(d.n, r->size[axis], false);
        s->src[bystander] = s->dst[bystander] = d;
    }
    // Now and then messages above MPI's eager limit, so that sends wait for their receives.
    int64_t elements = 1;
    for (int i = 0; i < s->rank; i++)
        elements *= hap_dim_size(&s->src[i]) * 3;
    int wide = s->rank ? (int)below(s->rank) : 0;
    if (s->rank && wide != moved && wide != other && wide != bystander && chance(30) &&
        elements < 300)
        s->src[wide] = s->dst[wide] = WHOLE(500 + below(1000));
    hap_dim cut, full;
    int both = axes == 3u ? HAP_BOTH : axes == 2u ? 1 : 0;
    switch (kind) {
    case HAP_ALL_GATHER:
        cut_dim(axes, even, &cut, &full);
        s->src[moved] = cut;
        s->dst[moved] = full;
        break;
    case HAP_REDUCE_SCATTER:
        cut_dim(axes, even, &cut, &full);
        s->dst[moved] = cut;
        s->src[moved] = full;
        break;
    case HAP_ALL_REDUCE:
        break;
    case HAP_RECUT:
        cut = factor(below(9), true);
        cut.axis = both;
        cut.table = random_table(cut.n, axis_parts(both), false);
        s->src[moved] = s->dst[moved] = cut;
        s->dst[moved].table = random_table(cut.n, axis_parts(both), false);
        if (axes == 2u && chance(40)) { // over both axes, each machine keeps what it has together
            int64_t *from = tables[n_tables++ % N_TABLES], *to = tables[n_tables++ % N_TABLES];
            cut.n = 0;
            for (int i = 0; i < r->size[0]; i++) {
                int64_t n = below(9);
                memcpy(from + i * r->size[1], random_table(n, r->size[1], false),
                       sizeof *from * (size_t)r->size[1]);
                memcpy(to + i * r->size[1], random_table(n, r->size[1], false),
                       sizeof *to * (size_t)r->size[1]);
                cut.n += n;
            }
            cut.axis = HAP_BOTH;
            cut.table = from;
            s->src[moved] = s->dst[moved] = cut;
            s->dst[moved].table = to;
        }
        break;
    case HAP_ALL_TO_ALL:
        if (nested) { // one dim of two factors: o a m b i
            int64_t o = 1 + below(2), a = below(6), m = 1 + below(2), b = 1 + below(5),
                    i = 1 + below(2);
            if (a == 0) a = 3;
            hap_dim x = {a, o, m * b * i, both, random_table(a, axis_parts(both), false)};
            hap_dim y = {b, o * a * m, i, both, random_table(b, axis_parts(both), false)};
            bool swap = chance(50);
            s->src[moved] = swap ? y : x;
            s->dst[moved] = swap ? x : y;
        } else {
            cut_dim(axes, even, &cut, &full);
            s->src[moved] = cut;
            s->dst[moved] = full;
            cut_dim(axes, even, &cut, &full);
            s->src[other] = full;
            s->dst[other] = cut;
        }
        break;
    }
}

static void launch(flight *f)
{
    hap_coll_kind kind = (hap_coll_kind)below(5);
    unsigned axes = r->n_axes == 2 ? (unsigned)(1 + below(3)) : 1u;
    hap_form form = forms[kind][below(N_FORMS)];
    bool push = hap_form_push(form);
    if (form == FORM_TWO_LEVEL && r->n_axes == 1) form = FORM_FLAT;
    if (form == FORM_TWO_LEVEL) axes = 3u;
    hap_dtype type = (hap_dtype)below(6);
    bool max = kind == HAP_ALL_REDUCE && !push && (type == HAP_BOOL || chance(50));
    if (kind == HAP_ALL_REDUCE && push && type == HAP_BOOL) type = HAP_BF16;
    if (kind == HAP_REDUCE_SCATTER && type == HAP_BOOL) type = HAP_F32;
    *f = (flight){.call = {kind, max ? HAP_MAX : HAP_SUM, axes, form, (int)(1 + below(MAX_LIST)),
                           f->dst, f->src, NULL}};
    for (int k = 0; k < f->call.n; k++) {
        shape s;
        random_shape(kind, axes, form == FORM_EVEN, &s);
        for (int i = 0; i < s.rank && axes == 2u; i++)
            seen_joint[kind] += s.src[i].axis == HAP_BOTH || s.dst[i].axis == HAP_BOTH;
        bool in_place = kind == HAP_ALL_REDUCE && chance(50);
        hap_segment at = push && kind != HAP_REDUCE_SCATTER ? SEG_SYM : SEG_LOCAL;
        f->hs[k] = declare(in_place ? at : SEG_LOCAL, type, s.rank, s.src);
        f->hd[k] = in_place ? f->hs[k] : declare(at, type, s.rank, s.dst);
        f->src[k] = f->hs[k].t;
        f->dst[k] = f->hd[k].t;
        bool partial = kind == HAP_REDUCE_SCATTER || kind == HAP_ALL_REDUCE;
        for (int64_t i = 0; i < f->src[k]->elements; i++)
            set(&f->hs[k].host, i,
                clip(type, value(global_of(f->src[k], i), partial ? r->id : 0, k)));
        coll_memory_put(f->src[k]->data, f->hs[k].host.data, f->hs[k].room);
        f->src_copy[k] = malloc((size_t)f->hs[k].room);
        memcpy(f->src_copy[k], f->hs[k].host.data, (size_t)f->hs[k].room);
    }
    if (r->n_axes == 2 && r->size[0] > 1 && r->size[1] > 1) seen[kind][form][axes]++;
    int64_t need = hap_coll_scratch_bytes(r, &f->call);
    if (need > 0) {
        hap_dim d = WHOLE(need);
        f->hx = declare(push ? SEG_SYM : SEG_LOCAL, HAP_BOOL, 1, &d);
        f->scratch = f->call.scratch = f->hx.t;
    }
    switch (kind) {
    case HAP_ALL_GATHER:
        f->event = coll_all_gather_start(r, axes, form, f->call.n, f->dst, f->src, f->scratch);
        break;
    case HAP_REDUCE_SCATTER:
        f->event = coll_reduce_scatter_start(r, axes, form, f->call.n, f->dst, f->src, f->scratch);
        break;
    case HAP_ALL_REDUCE:
        f->event =
            max ? coll_all_reduce_max_start(r, axes, form, f->call.n, f->dst, f->src, f->scratch)
                : coll_all_reduce_start(r, axes, form, f->call.n, f->dst, f->src, f->scratch);
        break;
    case HAP_ALL_TO_ALL:
        f->event = coll_all_to_all_start(r, axes, form, f->call.n, f->dst, f->src, f->scratch);
        break;
    case HAP_RECUT:
        f->event = coll_recut_start(r, axes, form, f->call.n, f->dst, f->src, f->scratch);
        break;
    }
}

static bool member(int q, unsigned axes) // does rank q share this rank's group?
{
    for (int a = 0; a < r->n_axes; a++) {
        int coord = r->n_axes == 2 ? (a == 0 ? q / r->size[1] : q % r->size[1]) : q;
        if (!(axes & AXIS(a)) && coord != r->coord[a]) return false;
    }
    return true;
}

static double expected(const flight *f, int k, int64_t i)
{
    const hap_tensor *dst = f->dst[k];
    int64_t g = global_of(dst, i);
    bool partial = f->call.kind == HAP_REDUCE_SCATTER || f->call.kind == HAP_ALL_REDUCE;
    if (!partial) return clip(dst->type, value(g, 0, k));
    double sum = 0, max = -1e9;
    for (int q = 0; q < r->n_ranks; q++) {
        if (!member(q, f->call.axes)) continue;
        double x = clip(dst->type, value(g, q, k));
        sum += x;
        if (x > max) max = x;
    }
    return f->call.reduce == HAP_MAX ? max : sum;
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
            double want = expected(f, k, i), have = get(&f->hd[k].host, i);
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
    if (!f->scratch) return;
    fetch(&f->hx);
    if (!poisoned(&f->hx)) fail("written past scratch", &f->call, f->dst[0], 0);
    release(&f->hx);
}

static void random_mesh(int n_ranks, int *n_axes, int *size)
{
    *n_axes = chance(20) ? 1 : 2;
    size[0] = n_ranks;
    size[1] = 1;
    if (*n_axes == 1) return;
    for (int try = 0; try < 2; try++) { // one of two: an axis of one coordinate is the rarer case
        do {
            size[0] = (int)(1 + below(n_ranks));
        } while (n_ranks % size[0]);
        size[1] = n_ranks / size[0];
        if (size[0] > 1 && size[1] > 1) return;
    }
}

// Every kind and form over every mask, and every kind that there is of a factor over both axes.
static int check_seen(void)
{
    int missing = 0;
    for (int k = 0; k <= HAP_RECUT; k++) {
        missing += k != HAP_ALL_REDUCE && seen_joint[k] == 0;
        for (int i = 0; i < N_FORMS; i++)
            for (unsigned mask = 1; mask < 4; mask++)
                missing += seen[k][forms[k][i]][mask] == 0 &&
                           (forms[k][i] != FORM_TWO_LEVEL || mask == 3u);
    }
    if (missing > 0) fprintf(stderr, "coll_test: %d kinds, forms and masks not seen\n", missing);
    return missing;
}

static void check_local_changes(void)
{
    for (int k = 0; k < 4; k++) {
        shape s;
        unsigned axes = r->n_axes == 2 ? (unsigned)(1 + below(3)) : 1u;
        bump[SEG_LOCAL] = 0;
        random_shape(HAP_ALL_GATHER, axes, false, &s);
        held hx = declare(SEG_LOCAL, HAP_F32, s.rank, s.dst);
        held hy = declare(SEG_LOCAL, HAP_F32, s.rank, s.src);
        hap_tensor *x = hx.t, *y = hy.t;
        hap_coll_call c = {.kind = HAP_ALL_GATHER, .form = FORM_PADDED};
        for (int64_t i = 0; i < x->elements; i++)
            set(&hx.host, i, value(global_of(x, i), 0, 0));
        coll_memory_put(x->data, hx.host.data, hx.room);
        hap_cut(r, y, x);
        hap_backend_sync(r);
        fetch(&hy);
        for (int64_t i = 0; i < y->elements; i++) {
            double want = value(global_of(y, i), 0, 0), have = get(&hy.host, i);
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
            double want = zero ? 0 : get(&hx.host, i), have = get(&hz.host, i);
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
        state = seed * 7919 + (uint64_t)round;
        random_mesh(base.n_ranks, &n_axes, size);
        r = &rank;
        r->seg_bytes[SEG_SYM] = r->seg_bytes[SEG_LOCAL] = -1;
        hap_mesh(r, n_axes, size);
        hap_classes(r, class_of);
        hap_segments(r, ARENA, local);
        coll_memory_begin(r);
        for (int k = 0; k < 12; k++) {
            flight f[MAX_FLIGHT];
            int n = (int)(1 + below(MAX_FLIGHT));
            bump[0] = bump[1] = 0;
            for (int i = 0; i < n; i++)
                launch(&f[i]);
            // Waits need not be in the order of the starts.
            int from = (int)below(n);
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
