// Pairs (hap_overlap) of every kind on random shapes, cuts with zero rows, groupings, types, meshes
// and delays, against the same calls without brackets: the same bits. Values are small integers,
// whose sums are exact, so that neither the order of a sum nor the rows of a matmul matter.
//
//     mpirun -n 4 pair_test [rounds] [seed] [microseconds of the longest delay] [pairs a round]
//
// Rounds of many pairs take few shapes. PAIR_TEST_DIES=RANK:PAIR kills a rank, for tests of that.

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend.h"
#include "core/coll_geometry.h"
#include "core/comm.h"
#include "core/float16.h"
#include "core/pair_rows.h"
#include "tests/support/coll_memory.h"
#include "tests/support/pair_tiles.h"
#include "tests/support/pair_via.h"
#include "tests/support/test_options.h"

enum { ARENA = 32 << 20, PAIRS = 12, MAX_OPS = 3, MAX_GROUPS = 64, N_TABLES = 64, POISON = 0xA5 };

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
static int failures, longest_delay, n_pairs = PAIRS, dies_at = -1;
enum { MOST_COPIES = 8 };
// By copies in flight; 0: FLAT.
static int seen[HAP_RESHARD][MOST_COPIES], split, empty_parts, passed;
static int seen_rooms, seen_columns; // from all-to-alls: products of rooms, of columns
static int64_t bump[2];              // by segment
static int64_t offsets[64];
static int64_t tables[N_TABLES][64];
static int n_tables;

// n entries over the coordinates at random, some with none.
static const int64_t *random_table(int64_t n, int parts)
{
    int64_t *t = tables[n_tables++ % N_TABLES], left = n, k = below(parts);
    for (int i = 0; i < parts; i++) {
        t[i] = i == parts - 1 ? left : chance(25) ? 0 : below(2 * left / (parts - i) + 1);
        left -= t[i];
    }
    int64_t swap = t[k];
    t[k] = t[parts - 1];
    t[parts - 1] = swap;
    return t;
}

static int64_t room_of(const hap_tensor *t)
{
    int64_t bytes = hap_dtype_bytes(t->type);
    for (int i = 0; i < t->rank; i++)
        bytes *= hap_dim_size(&t->dim[i]);
    return (bytes + 64 + 255) / 256 * 256;
}

// Filled with poison; some behind it as well.
static hap_tensor *declare(hap_segment seg, hap_dtype type, int rank, const hap_dim *dims)
{
    r->in_step = false;
    for (int i = 0; i < 64; i++)
        offsets[i] = bump[seg];
    hap_tensor *t = hap_at(r, seg, offsets, type, rank, dims);
    r->in_step = true;
    int64_t room = room_of(t);
    void *poison = malloc((size_t)room);
    memset(poison, POISON, (size_t)room);
    coll_memory_put(t->data, poison, room);
    free(poison);
    bump[seg] += room;
    return t;
}

// So many numbers have one that is not 0: where k is long, so that sums are exact in bf16.
static int one_in = 1;

// Of -2 to 2, other ones on each rank and in each tensor. No 0 where all numbers count: 0 times -1
// is -0, and what a BLAS begins a sum with says whether a sum of such is 0.
static void fill(const hap_tensor *t, bool same_on_all)
{
    static const float of[] = {-2, -1, -1, -1, 1, 1, 1, 2};
    uint64_t seed = mix(state) + (same_on_all ? 0 : (uint64_t)r->id);
    char *host = malloc((size_t)t->bytes + 1);
    for (int64_t i = 0; i < t->elements; i++) {
        const uint64_t drawn = mix(seed + (uint64_t)i * 64) >> 40;
        float x = drawn / 8 % (uint64_t)one_in ? 0 : of[drawn % 8];
        if (t->type == HAP_F32)
            memcpy(host + 4 * i, &x, 4);
        else {
            uint16_t h = t->type == HAP_BF16 ? hap_f32_to_bf16(x) : hap_f32_to_f16(x);
            memcpy(host + 2 * i, &h, 2);
        }
    }
    coll_memory_put(t->data, host, t->bytes);
    free(host);
}

// --- one random pair, and the calls of it ---
typedef struct sample {
    bool consumer;
    hap_coll_kind kind;
    hap_form form;
    unsigned axes;
    hap_dtype type;
    int n_chunks;
    int64_t chunk[MAX_GROUPS][3], listed[PAIR_TILES_GROUPS][3];
    hap_pair_tiles tiles;
    hap_tensor *src; // consumer: what is gathered; producer: x
    int n_ops, trans;
    bool as_matmul, rooms; // rooms: of experts, whose rows are groups
    hap_tensor *index;
    hap_tensor *w[MAX_OPS], *bias[MAX_OPS];
    hap_dim src_dims[HAP_MAX_RANK], dst_dims[HAP_MAX_RANK], x_dims[HAP_MAX_RANK];
    int rank;
    int64_t cols[MAX_OPS];
} sample;

typedef struct result {
    hap_tensor *t[2 + MAX_OPS];
    int n;
    hap_event *event;
} result;

// Every distance once or more, in any order; some by way of another member.
static void random_groups(sample *s, int n)
{
    s->n_chunks = 0;
    for (int d = 0; d < n; d++)
        for (int64_t k = 1 + (chance(50) ? below(3) : 0); k > 0; k--) {
            int at = s->n_chunks++, to = (int)below(at + 1);
            s->chunk[at][0] = s->chunk[to][0];
            s->chunk[at][1] = s->chunk[to][1];
            s->chunk[to][0] = d;
            s->chunk[to][1] = 1 + below(4);
        }
    for (int k = 1; k < s->n_chunks; k++)
        if (chance(20)) s->chunk[k][1] *= -1;
    for (int k = 0; k < s->n_chunks && s->kind == HAP_ALL_GATHER; k++) {
        int64_t via = below(n);
        if (!pair_via_fits((const int64_t(*)[3])s->chunk, s->n_chunks, k, via)) continue;
        s->chunk[k][2] = via;
    }
    split += s->n_chunks > n;
}

// Of rows: mostly few; of columns: `few` of them, in vectors or not. In long runs some have whole
// boxes of 64 columns, as kernels store them in others' memory.
static int64_t random_rows(void)
{
    if (n_pairs > PAIRS) return chance(5) ? 1024 * (1 + below(4)) : below(48);
    return below(chance(20) ? 200 : 24);
}

static int64_t random_cols(int few, int many)
{
    if (n_pairs > PAIRS) return (chance(30) ? 64 : 16) * (1 + below(2));
    return chance(70) ? 8 * (1 + below(few)) : 1 + below(many);
}

// Rows by experts: the matrices, and a choice with room for all that make it.
static void random_experts(sample *s, int64_t k, int64_t rows, hap_dim experts)
{
    int64_t all = hap_dim_size(&experts);
    s->n_ops = s->consumer ? (int)(1 + below(MAX_OPS)) : 1;
    s->index = declare(SEG_LOCAL, HAP_I64, 2, HAP_DIMS(s->x_dims[0], WHOLE(rows)));
    int64_t *host = malloc((size_t)s->index->bytes + 8), crowded = below(all);
    for (int64_t i = 0; i < s->index->elements; i++)
        host[i] = chance(30) ? crowded : below(all);
    coll_memory_put(s->index->data, host, s->index->bytes);
    free(host);
    for (int i = 0; i < s->n_ops; i++) {
        hap_dim m = WHOLE(random_cols(4, 20));
        s->cols[i] = m.n;
        hap_dim w[] = {experts, s->trans == HAP_NT ? m : WHOLE(k),
                       s->trans == HAP_NT ? WHOLE(k) : m};
        s->w[i] = declare(SEG_LOCAL, s->type, 3, w);
        fill(s->w[i], false);
    }
}

// [group, expert, place, width] over a change from groups to experts or back, or groups gathered.
static void random_rooms(sample *s, int axis, int parts)
{
    int64_t groups = below(20), all = 1 + below(6), rows = 1 + below(9), k = random_cols(3, 12);
    hap_dim moved = {groups, 1, 1, axis, random_table(groups, parts)};
    hap_dim experts = WHOLE(all);
    if (s->kind == HAP_ALL_TO_ALL) experts = (hap_dim){all, 1, 1, axis, random_table(all, parts)};
    s->rooms = true;
    s->rank = 4;
    s->trans = chance(50) ? HAP_NN : HAP_NT;
    seen_rooms += s->kind == HAP_ALL_TO_ALL;
    const hap_dim x[] = {WHOLE(groups), experts, WHOLE(rows), WHOLE(k)};
    memcpy(s->x_dims, x, sizeof x);
    random_experts(s, k, rows, experts);
    memcpy(s->src_dims, x, sizeof x);
    memcpy(s->dst_dims, x, sizeof x);
    hap_dim *cut = s->consumer ? s->src_dims : s->dst_dims;
    cut[0] = moved;
    cut[1] = WHOLE(all);
    if (!s->consumer) s->src_dims[3] = s->dst_dims[3] = WHOLE(s->cols[0]);
    s->src = declare(SEG_LOCAL, s->type, 4, s->consumer ? s->src_dims : s->x_dims);
    fill(s->src, false);
}

static void random_sample(sample *s)
{
    static const hap_coll_kind kinds[] = {HAP_ALL_GATHER,     HAP_ALL_GATHER, HAP_REDUCE_SCATTER,
                                          HAP_REDUCE_SCATTER, HAP_ALL_REDUCE, HAP_ALL_TO_ALL,
                                          HAP_ALL_TO_ALL};
    memset(s, 0, sizeof *s);
    s->kind = kinds[below(7)];
    s->consumer = s->kind == HAP_ALL_GATHER || (s->kind == HAP_ALL_TO_ALL && chance(50));
    s->axes = r->n_axes == 2 ? (unsigned)(1 + below(3)) : 1u;
    int others = hap_group_size(r, s->axes) - 1;
    s->form = FORM_PUT(1 + below(others > 1 ? others : 1));
    if (s->kind == HAP_ALL_REDUCE && chance(50)) s->form = FORM_FLAT;
    s->type = chance(50) ? HAP_F32 : chance(70) ? HAP_BF16 : HAP_F16;
    int axis = s->axes == 3u ? HAP_BOTH : s->axes == 2u ? 1 : 0;
    int parts = hap_group_size(r, s->axes);
    if (s->axes == 3u) parts = r->n_ranks;
    random_groups(s, s->kind == HAP_ALL_REDUCE ? 1 : parts);
    if ((s->consumer || s->kind == HAP_ALL_TO_ALL) && n_pairs <= PAIRS && chance(40)) {
        s->type = HAP_F32;
        random_rooms(s, axis, parts);
        return;
    }
    uint64_t before = state;
    const bool columns = s->consumer && s->kind == HAP_ALL_TO_ALL;
    if (chance(60) && !columns) s->tiles = pair_tiles_draw(below, s->kind, parts, s->listed);
    state = before; // the rest as without a list

    // Dims: perhaps 1, the moved one, perhaps one more, the columns.
    int at = chance(30) ? 1 : 0;
    s->rank = at + 2 + (chance(40) && n_pairs <= PAIRS ? 1 : 0);
    int64_t n = random_rows();
    hap_dim moved = {n, 1, 1 + (chance(30) && n_pairs <= PAIRS ? below(3) : 0), axis,
                     random_table(n, parts)};
    int64_t k = random_cols(3, 12), wide = s->kind == HAP_ALL_TO_ALL;
    const bool deep = n_pairs > PAIRS && n < 64 && chance(10); // in parts of k
    if (deep) k = 64 * (24 + below(16));
    one_in = deep ? 8 : 1;
    for (int i = 0; i < s->rank; i++)
        s->src_dims[i] = s->dst_dims[i] = s->x_dims[i] = WHOLE(i < at            ? 1
                                                               : i == at         ? n * moved.inner
                                                               : i < s->rank - 1 ? 1 + below(4)
                                                                                 : k);
    hap_dim *last = &s->src_dims[s->rank - 1];
    hap_dim cols = WHOLE(random_cols(3, 12));
    if (s->consumer) {
        s->src_dims[at] = moved;
    } else {
        s->src_dims[s->rank - 1] = s->dst_dims[s->rank - 1] = cols; // src: what the matmul makes
        if (s->kind != HAP_ALL_REDUCE) s->dst_dims[at] = moved;
    }
    hap_dim inner = WHOLE(k); // of the matmul
    if (wide) {               // cut in its columns, o x c x i of them
        int64_t c = 1 + below(9), o = 1 + below(2), i = 1 + below(3);
        hap_dim cut = {c, o, i, axis, random_table(c, parts)};
        *(columns ? &s->dst_dims[s->rank - 1] : last) = cut;
        *(columns ? last : &s->dst_dims[s->rank - 1]) = WHOLE(c * o * i);
        if (columns) inner = cut;
    }
    seen_columns += columns;
    s->trans = chance(50) ? HAP_NN : HAP_NT;
    s->as_matmul = chance(25);
    s->n_ops = s->consumer ? (int)(1 + below(MAX_OPS)) : 1;
    s->src = declare(SEG_LOCAL, s->type, s->rank, s->consumer ? s->src_dims : s->x_dims);
    fill(s->src, false);
    for (int i = 0; i < s->n_ops; i++) {
        hap_dim m = s->consumer ? WHOLE(random_cols(4, 20)) : s->src_dims[s->rank - 1];
        s->cols[i] = m.n;
        hap_dim w[] = {s->trans == HAP_NT ? m : inner, s->trans == HAP_NT ? inner : m};
        s->w[i] = declare(SEG_LOCAL, s->type, 2, w);
        fill(s->w[i], false);
        if (s->as_matmul || chance(50)) continue;
        s->bias[i] = declare(SEG_LOCAL, s->type, 1, &m);
        fill(s->bias[i], false);
    }
}

static void matmul(const sample *s, int i, hap_tensor *y, hap_tensor *x)
{
    if (s->rooms)
        op_room_linear(r, y, x, s->index, s->w[i], s->trans == HAP_NT);
    else if (s->as_matmul)
        op_matmul(r, y, x, s->w[i], (hap_trans)s->trans);
    else
        op_linear(r, y, x, s->w[i], s->bias[i], (hap_trans)s->trans);
}

static hap_event *start(const sample *s, hap_tensor *dst, hap_tensor *src, hap_tensor *scratch)
{
    switch (s->kind) {
    case HAP_ALL_GATHER:
        return coll_all_gather_start(r, s->axes, s->form, 1, &dst, &src, scratch);
    case HAP_REDUCE_SCATTER:
        return coll_reduce_scatter_start(r, s->axes, s->form, 1, &dst, &src, scratch);
    case HAP_ALL_REDUCE:
        return coll_all_reduce_start(r, s->axes, s->form, 1, &dst, &src, scratch);
    case HAP_ALL_TO_ALL:
        return coll_all_to_all_start(r, s->axes, s->form, 1, &dst, &src, scratch);
    case HAP_RESHARD:
        break;
    }
    return NULL;
}

// docs/formats.md: of every member the parts of a distance follow one another, the first of them at
// the member's rows; part k ends at min(rows, M (w_1 + ... + w_k) / sum w).
static void check_parts(const sample *s)
{
    int n = s->kind == HAP_ALL_REDUCE ? 1 : hap_group_size(r, s->axes);
    for (int d = 0; d < n; d++) {
        int64_t rows[64] = {0}, begin[64] = {0}, most = 0, sum = 0, before = 0;
        for (int k = 0; k < s->n_chunks; k++) {
            if (s->chunk[k][0] != d) continue;
            for (int m = 0; m < n; m++) {
                int64_t lo, hi;
                hap_part_rows(r, &r->pair, k, m, &lo, &hi);
                if (sum == 0) begin[m] = lo;
                failures += lo != begin[m] + rows[m] || hi < lo;
                rows[m] += hi - lo;
                if (rows[m] > most) most = rows[m];
            }
            sum += llabs(s->chunk[k][1]);
        }
        for (int k = 0; k < s->n_chunks; k++) {
            if (s->chunk[k][0] != d) continue;
            before += llabs(s->chunk[k][1]);
            for (int m = 0; m < n; m++) {
                int64_t lo, hi, end = most * before / sum;
                hap_part_rows(r, &r->pair, k, m, &lo, &hi);
                failures += hi - begin[m] != (end < rows[m] ? end : rows[m]);
            }
        }
    }
}

// The calls, in brackets or not. A producer's event is left open.
static result run(const sample *s, bool pair, bool in_place)
{
    result z = {.n = 0};
    hap_tensor *scratch = NULL, *y[MAX_OPS] = {NULL};
    bool sums = s->kind == HAP_ALL_REDUCE;
    hap_segment at = s->kind == HAP_REDUCE_SCATTER ? SEG_LOCAL : SEG_SYM;
    hap_tensor *src = s->src;
    if (!s->consumer)
        src = z.t[z.n++] = declare(sums ? SEG_SYM : SEG_LOCAL, s->type, s->rank, s->src_dims);
    hap_tensor *dst = in_place ? src : declare(at, s->type, s->rank, s->dst_dims);
    if (!in_place) z.t[z.n++] = dst;
    for (int i = 0; i < s->n_ops && s->consumer; i++) {
        hap_dim dims[HAP_MAX_RANK];
        memcpy(dims, s->dst_dims, sizeof dims);
        dims[s->rank - 1] = WHOLE(s->cols[i]);
        y[i] = z.t[z.n++] = declare(SEG_LOCAL, s->type, s->rank, dims);
    }
    hap_coll_call c = {s->kind, HAP_SUM, s->axes, s->form, 1, &dst, &src, NULL};
    int64_t need = hap_coll_scratch_bytes(r, &c);
    if (need > 0) scratch = declare(SEG_SYM, HAP_BOOL, 1, HAP_DIMS(WHOLE(need)));
    if (longest_delay)
        coll_memory_delay(r, (int)(mix(state + (uint64_t)r->id) % (uint64_t)longest_delay));
    const hap_pair_tiles *t = &s->tiles;
    if (pair) hap_overlap(r, s->n_chunks, s->chunk);
    if (pair && t->said) hap_tiles(r, t->rows, t->cols, t->how, t->n_chunks, t->chunk);
    if (s->consumer) {
        hap_wait(r, start(s, dst, src, scratch));
        for (int i = 0; i < s->n_ops; i++)
            matmul(s, i, y[i], dst);
    } else {
        matmul(s, 0, src, s->src);
        z.event = start(s, dst, src, scratch);
    }
    if (pair) {
        hap_overlapped(r);
        for (int k = 0; k < s->n_chunks; k++)
            passed += hap_pair_passed(r, &r->pair, k).rows.n > 0;
        check_parts(s);
    }
    if (in_place) z.t[0] = dst;
    return z;
}

static float value_of(hap_dtype type, const void *at)
{
    float x = 0;
    uint16_t h = 0;
    if (type == HAP_F32)
        memcpy(&x, at, 4);
    else
        memcpy(&h, at, 2), x = type == HAP_BF16 ? hap_bf16_to_f32(h) : hap_f16_to_f32(h);
    return x;
}

// What differs: how much, the first of it, and the pair it is of.
static void tell(const sample *s, const hap_tensor *t, int i, const char *is, const char *wanted)
{
    const int64_t each = hap_dtype_bytes(t->type);
    int64_t off = 0, first = 0, last = 0;
    for (int64_t k = 0; k < t->elements; k++)
        if (memcmp(is + k * each, wanted + k * each, (size_t)each)) {
            first = off++ ? first : k;
            last = k;
        }
    char text[128], x[128];
    hap_coll_call c = {.kind = s->kind};
    fprintf(stderr, "rank %d: %s %s, tensor %d %s: ", r->id, hap_coll_name(&c),
            hap_form_name(s->form).s, i, hap_tensor_text(r, t, text, sizeof text));
    if (off == 0)
        fprintf(stderr, "written behind its %lld bytes", (long long)t->bytes);
    else
        fprintf(stderr, "%lld values differ, from %lld to %lld; the first is %g, not %g",
                (long long)off, (long long)first, (long long)last,
                (double)value_of(t->type, is + first * each),
                (double)value_of(t->type, wanted + first * each));
    fprintf(stderr, "; %d parts, list of %d, %s%s of %s and %d more%s%s\n", s->n_chunks,
            s->tiles.said ? s->tiles.n_chunks : 0, s->rooms ? "rooms" : "rows",
            s->trans == HAP_NT ? " by w'" : "", hap_tensor_text(r, s->src, x, sizeof x),
            s->n_ops - 1, s->as_matmul ? ", matmul" : "", s->bias[0] ? ", bias" : "");
}

static void compare(const sample *s, const result *a, const result *b)
{
    for (int i = 0; i < a->n; i++) {
        int64_t room = room_of(a->t[i]), n = a->t[i]->bytes;
        char *p = malloc((size_t)room), *q = malloc((size_t)room);
        coll_memory_get(p, a->t[i]->data, room);
        coll_memory_get(q, b->t[i]->data, room);
        bool same = !memcmp(p, q, (size_t)n);
        for (int64_t k = n; k < room; k++)
            same = same && (unsigned char)p[k] == POISON;
        if (!same && failures++ < 10) tell(s, a->t[i], i, p, q);
        free(p);
        free(q);
    }
}

static void random_mesh(int n_ranks, int *n_axes, int *size)
{
    *n_axes = chance(50) ? 1 : 2;
    size[0] = n_ranks;
    size[1] = 1;
    while (*n_axes == 2 && (size[0] = (int)(1 + below(n_ranks)), n_ranks % size[0])) {}
    size[1] = n_ranks / size[0];
}

// Pairs one after the other; a producer's event may stay open over the next pair.
static void round_of(void)
{
    sample open_sample;
    result open = {.n = 0}, open_plain = {.n = 0};
    for (int k = 0; k < n_pairs; k++) {
        sample s;
        if (!open.event && (bump[0] > ARENA / 2 || bump[1] > ARENA / 2)) bump[0] = bump[1] = 0;
        if (k == dies_at) raise(SIGKILL);
        random_sample(&s);
        bool in_place = s.kind == HAP_ALL_REDUCE && chance(50);
        result plain = run(&s, false, in_place);
        if (plain.event) hap_wait(r, plain.event);
        result pair = run(&s, true, in_place);
        seen[s.kind][hap_form_put(s.form) ? hap_form_copies(s.form) % MOST_COPIES : 0]++;
        for (int i = 0; i < s.n_chunks; i++)
            empty_parts += s.consumer && pair.t[0]->elements == 0;
        if (open.event) {
            hap_wait(r, open.event);
            hap_backend_sync(r);
            compare(&open_sample, &open, &open_plain);
            open.event = NULL;
        }
        const bool room = bump[0] <= ARENA / 2 && bump[1] <= ARENA / 2;
        if (pair.event && room && chance(50)) {
            open_sample = s;
            open = pair;
            open_plain = plain;
            continue;
        }
        if (pair.event) hap_wait(r, pair.event);
        hap_backend_sync(r);
        compare(&s, &pair, &plain);
    }
    if (!open.event) return;
    hap_wait(r, open.event);
    hap_backend_sync(r);
    compare(&open_sample, &open, &open_plain);
}

static int check_seen(int n_ranks)
{
    int missing = 0;
    for (int k = HAP_ALL_GATHER; k <= HAP_ALL_TO_ALL; k++)
        for (int copies = 1; copies < MOST_COPIES; copies++)
            missing += !seen[k][copies] && copies <= (n_ranks > 2 ? n_ranks - 1 : 1);
    missing += !seen[HAP_ALL_REDUCE][0] + !split + (n_ranks > 1 && !empty_parts);
    missing += (n_ranks > 2) != (passed > 0);
    missing += (n_pairs <= PAIRS && !seen_rooms) + !seen_columns; // long runs have no rooms
    if (missing) fprintf(stderr, "pair_test: %d kinds and forms not seen\n", missing);
    return missing;
}

int main(int argc, char **argv)
{
    static hap_rank base;
    hap_comm_start(&base, &argc, &argv);
    test_options(&base.opt);
    int rounds = argc > 1 ? atoi(argv[1]) : 30;
    uint64_t seed = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
    longest_delay = argc > 3 ? atoi(argv[3]) : 50;
    if (argc > 4) n_pairs = atoi(argv[4]);
    const char *dies = getenv("PAIR_TEST_DIES");
    if (dies && atoi(dies) == base.id && strchr(dies, ':')) dies_at = atoi(strchr(dies, ':') + 1);
    int class_of[64];
    int64_t local[64];
    for (int i = 0; i < 64; i++) {
        class_of[i] = i;
        local[i] = ARENA;
    }
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
        bump[0] = bump[1] = 0;
        round_of();
        coll_memory_end(r);
        hap_backend_finish(r);
        hap_tensor_free_all(r);
    }
    if (rounds * n_pairs >= 300) failures += check_seen(base.n_ranks);
    int all = -hap_comm_min(&base, -failures);
    if (base.id == 0)
        printf("pair_test: %d pairs on %d ranks, %s\n", rounds * n_pairs, base.n_ranks,
               all ? "FAILED" : "all right");
    hap_comm_finish(&base);
    return all ? 1 : 0;
}
