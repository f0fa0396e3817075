#include "tests/support/coll_random.h"

#include <string.h>

#include "core/coll_geometry.h"
#include "core/float16.h"

enum { MAX_PARTS = 8, N_TABLES = 8192 };

static uint64_t state;
static int64_t tables[N_TABLES][MAX_PARTS];
static int n_tables;

uint64_t coll_mix(uint64_t z) // finaliser of SplitMix64
{
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

void coll_seed(uint64_t seed)
{
    state = seed;
}

int64_t coll_below(int64_t n)
{
    return (int64_t)(coll_mix(state += 0x9E3779B97F4A7C15u) % (uint64_t)n);
}

bool coll_chance(int percent)
{
    return coll_below(100) < percent;
}

void coll_mesh(int n_ranks, int *n_axes, int *size)
{
    *n_axes = coll_chance(20) ? 1 : 2;
    size[0] = n_ranks;
    size[1] = 1;
    if (*n_axes == 1) return;
    for (int try = 0; try < 2; try++) { // one of two: an axis of one coordinate is the rarer case
        do {
            size[0] = (int)(1 + coll_below(n_ranks));
        } while (n_ranks % size[0]);
        size[1] = n_ranks / size[0];
        if (size[0] > 1 && size[1] > 1) return;
    }
}

// --- calls and shapes ---

const hap_form coll_forms[][COLL_N_FORMS] = {
    [HAP_ALL_GATHER] = {FORM_EVEN, FORM_PADDED, FORM_GROUPED, FORM_SENDRECV, FORM_PADDED, FORM_PUTS,
                        FORM_PUTS},
    [HAP_REDUCE_SCATTER] = {FORM_EVEN, FORM_PADDED, FORM_GROUPED, FORM_SENDRECV, FORM_EVEN_FLAT,
                            FORM_PUTS, FORM_PUTS},
    [HAP_ALL_REDUCE] = {FORM_FLAT, FORM_TWO_LEVEL, FORM_FLAT, FORM_TWO_LEVEL, FORM_FLAT, FORM_PUTS,
                        FORM_PUTS},
    [HAP_ALL_TO_ALL] = {FORM_EVEN, FORM_SENDRECV, FORM_EVEN, FORM_SENDRECV, FORM_EVEN, FORM_PUTS,
                        FORM_PUTS},
    [HAP_RESHARD] = {FORM_EVEN, FORM_SENDRECV, FORM_EVEN, FORM_SENDRECV, FORM_EVEN, FORM_SENDRECV,
                     FORM_EVEN}};

hap_form coll_put(const hap_rank *r, unsigned axes)
{
    int n = hap_group_size(r, axes), most = n > 1 ? n - 1 : 1;
    return FORM_PUT(1 + coll_below(most));
}

void coll_call(const hap_rank *r, hap_coll_call *c, hap_dtype *type)
{
    hap_coll_kind kind = (hap_coll_kind)coll_below(5);
    unsigned axes = r->n_axes == 2 ? (unsigned)(1 + coll_below(3)) : 1u;
    hap_form form = coll_forms[kind][coll_below(COLL_N_FORMS)];
    bool put = hap_form_put(form);
    if (form == FORM_TWO_LEVEL && r->n_axes == 1) form = FORM_FLAT;
    if (form == FORM_TWO_LEVEL) axes = 3u;
    *type = (hap_dtype)coll_below(7);
    bool max = kind == HAP_ALL_REDUCE && !put && (*type == HAP_BOOL || coll_chance(50));
    if (kind == HAP_ALL_REDUCE && put && *type == HAP_BOOL) *type = HAP_BF16;
    if (kind == HAP_REDUCE_SCATTER && *type == HAP_BOOL) *type = HAP_F32;
    if (put) form = coll_put(r, axes);
    *c = (hap_coll_call){.kind = kind, .axes = axes, .form = form};
    c->reduce = max ? HAP_MAX : HAP_SUM;
    c->n = (int)(1 + coll_below(COLL_MOST_LIST));
}

static int axis_parts(const hap_rank *r, int axis)
{
    if (axis == HAP_BOTH) return r->n_ranks;
    return r->size[axis];
}

// n entries over the coordinates: even, or at random with zeros.
const int64_t *coll_table(int64_t n, int parts, bool even)
{
    int64_t *t = tables[n_tables++ % N_TABLES], left = n;
    for (int i = 0; i < parts; i++) {
        t[i] = even              ? n / parts
               : i == parts - 1  ? left
               : coll_chance(25) ? 0
                                 : coll_below(left + 1);
        left -= t[i];
    }
    if (!even && coll_chance(50)) { // the large last part goes anywhere
        int k = (int)coll_below(parts);
        int64_t swap = t[k];
        t[k] = t[parts - 1];
        t[parts - 1] = swap;
    }
    return t;
}

static hap_dim whole(const hap_dim *d)
{
    return WHOLE(hap_dim_size(d));
}

static hap_dim factor(int64_t n, bool inner_too)
{
    hap_dim d = WHOLE(n);
    if (coll_chance(40)) d.outer = 1 + coll_below(3);
    if (inner_too && coll_chance(40)) d.inner = 1 + coll_below(3);
    return d;
}

// A dim cut over the chunk, and what the chunk holds of it together.
static void cut_dim(const hap_rank *r, unsigned axes, bool even, hap_dim *cut, hap_dim *full)
{
    int axis = axes == 3u ? HAP_BOTH : axes == 2u ? 1 : 0, parts = axis_parts(r, axis);
    int64_t n = even ? parts * coll_below(4) : coll_below(9);
    *cut = factor(n, true);
    cut->axis = axis;
    cut->table = coll_table(n, parts, even);
    *full = whole(cut);
    if (axes != 2u || r->n_axes < 2 || !coll_chance(40)) return;
    // Cut over both axes, gathered over the second: the first stays.
    int64_t *both = tables[n_tables++ % N_TABLES], *first = tables[n_tables++ % N_TABLES];
    int64_t sum = 0, k = coll_below(4);
    for (int i = 0; i < r->size[0]; i++) {
        first[i] = 0;
        for (int j = 0; j < r->size[1]; j++) {
            int64_t x = even ? k : coll_below(4);
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

void coll_shapes(const hap_rank *r, const hap_coll_call *c, coll_shape *s)
{
    hap_coll_kind kind = c->kind;
    unsigned axes = c->axes;
    bool even = c->form == FORM_EVEN;
    s->rank = (int)(1 + coll_below(4));
    if (kind == HAP_ALL_REDUCE && coll_chance(15)) s->rank = 0;
    bool nested = kind == HAP_ALL_TO_ALL && (s->rank == 1 || coll_chance(25));
    for (int i = 0; i < s->rank; i++)
        s->src[i] = s->dst[i] = WHOLE(1 + coll_below(5));
    // A dim cut over the axis that takes no part is the same on both sides.
    int moved = s->rank ? (int)coll_below(s->rank) : 0, other = moved, bystander = -1;
    while (kind == HAP_ALL_TO_ALL && !nested && other == moved)
        other = (int)coll_below(s->rank);
    if (r->n_axes == 2 && axes != 3u) {
        for (int i = 0; i < s->rank; i++) {
            if (i != moved && i != other && coll_chance(60)) bystander = i;
        }
    }
    if (bystander >= 0) {
        int axis = axes == 1u ? 1 : 0;
        hap_dim d = factor(coll_below(6), true);
        d.axis = axis;
        d.table = coll_table(d.n, r->size[axis], false);
        s->src[bystander] = s->dst[bystander] = d;
    }
    // Now and then messages above MPI's eager limit, so that sends wait for their receives.
    int64_t elements = 1;
    for (int i = 0; i < s->rank; i++)
        elements *= hap_dim_size(&s->src[i]) * 3;
    int wide = s->rank ? (int)coll_below(s->rank) : 0;
    if (s->rank && wide != moved && wide != other && wide != bystander && coll_chance(30) &&
        elements < 300)
        s->src[wide] = s->dst[wide] = WHOLE(500 + coll_below(1000));
    hap_dim cut, full;
    int both = axes == 3u ? HAP_BOTH : axes == 2u ? 1 : 0;
    switch (kind) {
    case HAP_ALL_GATHER:
        cut_dim(r, axes, even, &cut, &full);
        s->src[moved] = cut;
        s->dst[moved] = full;
        break;
    case HAP_REDUCE_SCATTER:
        cut_dim(r, axes, even, &cut, &full);
        s->dst[moved] = cut;
        s->src[moved] = full;
        break;
    case HAP_ALL_REDUCE:
        break;
    case HAP_RESHARD:
        cut = factor(coll_below(9), true);
        cut.axis = both;
        cut.table = coll_table(cut.n, axis_parts(r, both), false);
        s->src[moved] = s->dst[moved] = cut;
        s->dst[moved].table = coll_table(cut.n, axis_parts(r, both), false);
        if (axes == 2u &&
            coll_chance(40)) { // over both axes, each machine keeps what it has together
            int64_t *from = tables[n_tables++ % N_TABLES], *to = tables[n_tables++ % N_TABLES];
            cut.n = 0;
            for (int i = 0; i < r->size[0]; i++) {
                int64_t n = coll_below(9);
                memcpy(from + i * r->size[1], coll_table(n, r->size[1], false),
                       sizeof *from * (size_t)r->size[1]);
                memcpy(to + i * r->size[1], coll_table(n, r->size[1], false),
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
            int64_t o = 1 + coll_below(2), a = coll_below(6), m = 1 + coll_below(2),
                    b = 1 + coll_below(5), i = 1 + coll_below(2);
            if (a == 0) a = 3;
            hap_dim x = {a, o, m * b * i, both, coll_table(a, axis_parts(r, both), false)};
            hap_dim y = {b, o * a * m, i, both, coll_table(b, axis_parts(r, both), false)};
            bool swap = coll_chance(50);
            s->src[moved] = swap ? y : x;
            s->dst[moved] = swap ? x : y;
        } else {
            cut_dim(r, axes, even, &cut, &full);
            s->src[moved] = cut;
            s->dst[moved] = full;
            cut_dim(r, axes, even, &cut, &full);
            s->src[other] = full;
            s->dst[other] = cut;
        }
        break;
    }
}

bool coll_sums(const hap_coll_call *c)
{
    return c->kind == HAP_REDUCE_SCATTER || c->kind == HAP_ALL_REDUCE;
}

hap_event *coll_start(hap_rank *r, const hap_coll_call *c)
{
    switch (c->kind) {
    case HAP_ALL_GATHER:
        return coll_all_gather_start(r, c->axes, c->form, c->n, c->dst, c->src, c->scratch);
    case HAP_REDUCE_SCATTER:
        return coll_reduce_scatter_start(r, c->axes, c->form, c->n, c->dst, c->src, c->scratch);
    case HAP_ALL_REDUCE:
        return c->reduce == HAP_MAX
                   ? coll_all_reduce_max_start(r, c->axes, c->form, c->n, c->dst, c->src,
                                               c->scratch)
                   : coll_all_reduce_start(r, c->axes, c->form, c->n, c->dst, c->src, c->scratch);
    case HAP_ALL_TO_ALL:
        return coll_all_to_all_start(r, c->axes, c->form, c->n, c->dst, c->src, c->scratch);
    case HAP_RESHARD:
        return coll_reshard_start(r, c->axes, c->form, c->n, c->dst, c->src, c->scratch);
    }
    return NULL;
}

// --- values ---

int coll_value(hap_dtype type, int64_t global, int rank, int item)
{
    uint64_t h = coll_mix(coll_mix((uint64_t)global * 64 + (uint64_t)rank) + (uint64_t)item);
    int x = (int)(h >> 40 & 15u) - 3;
    return type == HAP_BOOL ? x > 4 : type == HAP_U8 ? x + 3 : x;
}

double coll_get(const hap_tensor *t, int64_t i)
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
    case HAP_U8:
        return ((const uint8_t *)t->data)[i];
    }
    return 0;
}

void coll_set(hap_tensor *t, int64_t i, int x)
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
    case HAP_U8:
        ((uint8_t *)t->data)[i] = (uint8_t)x;
        break;
    }
}

int64_t coll_global(const hap_tensor *t, int64_t local)
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

bool coll_member(const hap_rank *r, int q, unsigned axes)
{
    for (int a = 0; a < r->n_axes; a++) {
        int coord = r->n_axes == 2 ? (a == 0 ? q / r->size[1] : q % r->size[1]) : q;
        if (!(axes & AXIS(a)) && coord != r->coord[a]) return false;
    }
    return true;
}

double coll_expected(const hap_rank *r, const hap_coll_call *c, hap_dtype type, int64_t global,
                     int item)
{
    if (!coll_sums(c)) return coll_value(type, global, 0, item);
    double sum = 0, max = -1e9;
    for (int q = 0; q < r->n_ranks; q++) {
        if (!coll_member(r, q, c->axes)) continue;
        double x = coll_value(type, global, q, item);
        sum += x;
        if (x > max) max = x;
    }
    return c->reduce == HAP_MAX ? max : sum;
}
