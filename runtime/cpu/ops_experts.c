// Rows by the matrices of their experts. The rows of an expert are gathered, tile by tile in their
// order, multiplied as one matrix, and go back to where they stood: as many rows as chose it, none
// more. An expert that this rank does not hold gives zero, its rows' gradient no part.

#include "cpu/ops_kernels.h"

#include <cblas.h>
#include <string.h>

enum { TILE_ENTRIES = 1 << 20, TILE_ROWS = 1 << 12 };

static float
    scratch[TILE_ENTRIES]; // one thread calls ops, and a thread's own is taken from its stack

// Leading dims of a call; its rows, of k entries on one side and n on the other.
typedef struct experts {
    int lead;
    int64_t size[HAP_MAX_RANK], rows, k, n, tile;
    const hap_tensor *index;
    cpu_axis held;
} experts;

// Dims that a and b have before their last one.
static void leading(experts *v, const hap_tensor *a, const hap_tensor *b)
{
    v->lead = (a->rank > b->rank ? a->rank : b->rank) - 1;
    v->rows = 1;
    for (int d = 0; d < v->lead; d++) {
        int i = d + a->rank - 1 - v->lead, j = d + b->rank - 1 - v->lead;
        v->size[d] = i >= 0 ? a->local[i] : 1;
        if (v->size[d] == 1 && j >= 0) v->size[d] = b->local[j];
        v->rows *= v->size[d];
    }
}

static const char *experts_of(experts *v, const hap_tensor *x, const hap_tensor *index,
                              const hap_tensor *y, const hap_tensor *w, bool trans)
{
    const hap_tensor *floats[] = {x, y, w};
    for (int i = 0; i < 3; i++)
        CPU_TRY(cpu_want(floats[i], HAP_F32, "an operand"));
    CPU_TRY(cpu_want(index, HAP_I64, "the index"));
    if (x->rank < 1 || y->rank < 1 || w->rank != 3) return cpu_fail("shapes do not fit");
    leading(v, x, y);
    CPU_TRY(cpu_rows_fit(x, 1, v->lead, v->size));
    CPU_TRY(cpu_rows_fit(y, 1, v->lead, v->size));
    CPU_TRY(cpu_rows_fit(index, 0, v->lead, v->size));
    v->k = x->local[x->rank - 1];
    v->n = y->local[y->rank - 1];
    if (w->local[1 + trans] != v->k || w->local[2 - trans] != v->n)
        return cpu_fail("shapes do not fit");
    if (v->k + v->n > TILE_ENTRIES)
        return cpu_fail("not supported: experts of over %d entries a row", TILE_ENTRIES);
    v->tile = v->k + v->n ? TILE_ENTRIES / (v->k + v->n) : 1;
    if (v->tile > TILE_ROWS) v->tile = TILE_ROWS;
    v->index = index;
    v->held = cpu_axis_of(w, 0);
    return NULL;
}

// The expert of row r as this rank numbers it, -1: another rank's.
static int64_t expert_of(const experts *v, int64_t r)
{
    int64_t run, at = cpu_row_at(v->index, 0, v->lead, v->size, r);
    return cpu_axis_local(&v->held, ((const int64_t *)v->index->data)[at], &run);
}

static const char *all_inside(const experts *v)
{
    const int64_t *index = v->index->data, n = cpu_axis_size(&v->held);
    for (int64_t i = 0; i < v->index->elements; i++)
        if (index[i] < 0 || index[i] >= n) return cpu_outside(index[i], n);
    return NULL;
}

// The next rows of the expert from *from on, at most a tile.
static int64_t rows_of(const experts *v, int64_t expert, int64_t *from, int64_t *list)
{
    int64_t many = 0;
    for (; *from < v->rows && many < v->tile; ++*from)
        if (expert_of(v, *from) == expert) list[many++] = *from;
    return many;
}

static void collect(const experts *v, const hap_tensor *t, int64_t width, const int64_t *list,
                    int64_t many, float *to)
{
    for (int64_t i = 0; i < many; i++)
        memcpy(to + i * width,
               (const float *)t->data + cpu_row_at(t, 1, v->lead, v->size, list[i]) * width,
               (size_t)width * sizeof *to);
}

const char *cpu_expert_linear(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    hap_tensor *x = c->in[0], *w = c->in[2], *y = c->out[0];
    bool trans = c->attr[0].i == 1;
    experts v;
    int64_t list[TILE_ROWS];
    CPU_TRY(experts_of(&v, x, c->in[1], y, w, trans));
    if (y->elements != v.rows * v.n) return cpu_fail("shapes do not fit");
    CPU_TRY(all_inside(&v));
    if (y->bytes) memset(y->data, 0, (size_t)y->bytes);
    for (int64_t e = 0; e < w->local[0] && v.k && v.n; e++) {
        const float *matrix = (const float *)w->data + e * v.k * v.n;
        for (int64_t from = 0, many; (many = rows_of(&v, e, &from, list)) > 0;) {
            float *a = scratch, *b = scratch + many * v.k;
            collect(&v, x, v.k, list, many, a);
            cblas_sgemm(CblasRowMajor, CblasNoTrans, trans ? CblasTrans : CblasNoTrans,
                        (blasint)many, (blasint)v.n, (blasint)v.k, 1.0f, a, (blasint)v.k, matrix,
                        (blasint)(trans ? v.k : v.n), 0.0f, b, (blasint)v.n);
            for (int64_t i = 0; i < many; i++)
                memcpy((float *)y->data + list[i] * v.n, b + i * v.n, (size_t)v.n * sizeof *b);
        }
    }
    return NULL;
}

const char *cpu_expert_linear_dw(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    hap_tensor *x = c->in[0], *dy = c->in[2], *w = c->out[0];
    experts v;
    int64_t list[TILE_ROWS];
    CPU_TRY(experts_of(&v, x, c->in[1], dy, w, false));
    CPU_TRY(all_inside(&v));
    if (w->bytes) memset(w->data, 0, (size_t)w->bytes);
    for (int64_t e = 0; e < w->local[0] && v.k && v.n; e++) {
        float *matrix = (float *)w->data + e * v.k * v.n;
        for (int64_t from = 0, many; (many = rows_of(&v, e, &from, list)) > 0;) {
            float *a = scratch, *b = scratch + many * v.k;
            collect(&v, x, v.k, list, many, a);
            collect(&v, dy, v.n, list, many, b);
            cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (blasint)v.k, (blasint)v.n,
                        (blasint)many, 1.0f, a, (blasint)v.k, b, (blasint)v.n, 1.0f, matrix,
                        (blasint)v.n);
        }
    }
    return NULL;
}

// --- rooms ---

// index[g,r] and room[g,e,c,k] of the experts that are held.
typedef struct room_call {
    int64_t held, groups, rows, room;
    const int64_t *index;
    cpu_axis expert, group;
} room_call;

static const char *rooms_of(room_call *v, const hap_tensor *index, const hap_tensor *rooms)
{
    CPU_TRY(cpu_want(index, HAP_I64, "the index"));
    CPU_TRY(cpu_want(rooms, HAP_F32, "rooms"));
    if (index->rank != 2 || rooms->rank != 4 || rooms->local[0] != index->local[0])
        return cpu_fail("shapes do not fit");
    *v = (room_call){rooms->local[1], index->local[0],       index->local[1],      rooms->local[2],
                     index->data,     cpu_axis_of(rooms, 1), cpu_axis_of(index, 0)};
    int64_t n = cpu_axis_size(&v->expert);
    for (int64_t i = 0; i < index->elements; i++)
        if (v->index[i] < 0 || v->index[i] >= n) return cpu_outside(v->index[i], n);
    return NULL;
}

// How many rows of group g are in the room of held expert e; *why if they are too many.
static int64_t rows_in(const room_call *v, int64_t e, int64_t g, const char **why)
{
    int64_t run, many = 0, expert = cpu_axis_global(&v->expert, e, &run);
    for (int64_t r = 0; r < v->rows; r++)
        many += v->index[g * v->rows + r] == expert;
    if (many > v->room)
        *why = cpu_fail("%lld of %lld rows of example %lld choose expert %lld, which has room for "
                        "%lld (hapc --expert-room)",
                        (long long)many, (long long)v->rows,
                        (long long)cpu_axis_global(&v->group, g, &run), (long long)expert,
                        (long long)v->room);
    return many;
}

// row[g,r,k] and room[g,e,c,k]: one is copied to the other.
static const char *swap_rooms(hap_tensor *rows, const hap_tensor *index, hap_tensor *rooms, bool to)
{
    room_call v;
    hap_tensor *y = to ? rooms : rows;
    const char *why = NULL;
    CPU_TRY(cpu_want(rows, HAP_F32, "the rows"));
    CPU_TRY(rooms_of(&v, index, rooms));
    if (rows->rank != 3 || rows->local[0] != v.groups || rows->local[1] != v.rows ||
        rows->local[2] != rooms->local[3])
        return cpu_fail("shapes do not fit");
    int64_t width = rows->local[2], run;
    if (y->bytes) memset(y->data, 0, (size_t)y->bytes);
    for (int64_t e = 0; e < v.held; e++) {
        int64_t expert = cpu_axis_global(&v.expert, e, &run);
        for (int64_t g = 0; g < v.groups; g++) {
            float *place = (float *)rooms->data + (g * v.held + e) * v.room * width;
            (void)rows_in(&v, e, g, &why);
            if (why) return why;
            for (int64_t i = g * v.rows; i < (g + 1) * v.rows; i++) {
                float *row = (float *)rows->data + i * width;
                if (v.index[i] != expert) continue;
                memcpy(to ? place : row, to ? row : place, (size_t)width * sizeof *row);
                place += width;
            }
        }
    }
    return NULL;
}

const char *cpu_to_rooms(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    return swap_rooms(c->in[0], c->in[1], c->out[0], true);
}

const char *cpu_from_rooms(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    return swap_rooms(c->out[0], c->in[1], c->in[0], false);
}

// x[g,e,c,k], y[g,e,c,n], w[e,k,n] or, trans, [e,n,k].
static const char *room_product(const hap_tensor *x, const hap_tensor *index, const hap_tensor *w,
                                const hap_tensor *y, bool trans, room_call *v, int64_t *k,
                                int64_t *n)
{
    CPU_TRY(cpu_want(w, HAP_F32, "the experts"));
    CPU_TRY(cpu_want(x, HAP_F32, "rooms"));
    CPU_TRY(rooms_of(v, index, y));
    if (x->rank != 4 || w->rank != 3 || w->local[0] != v->held || x->local[1] != v->held ||
        x->local[0] != v->groups || x->local[2] != v->room || x->local[3] != w->local[1 + trans] ||
        y->local[3] != w->local[2 - trans])
        return cpu_fail("shapes do not fit");
    *k = x->local[3];
    *n = y->local[3];
    return NULL;
}

const char *cpu_room_linear(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    hap_tensor *x = c->in[0], *w = c->in[2], *y = c->out[0];
    bool trans = c->attr[0].i == 1;
    room_call v;
    int64_t k, n;
    const char *why = NULL;
    CPU_TRY(room_product(x, c->in[1], w, y, trans, &v, &k, &n));
    if (y->bytes) memset(y->data, 0, (size_t)y->bytes);
    for (int64_t i = 0; i < v.held * v.groups && k && n; i++) {
        int64_t e = i % v.held, many = rows_in(&v, e, i / v.held, &why);
        if (why) return why;
        if (many == 0) continue;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, trans ? CblasTrans : CblasNoTrans, (blasint)many,
                    (blasint)n, (blasint)k, 1.0f, (const float *)x->data + i * v.room * k,
                    (blasint)k, (const float *)w->data + e * k * n, (blasint)(trans ? k : n), 0.0f,
                    (float *)y->data + i * v.room * n, (blasint)n);
    }
    return NULL;
}

const char *cpu_room_linear_dw(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    hap_tensor *x = c->in[0], *dy = c->in[2], *w = c->out[0];
    room_call v;
    int64_t k, n;
    const char *why = NULL;
    CPU_TRY(room_product(x, c->in[1], w, dy, false, &v, &k, &n));
    if (w->bytes) memset(w->data, 0, (size_t)w->bytes);
    for (int64_t i = 0; i < v.held * v.groups && k && n; i++) {
        int64_t e = i % v.held, many = rows_in(&v, e, i / v.held, &why);
        if (why) return why;
        if (many == 0) continue;
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (blasint)k, (blasint)n, (blasint)many,
                    1.0f, (const float *)x->data + i * v.room * k, (blasint)k,
                    (const float *)dy->data + i * v.room * n, (blasint)n, 1.0f,
                    (float *)w->data + e * k * n, (blasint)n);
    }
    return NULL;
}
