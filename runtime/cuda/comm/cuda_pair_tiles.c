#include "cuda/comm/cuda_pair_tiles.h"

#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "cuda/device/cuda_backend.h"
#include "cuda/kernels/cuda_ops.h"
#include "cuda/kernels/cuda_shadow.h"
#include "cuda/kernels/tile_gemm.h"

enum { SLOT_UNIT = 256 };

// Numbers by which two pairs are the same.
typedef struct key {
    int64_t *at;
    int n, cap;
} key;

struct cuda_pair_tiled {
    key key;
    const tile_shape *shape;
    cuda_pair_list list; // its entries and waits are on the device
    tile_call call;
    tile_sums sum;
    void *memory; // all of it on the device
    bool fixed;   // already without what a captured step leaves free
    hap_op_call op[HAP_PAIR_OPS];
    hap_tensor tensor[HAP_PAIR_OPS][4];
    int n_ops;
};

typedef struct kept_way {
    key key;
    cuda_pair_way way;
} kept_way;

typedef struct cuda_pair_tiles {
    cuda_pair_tiled **tiled;
    kept_way *kept;
    int n_tiled, cap_tiled, n_kept, cap_kept;
    void *room; // of parts of k, for all lists: they run on one stream. NULL: none has any
} tiles;

static tiles *tiles_of(hap_rank *r)
{
    cuda_backend *b = cuda_of(r);
    if (!b->tiles) b->tiles = hap_alloc(r, sizeof *b->tiles);
    return b->tiles;
}

// --- keys ---

static void add(hap_rank *r, key *k, int64_t number)
{
    k->at = hap_grow(r, k->at, &k->cap, k->n + 1, sizeof *k->at);
    k->at[k->n++] = number;
}

static bool same(const key *a, const key *b)
{
    return a->n == b->n && memcmp(a->at, b->at, sizeof *a->at * (size_t)a->n) == 0;
}

static int coordinates(const hap_rank *r, int axis)
{
    return axis == HAP_BOTH ? r->n_members : axis < 0 ? 0 : r->size[axis];
}

// What the program says of the tensor on all ranks.
static void add_tensor(hap_rank *r, key *k, const hap_tensor *t)
{
    add(r, k, t->type);
    for (int i = 0; i < t->rank; i++) {
        const hap_dim *d = &t->dim[i];
        add(r, k, d->n);
        add(r, k, d->outer);
        add(r, k, d->inner);
        for (int c = 0; d->table && c < coordinates(r, d->axis); c++)
            add(r, k, d->table[c]);
    }
}

static key key_of(hap_rank *r, const hap_pair *p, bool alone)
{
    key k = {0};
    add(r, &k, p->kind);
    add(r, &k, p->axes);
    add(r, &k, p->form);
    add(r, &k, alone);
    add(r, &k, r->opt.cuda.tiles);
    add(r, &k, r->opt.cuda.stores);
    add(r, &k, p->by_rows);
    add(r, &k, p->tiles.rows);
    add(r, &k, p->tiles.cols);
    add(r, &k, p->tiles.how);
    for (int i = 0; i < p->tiles.n_chunks; i++)
        for (int j = 0; j < 3; j++)
            add(r, &k, p->tiles.chunk[i][j]);
    for (int i = 0; i < p->n_chunks; i++)
        for (int j = 0; j < 3; j++)
            add(r, &k, p->chunk[i][j]);
    add_tensor(r, &k, p->src);
    add_tensor(r, &k, p->dst);
    for (int i = 0; i < p->n_ops; i++) {
        add(r, &k, p->op[i].op);
        add(r, &k, p->op[i].attr[0].i);
        for (int j = 0; j < p->op[i].n_in; j++)
            if (p->op[i].in[j]) add_tensor(r, &k, p->op[i].in[j]);
    }
    return k;
}

static kept_way *kept_of(hap_rank *r, const hap_pair *p, bool alone)
{
    tiles *g = tiles_of(r);
    key k = key_of(r, p, alone);
    kept_way *found = NULL;
    for (int i = 0; i < g->n_kept && !found; i++)
        if (same(&g->kept[i].key, &k)) found = &g->kept[i];
    free(k.at);
    return found;
}

const cuda_pair_way *cuda_pair_way_of(hap_rank *r, const hap_pair *p, bool alone)
{
    const kept_way *k = kept_of(r, p, alone);
    return k ? &k->way : NULL;
}

void cuda_pair_way_put(hap_rank *r, const hap_pair *p, bool alone, cuda_pair_way way)
{
    tiles *g = tiles_of(r);
    g->kept = hap_grow(r, g->kept, &g->cap_kept, g->n_kept + 1, sizeof *g->kept);
    g->kept[g->n_kept++] = (kept_way){key_of(r, p, alone), way};
}

// --- which ways there are ---

// The matmul of op i on all rows of the pair; false: not one that tile kernels run.
static bool gemm_of(const hap_pair *p, int i, tile_call *c)
{
    const hap_op_call *op = &p->op[i];
    const hap_tensor *x = op->in[0], *w = op->in[1], *y = op->out[0];
    const hap_tensor *bias = op->n_in > 2 ? op->in[2] : NULL;
    const bool nk = op->attr[0].i == HAP_NT;
    const int64_t k = x->local[x->rank - 1], n = y->local[y->rank - 1];
    if (k == 0 || x->elements == 0 || y->elements == 0) return false;
    *c = (tile_call){.sms = 2};
    if (op->attr[0].i > HAP_NT || w->rank != 2 || w->type != x->type || w->local[nk ? 0 : 1] != n ||
        w->local[nk ? 1 : 0] != k)
        return false;
    if (op->n_in > 3 || (bias && (bias->elements != n || op->op != HAP_OP_linear))) return false;
    c->p = cuda_gemm_of(x->elements / k, n, k, false, nk, x->type, y->type);
    if (bias) c->p.has_bias = true, c->p.bias_type = bias->type;
    c->a = x->data, c->b = w->data, c->y = y->data;
    c->bias = bias ? bias->data : NULL;
    return !tile_why_not(c);
}

// Of one kernel: its ops have one type of bias, and turn their matrices alike.
static bool fits(const hap_pair *p, tile_call *c)
{
    bool fit = p->n_ops > 0 && p->row_dims == 1 && !(p->consumer && p->kind == HAP_ALL_TO_ALL);
    for (int i = 0; i < p->n_ops && fit; i++) {
        fit = gemm_of(p, i, &c[i]) && c[i].p.b_t == c[0].p.b_t && c[i].p.y_type == c[0].p.y_type;
        for (int j = 0; j < i && fit && c[i].bias; j++)
            fit = !c[j].bias || c[j].p.bias_type == c[i].p.bias_type;
    }
    if (!fit) return false;
    uintptr_t all = (uintptr_t)p->src->data | (uintptr_t)p->dst->data;
    if (p->scratch) all |= (uintptr_t)p->scratch->data;
    return all % 16 == 0;
}

// Slots of the others share the scratch of all members', this one's among them.
static int64_t pitch_of(const hap_rank *r, const hap_pair *p)
{
    hap_coll_call call = hap_pair_coll(p);
    hap_coll_view v;
    char why[160];
    hap_coll_view_of(r, &call, 0, &v, why, sizeof why);
    int64_t n = v.n_members, slot = hap_put_slot(r, &call, &v);
    return p->by_rows ? slot * n / (n - 1) / SLOT_UNIT * SLOT_UNIT : slot;
}

char *cuda_pair_slot(const hap_rank *r, const hap_pair *p, int owner, int sender)
{
    bool behind = p->by_rows && sender > owner;
    return (char *)p->scratch->data + (sender - behind) * pitch_of(r, p);
}

// An all-reduce by puts whose members have room for the others' parts of their rows.
static bool has_room(hap_rank *r, const hap_pair *p, const tile_call *c)
{
    if (p->form == FORM_FLAT || !cuda_of(r)->peers[p->axes] || !p->scratch) return false;
    int64_t row = c->p.ly * hap_dtype_bytes(c->p.y_type);
    return cuda_pair_rows(r, p, 0).n > 0 && p->most_rows * row <= pitch_of(r, p);
}

// The form that the program says, NULL: none.
static const tile_shape *said(const hap_pair *p)
{
    for (int i = 0; i < TILE_SHAPES && p->tiles.said; i++) {
        const tile_shape *s = &tile_shapes[i];
        if (s->rows == p->tiles.rows && s->cols == p->tiles.cols &&
            (unsigned)s->turns == (p->tiles.how & HAP_TILE_TURNS))
            return s;
    }
    return NULL;
}

int cuda_pair_ways(hap_rank *r, const hap_pair *p, bool alone, bool stores, int most,
                   cuda_pair_way *way)
{
    tile_call c[HAP_PAIR_OPS];
    tile_way form[TILE_SHAPES];
    const int members = hap_group_size(r, p->axes);
    int64_t cols = 0;
    int n = 0;
    if ((p->consumer && !alone) || members > TILE_MEMBERS || !fits(p, c)) return 0;
    for (int i = 0; i < p->n_ops; i++)
        cols += c[i].p.n;
    tile_call sum = c[0];
    sum.sum = &(tile_sums){.members = members, .stores = stores};
    const bool sums = (p->kind == HAP_REDUCE_SCATTER || p->by_rows) && alone &&
                      (p->dst->elements > 0 || stores) && !tile_why_not(&sum);
    if (stores && ((!sums && !p->consumer) || p->n_chunks > CUDA_PUT_STORED_PARTS)) return 0;
    if (p->by_rows && (!sums || !has_room(r, p, &c[0]))) return 0;
    const tile_shape *planned = said(p);
    const bool planned_sums = planned ? sums && p->tiles.how & HAP_TILE_SUMS : sums;
    if (stores && (!planned || (!planned_sums && !p->consumer))) return 0;
    const bool parts = p->consumer && p->tiles.how & HAP_TILE_PARTS;
    if (planned && n < most) way[n++] = (cuda_pair_way){planned, planned_sums, true, stores, parts};
    if (stores) return n;
    int forms =
        tile_ways(c[0].p.m, cols, c[0].p.k, cuda_sms(&cuda_of(r)->x), false, TILE_SHAPES, form);
    for (int i = 0; i < forms && n < most; i++)
        if (form[i].shape != planned)
            way[n++] = (cuda_pair_way){form[i].shape, planned_sums, p->tiles.said, false, false};
    return n;
}

// --- on the device ---

typedef struct place {
    char *at;
    int64_t bytes, cap;
} place;

static int64_t put(hap_rank *r, place *m, const void *from, int64_t bytes)
{
    int64_t at = (m->bytes + 255) / 256 * 256;
    if (at + bytes > m->cap) {
        char *more = realloc(m->at, (size_t)(at + bytes + (1 << 16)));
        HAP_CK(r, more, "no memory for the tiles of a pair");
        m->at = more, m->cap = at + bytes + (1 << 16);
    }
    if (from) memcpy(m->at + at, from, (size_t)bytes);
    if (!from) memset(m->at + at, 0, (size_t)bytes);
    m->bytes = at + bytes;
    return at;
}

// Places of all members that have rows; parts of sums.
static int64_t put_places(hap_rank *r, const hap_pair *p, const tile_call *c, cuda_pair_way way,
                          place *to)
{
    const int members = hap_group_size(r, p->axes), me = hap_group_member(r, p->axes);
    int64_t bytes = tile_place_bytes(), at = put(r, to, NULL, bytes * members * p->n_ops);
    for (int i = 0; i < members * p->n_ops; i++) {
        const int m = i % members;
        tile_call one = c[i / members];
        hap_range rows = cuda_pair_rows(r, p, m);
        one.p.m = rows.n;
        one.a = (const char *)one.a + rows.lo * one.p.la * hap_dtype_bytes(one.p.type);
        if (p->consumer && m == me) one.a = p->src->data;
        one.y = (char *)one.y + rows.lo * one.p.ly * hap_dtype_bytes(one.p.y_type);
        if (way.stores && way.sums && m != me)
            one.to = cuda_put_at(r, p->axes, m, cuda_pair_slot(r, p, m, me));
        if (rows.n)
            cuda_check(r, tile_place_make(&one, way.shape,
                                          (struct tile_place *)(to->at + at + i * bytes)));
    }
    return at;
}

static int64_t put_parts(hap_rank *r, const hap_pair *p, const tile_call *c, cuda_pair_way way,
                         place *to)
{
    const int members = hap_group_size(r, p->axes), me = hap_group_member(r, p->axes);
    const bool all = way.stores && p->by_rows; // sums go to all
    int64_t bytes = tile_part_bytes(), at = put(r, to, NULL, bytes * members * (all ? 2 : 1));
    tile_call one = *c;
    const hap_range mine = cuda_pair_rows(r, p, me);
    const int64_t first = p->by_rows ? mine.lo * one.p.ly * hap_dtype_bytes(one.p.y_type) : 0;
    char *sums = (char *)p->dst->data + first;
    one.p.m = mine.n;
    for (int i = 0; i < members * (all ? 2 : 1); i++) {
        struct tile_part *part = (struct tile_part *)(to->at + at + i * bytes);
        const int m = i % members;
        char *from = m == me        ? sums
                     : i >= members ? cuda_put_at(r, p->axes, m, sums)
                                    : cuda_pair_slot(r, p, me, m);
        HAP_CK(r, (uintptr_t)from % 16 == 0, "slots of a reduce-scatter are not of 16 bytes");
        if (way.stores && m != me && i < members)
            tile_boxes_make(from, cuda_put_flags_at(r, p->axes, m), part);
        else if (mine.n)
            cuda_check(r, tile_part_make(&one, from, part));
    }
    return at;
}

// What this member's rows are sent in, part by part, to whoever takes it as that.
static int put_pushes(hap_rank *r, const hap_pair *p, place *to, int64_t *at)
{
    const int me = hap_group_member(r, p->axes);
    const hap_range mine = cuda_pair_rows(r, p, me);
    const int64_t row = mine.n ? p->src->bytes / mine.n : 0;
    tile_push push[CUDA_PUT_STORED_PARTS];
    int n = 0;
    for (int k = 0; k < p->n_chunks; k++) {
        const int other = hap_pair_other(r, p, k);
        int64_t lo, hi;
        hap_part_rows(r, p, k, me, &lo, &hi);
        if (other == me || lo == hi || row == 0) continue;
        push[n++] = (tile_push){
            .from = (const char *)p->src->data + (lo - mine.lo) * row,
            .to = cuda_put_at(r, p->axes, other, (char *)p->dst->data + lo * row),
            .flags = cuda_put_flags_at(r, p->axes, other),
            .bytes = (hi - lo) * row,
            .credit = cuda_put_credit_flag(r, p->axes, other),
            .signal = cuda_put_stored_flag(r, p->axes, k, me),
            .tally = k,
            .raise = k,
        };
    }
    *at = n ? put(r, to, push, n * (int64_t)sizeof *push) : 0;
    return n;
}

static key key_here(hap_rank *r, const hap_pair *p, cuda_pair_way way)
{
    key k = key_of(r, p, way.sums);
    add(r, &k, way.shape - tile_shapes);
    add(r, &k, way.stores);
    add(r, &k, way.parts);
    add(r, &k, (int64_t)(intptr_t)p->src->data);
    add(r, &k, (int64_t)(intptr_t)p->dst->data);
    add(r, &k, p->scratch ? (int64_t)(intptr_t)p->scratch->data : 0);
    for (int i = 0; i < p->n_ops; i++) {
        add(r, &k, (int64_t)(intptr_t)p->op[i].out[0]->data);
        for (int j = 0; j < p->op[i].n_in; j++)
            add(r, &k, p->op[i].in[j] ? (int64_t)(intptr_t)p->op[i].in[j]->data : 0);
    }
    return k;
}

// The ops' tensors, whose shadows a run asks for: the program may forget its own.
static void keep_ops(cuda_pair_tiled *t, const hap_pair *p)
{
    t->n_ops = p->n_ops;
    for (int i = 0; i < p->n_ops; i++) {
        hap_op_call *op = &t->op[i];
        int n = 0;
        *op = p->op[i];
        for (int j = 0; j < op->n_in; j++)
            if (op->in[j]) t->tensor[i][n] = *op->in[j], op->in[j] = &t->tensor[i][n++];
        t->tensor[i][n] = *op->out[0], op->out[0] = &t->tensor[i][n];
    }
}

static void upload(hap_rank *r, cuda_pair_tiled *t, const place *m)
{
    cuda_backend *b = cuda_of(r);
    cuda_check(r, cuda_said(cudaMalloc(&t->memory, (size_t)m->bytes), "cudaMalloc"));
    b->x.made[b->x.phase].allocations++;
    cuda_check(r, cuda_upload(t->memory, m->at, (size_t)m->bytes));
}

static void *room_of(hap_rank *r)
{
    cuda_backend *b = cuda_of(r);
    tiles *g = tiles_of(r);
    int64_t most = 0;
    for (int i = 0; i < TILE_SHAPES; i++) {
        const int64_t bytes = tile_room(&tile_shapes[i], cuda_sms(&b->x));
        most = bytes > most ? bytes : most;
    }
    if (g->room) return g->room;
    cuda_check(r, cuda_said(cudaMalloc(&g->room, (size_t)most), "cudaMalloc"));
    b->x.made[b->x.phase].allocations++;
    cuda_check(r, cuda_said(cudaMemset(g->room, 0, (size_t)most), "cudaMemset"));
    return g->room;
}

// A kernel of which all clusters run at a time, in a captured step, leaves a cluster's processors
// to what is parked on the device while the graph is tried (cuda_release.h).
static int spare(int sms)
{
    return sms > 2 ? 2 : 0;
}

static cuda_pair_tiled *make(hap_rank *r, const hap_pair *p, cuda_pair_way way, key k)
{
    tile_call c[HAP_PAIR_OPS];
    cuda_pair_tiled *t = hap_alloc(r, sizeof *t);
    int64_t cols[HAP_PAIR_OPS];
    place m = {0};
    int flags;
    HAP_CK(r, fits(p, c), "a pair that tile kernels do not run");
    for (int i = 0; i < p->n_ops; i++)
        cols[i] = c[i].p.n;
    *t = (cuda_pair_tiled){.key = k, .shape = way.shape};
    keep_ops(t, p);
    tile_call *to = &t->call;
    *to = c[0];
    to->sms = cuda_sms(&cuda_of(r)->x);
    if (way.parts) to->room = room_of(r);
    t->fixed = to->room && way.stores; // clusters as the list has them
    if (t->fixed) to->sms -= spare(to->sms);
    cuda_pair_list_make(r, p, way.shape, cols, c[0].p.k, to->sms,
                        (way.sums ? HAP_TILE_SUMS : 0u) | (way.stores ? HAP_TILE_STORES : 0u) |
                            (to->room ? HAP_TILE_PARTS : 0u),
                        &t->list);
    to->entries = t->list.n_entries;
    for (int i = 0; i < p->n_ops; i++)
        if (c[i].bias) to->has_bias = true, to->p.bias_type = c[i].p.bias_type;
    to->flags = cuda_put_flags(r, &flags);
    to->late = cuda_put_late_at(r);
    to->n_pushes = 0;
    int64_t entries = put(r, &m, t->list.entry, t->list.n_entries * (int64_t)sizeof(tile_entry));
    int64_t waits = put(r, &m, t->list.wait, t->list.n_waits * (int64_t)sizeof(tile_wait));
    int64_t tallies = put(r, &m, NULL, (int64_t)p->n_chunks * TILE_FLAG_APART * 4);
    int64_t places = put_places(r, p, c, way, &m);
    int64_t parts = way.sums ? put_parts(r, p, c, way, &m) : 0, pushes = 0;
    if (way.stores && p->consumer) to->n_pushes = put_pushes(r, p, &m, &pushes);
    upload(r, t, &m);
    char *at = t->memory;
    to->list = (const tile_entry *)(at + entries), to->waits = (const tile_wait *)(at + waits);
    to->tallies = (uint32_t *)(at + tallies);
    to->places = (const struct tile_place *)(at + places);
    to->pushes = (const tile_push *)(at + pushes);
    t->sum = (tile_sums){(const struct tile_part *)(at + parts), hap_group_size(r, p->axes),
                         hap_group_member(r, p->axes), way.stores};
    if (way.sums) to->sum = &t->sum;
    free(m.at);
    return t;
}

const cuda_pair_tiled *cuda_pair_tiled_of(hap_rank *r, const hap_pair *p, cuda_pair_way way)
{
    tiles *g = tiles_of(r);
    key k = key_here(r, p, way);
    for (int i = 0; i < g->n_tiled; i++) {
        if (!same(&g->tiled[i]->key, &k)) continue;
        free(k.at);
        return g->tiled[i];
    }
    if (cuda_of(r)->x.capturing) {
        free(k.at);
        return NULL;
    }
    g->tiled = hap_grow(r, g->tiled, &g->cap_tiled, g->n_tiled + 1, sizeof(cuda_pair_tiled *));
    return g->tiled[g->n_tiled++] = make(r, p, way, k);
}

const cuda_pair_list *cuda_pair_list_of(const cuda_pair_tiled *t)
{
    return &t->list;
}

// A captured step's kernel reads its number where it is written before each launch.
void cuda_pair_tiles_run(hap_rank *r, const cuda_pair_tiled *t, cuda_put *put)
{
    cuda_context *x = &cuda_of(r)->x;
    tile_call c = t->call;
    for (int i = 0; i < t->n_ops; i++)
        cuda_check(r, cuda_call_begins(x, &t->op[i]));
    c.number = cuda_put_number(put);
    if (x->capturing) {
        c.number_at = cuda_put_number_at(put, x->stream);
        if ((c.sum || c.n_pushes) && !t->fixed) c.sms -= spare(c.sms);
    }
    cuda_check(r, tile_run(&c, t->shape, x->stream));
}

void cuda_pair_tiles_end(hap_rank *r)
{
    cuda_backend *b = cuda_of(r);
    tiles *g = b->tiles;
    if (!g) return;
    for (int i = 0; i < g->n_tiled; i++) {
        cudaFree(g->tiled[i]->memory);
        cuda_pair_list_free(&g->tiled[i]->list);
        free(g->tiled[i]->key.at);
        free(g->tiled[i]);
    }
    for (int i = 0; i < g->n_kept; i++)
        free(g->kept[i].key.at);
    if (g->room) cudaFree(g->room);
    free(g->tiled);
    free(g->kept);
    free(g);
    b->tiles = NULL;
}
