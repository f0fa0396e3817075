// Part 3 of the certificate: tables, offsets, and which bytes hold what at every moment.
//
// Liveness is not computed from intervals but replayed: a write to a buffer takes away the value of
// every other buffer that shares a byte with it on any class, and a read asks for a value that is
// still there. Two live buffers that overlap are thus found at the read that would see the wrong
// bytes; a collective holds its destination and scratch from start to wait, and its sources against
// writes.
//
// Ranges use the largest part of a class: a class has one arena.

#include "costmodel/device_defaults.h"
#include "synth/certify/check_model.h"

#include <limits.h>
#include <string.h>

// Product of sizes that came from a file: -1 if it, or its bytes, do not fit.
static int64_t product(const int64_t *v, int n)
{
    int64_t p = 1;
    bool empty = false;
    for (int i = 0; i < n; i++) {
        if (v[i] < 0) return -1;
        empty = empty || v[i] == 0;
        if (v[i] == 0) continue; // the others must fit all the same
        if (p > INT64_MAX / 16 / v[i]) return -1;
        p *= v[i];
    }
    return empty ? 0 : p;
}

static bool check_dims(chk *c, chk_buffer *b, int id)
{
    const rec_tensor *t = b->t;
    if (t->rank < 0 || t->rank > IR_MAX_RANK)
        return chk_fail(c, "tensor %d has rank %d", id, t->rank);
    int64_t sizes[IR_MAX_RANK * 3];
    for (int d = 0; d < t->rank; d++) {
        const rec_dim *v = &t->dim[d];
        if (v->n < 0 || v->outer < 1 || v->inner < 1)
            return chk_fail(c, "tensor %d, dim %d: size %lld x %lld x %lld", id, d,
                            (long long)v->outer, (long long)v->n, (long long)v->inner);
        sizes[3 * d] = v->n;
        sizes[3 * d + 1] = v->outer;
        sizes[3 * d + 2] = v->inner;
        bool both = v->axis == SYN_BOTH;
        if (both && c->r->n_axes != 2)
            return chk_fail(c, "tensor %d, dim %d is cut on both axes of a mesh of %d", id, d,
                            c->r->n_axes);
        if (!both && (v->axis < -1 || v->axis >= c->r->n_axes))
            return chk_fail(c, "tensor %d, dim %d is cut on axis %d of %d", id, d, v->axis,
                            c->r->n_axes);
        if (v->axis < 0) {
            if (v->n_table != 0 || v->outer != 1 || v->inner != 1)
                return chk_fail(c, "tensor %d, dim %d is whole but has a table or factors", id, d);
            continue;
        }
        for (int a = both ? 0 : v->axis; a < (both ? SYN_MAX_AXES : v->axis + 1); a++) {
            if (b->cut[a] >= 0) return chk_fail(c, "tensor %d is cut twice on axis %d", id, a);
            b->cut[a] = d;
        }
        int entries = both ? c->r->n_ranks : c->r->size[v->axis];
        if (v->n_table != entries)
            return chk_fail(c, "tensor %d, dim %d: a table of %d entries for %d %s", id, d,
                            v->n_table, entries, both ? "ranks" : "coordinates of the axis");
        int64_t sum = 0;
        if (chk_table_of(c, v).good) continue;
        for (int i = 0; i < v->n_table; i++) {
            if (v->table[i] < 0 || v->table[i] > v->n - sum)
                return chk_fail(
                    c, "tensor %d, dim %d: entry %d of the table is %lld, the factor has %lld", id,
                    d, i, (long long)v->table[i], (long long)v->n);
            sum += v->table[i];
        }
        if (sum != v->n)
            return chk_fail(c, "tensor %d, dim %d: the table sums to %lld, the factor has %lld", id,
                            d, (long long)sum, (long long)v->n);
    }
    b->elements = product(sizes, 3 * t->rank);
    if (b->elements < 0) return chk_fail(c, "tensor %d is too large", id);
    return true;
}

static bool check_place(chk *c, chk_buffer *b, int id)
{
    const record *r = c->r;
    const rec_tensor *t = b->t;
    if ((int)t->dtype < 0 || t->dtype >= IR_N_DTYPES)
        return chk_fail(c, "tensor %d: unknown dtype", id);
    if (t->seg != 0 && t->seg != 1) return chk_fail(c, "tensor %d: unknown segment", id);
    for (int k = 0; k < c->n_kinds; k++) {
        int rank = c->rank_of_kind[k];
        int64_t e = chk_local(c, t, rank), *most = &b->bytes[r->class_of[rank]];
        if (e > b->max_elements) b->max_elements = e;
        if (e * ir_dtype_bytes(t->dtype) > *most) *most = e * ir_dtype_bytes(t->dtype);
    }
    int64_t align = t->seg == 0 ? COST_SYM_ALIGN : COST_LOCAL_ALIGN;
    for (int k = 0; k < r->n_classes; k++) {
        int64_t size = t->seg == 0 ? r->sym_bytes : r->local_bytes[k];
        if (t->off[k] < 0 || t->off[k] % align != 0)
            return chk_fail(c, "tensor %d: offset %lld of class %d is not a multiple of %lld", id,
                            (long long)t->off[k], k, (long long)align);
        if (t->off[k] > size || b->bytes[k] > size - t->off[k])
            return chk_fail(
                c, "tensor %d: bytes %lld + %lld of class %d end behind the segment's %lld", id,
                (long long)t->off[k], (long long)b->bytes[k], k, (long long)size);
        int64_t end = t->off[k] + b->bytes[k];
        b->first = k == 0 || t->off[k] < b->first ? t->off[k] : b->first;
        b->end = k == 0 || end > b->end ? end : b->end;
        if (t->seg == 0 && t->off[k] != t->off[0])
            return chk_fail(c, "tensor %d lies in SEG_SYM at different offsets", id);
    }
    return true;
}

static bool check_header(chk *c)
{
    const record *r = c->r;
    if (r->n_axes < 1 || r->n_axes > SYN_MAX_AXES)
        return chk_fail(c, "a mesh of %d axes", r->n_axes);
    int64_t ranks = 1;
    for (int i = 0; i < r->n_axes; i++) {
        if (r->size[i] < 1 || r->size[i] > INT_MAX / ranks)
            return chk_fail(c, "a mesh axis of %d", r->size[i]);
        ranks *= r->size[i];
    }
    if (ranks != r->n_ranks)
        return chk_fail(c, "hap_mesh has %lld ranks, hap_init %d", (long long)ranks, r->n_ranks);
    if (r->n_classes < 1 || r->n_classes > CL_MAX_CLASSES)
        return chk_fail(c, "%d classes of ranks", r->n_classes);
    for (int i = 0; i < r->n_ranks; i++)
        if (r->class_of[i] < 0 || r->class_of[i] >= r->n_classes)
            return chk_fail(c, "rank %d is of class %d of %d", i, r->class_of[i], r->n_classes);
    if (!hb_str_eq(r->graph_sha, c->g->sha))
        return chk_fail(c, "hap_init names graph %.*s, this is graph %.*s", HB_ARG(r->graph_sha),
                        HB_ARG(c->g->sha));
    bool tf32 = c->g->precision == IR_PRECISION_TF32;
    if (r->tf32 != tf32)
        return chk_fail(c, "hap_math: f32 matmuls are computed in %s, the plan's precision is %s",
                        r->tf32 ? "tf32" : "f32", ir_precision_name(c->g->precision));
    return true;
}

static bool use(chk *c, int call, int id)
{
    if (id < 0 || id >= c->n_buffers) {
        c->at = call;
        return chk_fail(c, "names tensor %d, which does not exist", id);
    }
    return true;
}

// Every id that a call names exists; the last call that reads each buffer.
static bool check_ids(chk *c)
{
    const record *r = c->r;
    for (int i = 0; i < c->n_buffers; i++) {
        c->buf[i].t = &r->tensors.p[i];
        c->buf[i].value = c->buf[i].busy = c->buf[i].lost = c->buf[i].last_use = -1;
        c->buf[i].frozen_by = -1;
        for (int a = 0; a < SYN_MAX_AXES; a++)
            c->buf[i].cut[a] = -1;
        if (r->tensors.p[i].id != i)
            return chk_fail(c, "tensor %d has id %d", i, r->tensors.p[i].id);
    }
    for (int k = 0; k < r->calls.n; k++) {
        const rec_call *v = &r->calls.p[k];
        for (int i = 0; i < v->n_out; i++)
            if (!use(c, k, v->out[i])) return false;
        for (int i = 0; i < v->n_in; i++) {
            if (!use(c, k, v->in[i])) return false;
            chk_buffer *b = &c->buf[v->in[i]];
            bool declared = v->kind < REC_OP && v->kind != REC_INPUT;
            int last = declared ? r->calls.n : k;
            if (last > b->last_use) b->last_use = last;
        }
        if (v->kind == REC_START && v->scratch >= 0 && !use(c, k, v->scratch)) return false;
    }
    return true;
}

bool chk_layout(chk *c)
{
    c->at = -1;
    if (!check_header(c)) return false;
    c->n_buffers = c->r->tensors.n;
    c->buf = HB_ARRAY(c->a, chk_buffer, c->n_buffers + 1);
    if (!check_ids(c)) return false;
    c->at = -1;
    c->table_at = hb_map_new(c->a);
    for (int i = 0; i < c->n_buffers; i++)
        if (!check_dims(c, &c->buf[i], i)) return false;
    chk_ranks(c);
    for (int i = 0; i < c->n_buffers; i++)
        if (!check_place(c, &c->buf[i], i)) return false;
    chk_spaces(c);
    return true;
}

bool chk_fits(chk *c, int b, int tensor, const char *what)
{
    const rec_tensor *t = c->buf[b].t;
    const ir_tensor *v = &c->g->tensors.p[tensor];
    bool fits = t->dtype == v->dtype && t->rank == v->rank;
    for (int d = 0; fits && d < t->rank; d++)
        fits = t->dim[d].outer * t->dim[d].n * t->dim[d].inner == v->dim[d];
    if (fits || !what) return fits;
    if (t->dtype != v->dtype)
        return chk_fail(c, "%s is %s, %.*s is %s", what, ir_dtype_name(t->dtype), HB_ARG(v->name),
                        ir_dtype_name(v->dtype));
    if (t->rank != v->rank)
        return chk_fail(c, "%s has rank %d, %.*s has %d", what, t->rank, HB_ARG(v->name), v->rank);
    for (int d = 0; d < t->rank; d++) {
        int64_t n = t->dim[d].outer * t->dim[d].n * t->dim[d].inner;
        if (n != v->dim[d])
            return chk_fail(c, "dim %d of %s has %lld entries, %.*s has %lld", d, what,
                            (long long)n, HB_ARG(v->name), (long long)v->dim[d]);
    }
    return true;
}

static hb_str numbered(const chk *c, const char *what, int n)
{
    return n < 0 ? hb_fmt(c->a, "%s", what) : hb_fmt(c->a, "%s %d", what, n);
}

bool chk_read(chk *c, int i, const char *what, int n)
{
    const chk_buffer *b = &c->buf[i];
    if (b->busy < 0 && b->value >= 0) return true;
    hb_str name = numbered(c, what, n);
    if (b->busy >= 0)
        return chk_fail(c, "%.*s is not there yet: %.*s has not been waited for", HB_ARG(name),
                        HB_ARG(chk_where(c, b->busy)));
    if (b->lost >= 0 && c->r->calls.p[b->lost].kind == REC_FUSED)
        return chk_fail(c, "%.*s was not kept by %.*s", HB_ARG(name),
                        HB_ARG(chk_where(c, b->lost)));
    if (b->lost >= 0)
        return chk_fail(c, "%.*s was overwritten by %.*s", HB_ARG(name),
                        HB_ARG(chk_where(c, b->lost)));
    return chk_fail(c, "%.*s (tensor %d) holds nothing", HB_ARG(name), i);
}

bool chk_write(chk *c, int i, const char *what, int n, int content)
{
    const chk_buffer *b = &c->buf[i];
    chk_find_live(c, i);
    for (int k = 0; k < c->hit.n; k++) {
        chk_buffer *o = &c->buf[c->hit.p[k]];
        if (o->busy >= 0 || o->frozen > 0)
            return chk_fail(c, "%.*s lies on bytes that %.*s still uses",
                            HB_ARG(numbered(c, what, n)),
                            HB_ARG(chk_where(c, o->busy >= 0 ? o->busy : o->frozen_by)));
        if (o == b || (content > 0 && o->content == content && chk_same_range(c, o, b))) continue;
        o->value = -1;
        o->lost = c->at;
        chk_delist(c, c->hit.p[k]);
    }
    c->buf[i].value = -1;
    c->buf[i].content = content > 0 ? content : ++c->next_content;
    chk_enlist(c, i);
    return true;
}

void chk_hold(chk *c, int i, int value, const char *partial)
{
    c->buf[i].value = value;
    c->buf[i].lost = -1;
    for (int a = 0; a < SYN_MAX_AXES; a++)
        c->buf[i].partial[a] = partial ? partial[a] : 0;
}
