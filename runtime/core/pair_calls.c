#include "core/pair_calls.h"

#include <stdlib.h>

#include "core/coll_geometry.h"
#include "core/fail.h"
#include "core/pair_rows.h"

static bool meet(const hap_tensor *a, const hap_tensor *b)
{
    return a && b && a->seg == b->seg && a->off < b->off + b->bytes && b->off < a->off + a->bytes;
}

static bool same(const hap_tensor *a, const hap_tensor *b)
{
    return a->seg == b->seg && a->off == b->off && a->bytes == b->bytes && a->type == b->type &&
           a->rank > 0 && b->rank > 0 && a->local[a->rank - 1] == b->local[b->rank - 1];
}

static void check_groups(hap_rank *r, int n_chunks, const int64_t (*chunks)[3])
{
    HAP_CK(r, n_chunks >= 1 && chunks, "a pair without chunks");
    HAP_CK(r, n_chunks <= HAP_PAIR_CHUNKS, "a pair of %d chunks", n_chunks);
    HAP_CK(r, chunks[0][1] >= 0, "the first chunk of a pair is joined to one before");
    for (int k = 0; k < n_chunks; k++)
        HAP_CK(r,
               chunks[k][0] >= 0 && chunks[k][1] != 0 && chunks[k][1] <= INT32_MAX &&
                   chunks[k][1] >= -INT32_MAX,
               "chunk %d has distance %lld and weight %lld", k, (long long)chunks[k][0],
               (long long)chunks[k][1]);
    for (int k = 0; k < n_chunks; k++)
        HAP_CK(r,
               chunks[k][2] == 0 ||
                   (chunks[k][2] > 0 && chunks[k][0] != 0 && chunks[k][0] != chunks[k][2]),
               "chunk %d goes by way of %lld", k, (long long)chunks[k][2]);
}

void hap_pair_begin(hap_rank *r, int n_chunks, const int64_t (*chunks)[3])
{
    HAP_CK(r, !r->pair.open, "a pair stands in another");
    HAP_CK(r, !r->in_fusion, "stands in a fusion, which is of ops alone");
    check_groups(r, n_chunks, chunks);
    r->pair = (hap_pair){.open = true, .n_chunks = n_chunks, .chunk = chunks, .line = r->line};
}

static bool is_form(int rows, int cols, bool turns)
{
#define HAP_TILE_FORM(its_rows, its_cols, its_turns, parts, percent)                               \
    if (rows == its_rows && cols == its_cols && turns == its_turns) return true;
#include "hap/tiles.def"
    return false;
}

void hap_pair_tile(hap_rank *r, const hap_pair_tiles *t)
{
    enum {
        HOW = HAP_TILE_TURNS | HAP_TILE_SUMS | HAP_TILE_BY_ROWS | HAP_TILE_FIRST | HAP_TILE_STORES |
              HAP_TILE_PARTS
    };
    hap_pair *p = &r->pair;
    HAP_CK(r, p->open && !p->started && p->n_ops == 0 && !p->tiles.said,
           "stands directly behind hap_overlap, once");
    HAP_CK(r, is_form(t->rows, t->cols, t->how & HAP_TILE_TURNS),
           "there is no tile kernel of %d x %d%s", t->rows, t->cols,
           t->how & HAP_TILE_TURNS ? " in turns" : "");
    HAP_CK(r, t->how <= HOW, "tiles made in a way %u", t->how);
    check_groups(r, t->n_chunks, t->chunk);
    p->tiles = *t;
    p->tiles.said = true;
}

// Why the op does not go row by row from in[0] to out[0]; NULL if it does.
static const char *not_by_rows(const hap_op_call *c)
{
    const hap_tensor *x = c->in[0], *w = c->n_in > 1 ? c->in[1] : NULL, *y = c->out[0];
    int64_t trans = c->attr[0].i;
    const hap_op_row *row = &hap_op_rows[c->op];
    if (!row->alternatives) return "is no matmul";
    if (!x || !w || x->rank <= row->dims || y->rank <= row->dims)
        return "has an operand without rows";
    if (trans < 0 || trans > HAP_TN || !(row->alternatives >> trans & 1) ||
        (row->matrix && w->rank != 2))
        return "is not one matmul of rows with a matrix";
    int64_t rows_x = 1, rows_y = 1;
    for (int i = 0; i < x->rank - row->dims; i++)
        rows_x *= x->local[i];
    for (int i = 0; i < y->rank - row->dims; i++)
        rows_y *= y->local[i];
    return rows_x == rows_y ? NULL : "has other rows in its operand than in its output";
}

void hap_pair_op(hap_rank *r, const hap_op_call *c)
{
    hap_pair *p = &r->pair;
    const char *why = not_by_rows(c);
    HAP_CK(r, !why, "stands in a pair, but %s", why);
    if (p->consumer) {
        HAP_CK(r, p->waited, "stands in a pair before the wait of its collective");
        HAP_CK(r, p->n_ops < HAP_PAIR_OPS, "a pair of more than %d matmuls", HAP_PAIR_OPS);
        HAP_CK(r, same(c->in[0], p->dst), "stands in a pair, but does not read what it gathers");
        HAP_CK(r, p->n_ops == 0 || p->row_dims == hap_op_rows[c->op].dims,
               "stands in a pair, but has other rows than the matmul before it");
    } else {
        HAP_CK(r, p->n_ops == 0, "a second matmul before the collective of a pair");
    }
    p->row_dims = hap_op_rows[c->op].dims;
    p->op_line[p->n_ops] = r->line;
    p->op[p->n_ops++] = *c;
}

// Every distance has a chunk, and none else.
static void check_chunks(hap_rank *r, const hap_pair *p)
{
    int64_t n = p->kind == HAP_ALL_REDUCE && !p->by_rows ? 1 : hap_group_size(r, p->axes);
    for (int k = 0; k < p->n_chunks; k++)
        HAP_CK(r, p->chunk[k][0] < n, "chunk %d of the pair has distance %lld among %lld", k,
               (long long)p->chunk[k][0], (long long)n);
    for (int64_t d = 0; d < n; d++) {
        bool there = false;
        int64_t all = 0;
        for (int k = 0; k < p->n_chunks; k++) {
            if (p->chunk[k][0] != d) continue;
            there = true;
            all += llabs(p->chunk[k][1]);
        }
        HAP_CK(r, there, "the pair has no chunk of distance %lld", (long long)d);
        HAP_CK(r, all <= INT32_MAX, "the pair's weights of distance %lld are %lld together",
               (long long)d, (long long)all);
    }
}

// What is passed on comes to who passes it on with chunks before.
static void check_passed(hap_rank *r, const hap_pair *p)
{
    for (int k = 0; k < p->n_chunks; k++) {
        if (p->chunk[k][2] == 0) continue;
        HAP_CK(r, p->kind == HAP_ALL_GATHER,
               "chunk %d goes by way of another, and the pair gathers nothing", k);
        HAP_CK(r, p->chunk[k][2] < hap_group_size(r, p->axes), "chunk %d goes by way of %lld", k,
               (long long)p->chunk[k][2]);
        for (int i = k + 1; i < p->n_chunks; i++)
            HAP_CK(r, !hap_pair_brings(p, i, k),
                   "chunk %d is passed on before chunk %d has brought it there", k, i);
    }
}

// Of the list of tiles: groups as the pair's own; own tiles that wait for what others make come
// behind all that others wait for.
static void check_tiles(hap_rank *r, const hap_pair *p)
{
    const unsigned how = p->tiles.how;
    const bool own_last = how & HAP_TILE_SUMS;
    bool own = false;
    hap_pair q;
    if (!hap_pair_listed(r, p, &q)) return;
    HAP_CK(r, p->row_dims == 1 && !(p->consumer && p->kind == HAP_ALL_TO_ALL),
           "there are no tiles of such a pair");
    HAP_CK(r, !(how & HAP_TILE_BY_ROWS) || p->kind == HAP_ALL_REDUCE,
           "tiles by rows of what is no all-reduce");
    HAP_CK(r, !own_last || p->kind == HAP_REDUCE_SCATTER || how & HAP_TILE_BY_ROWS,
           "tiles add sums of what is no reduce-scatter");
    HAP_CK(r, own_last || !(how & HAP_TILE_BY_ROWS), "tiles by rows add no sums");
    HAP_CK(r, own_last || p->consumer || !(how & HAP_TILE_STORES),
           "tiles are stored where nothing adds them");
    HAP_CK(r, !(how & HAP_TILE_PARTS) || (p->consumer && !(how & HAP_TILE_TURNS)),
           "tiles in parts of their k of what is no all-gather, or in turns");
    check_chunks(r, &q);
    check_passed(r, &q);
    for (int k = 0; k < q.n_chunks && how & HAP_TILE_STORES; k++)
        HAP_CK(r, !q.chunk[k][2], "what a kernel stores is passed on with group %d", k);
    for (int k = 0; k < q.n_chunks && own_last; k++) {
        own = own || q.chunk[k][0] == 0;
        HAP_CK(r, !own || q.chunk[k][0] == 0,
               "tiles of group %d stand behind own ones, which wait for what others make", k);
    }
}

static void check_geometry(hap_rank *r, const hap_pair *p, const hap_coll_call *c)
{
    const hap_tensor *t = p->consumer ? p->dst : p->src;
    hap_coll_view v;
    char why[160];
    HAP_CK(r, t->rank > p->row_dims, "a pair moves a tensor without rows");
    if (p->kind == HAP_ALL_REDUCE) return;
    hap_coll_view_of(r, c, 0, &v, why, sizeof why);
    const hap_tensor *side = p->consumer ? p->src : p->dst;
    int at = (int)((p->consumer ? v.src_dim : v.dst_dim) - side->dim);
    int factor = p->consumer ? v.src_factor : v.dst_factor;
    HAP_CK(r, at < t->rank - p->row_dims && factor == 1 && v.outer <= 1,
           "the moved factor of a pair is not the outermost of the matmul's rows");
    if (p->kind != HAP_ALL_TO_ALL) return;
    int other = (int)((p->consumer ? v.dst_dim : v.src_dim) - t->dim);
    HAP_CK(r, other >= t->rank - p->row_dims,
           "not supported: a pair of an all_to_all between cuts of rows");
}

// The pair's tensors: whatever one of its calls writes lies apart from all others.
static void check_apart(hap_rank *r, const hap_pair *p)
{
    const hap_tensor *t[3 + HAP_PAIR_OPS * (HAP_MAX_IN + 1)];
    bool written[sizeof t / sizeof *t];
    int n = 0;
    bool in_place = p->kind == HAP_ALL_REDUCE && p->dst->off == p->src->off;
    t[n] = p->dst, written[n++] = true;
    if (!in_place) t[n] = p->src, written[n++] = !p->consumer;
    t[n] = p->scratch, written[n++] = true;
    for (int i = 0; i < p->n_ops; i++) {
        const hap_op_call *c = &p->op[i];
        if (p->consumer) t[n] = c->out[0], written[n++] = true;
        for (int k = p->consumer ? 1 : 0; k < c->n_in; k++)
            t[n] = c->in[k], written[n++] = false;
    }
    for (int a = 0; a < n; a++)
        for (int b = a + 1; b < n; b++)
            HAP_CK(r, (!written[a] && !written[b]) || !meet(t[a], t[b]),
                   "two tensors of a pair share memory, and one of them is written");
}

// Of the collective, once its matmuls are known.
static void check_rows(hap_rank *r, hap_pair *p)
{
    hap_coll_call c = hap_pair_coll(p);
    const char *doing = r->doing;
    int line = r->line;
    r->doing = hap_coll_name(&c);
    r->line = p->coll_line;
    check_geometry(r, p, &c);
    p->most_rows = hap_pair_most_rows(r, p);
    check_tiles(r, p);
    r->doing = doing;
    r->line = line;
}

void hap_pair_start(hap_rank *r, const hap_coll_call *c)
{
    hap_pair *p = &r->pair;
    HAP_CK(r, !p->started, "a second collective in a pair");
    HAP_CK(r, c->n == 1, "a pair moves one tensor");
    bool flat = c->kind == HAP_ALL_REDUCE && c->form == FORM_FLAT;
    HAP_CK(r, flat || hap_form_put(c->form), "there is no pair of form %s",
           hap_form_name(c->form).s);
    HAP_CK(r, c->kind != HAP_RESHARD && c->reduce == HAP_SUM, "there is no pair of it");
    p->started = true;
    p->consumer = p->n_ops == 0;
    p->kind = c->kind;
    p->axes = c->axes;
    p->form = c->form;
    p->dst = c->dst[0];
    p->src = c->src[0];
    p->scratch = c->scratch;
    p->coll_line = r->line;
    HAP_CK(r, p->consumer || c->kind != HAP_ALL_GATHER,
           "a matmul stands before the all-gather of a pair");
    HAP_CK(r, !p->consumer || c->kind == HAP_ALL_GATHER || c->kind == HAP_ALL_TO_ALL,
           "no matmul stands before it in the pair");
    if (!p->consumer)
        HAP_CK(r, same(p->op[0].out[0], p->src), "does not move what the pair's matmul makes");
    check_chunks(r, p);
    check_passed(r, p);
    if (p->consumer) return;
    check_rows(r, p);
    check_apart(r, p);
}

void hap_pair_wait(hap_rank *r, const hap_event *e)
{
    hap_pair *p = &r->pair;
    HAP_CK(r, p->consumer && !p->waited && e == p->event,
           "stands in a pair, but is not the wait of its collective");
    p->waited = true;
}

void hap_pair_end(hap_rank *r)
{
    hap_pair *p = &r->pair;
    HAP_CK(r, p->open, "no pair was begun");
    HAP_CK(r, p->started, "a pair without a collective");
    HAP_CK(r, p->n_ops > 0, "a pair without a matmul");
    if (p->consumer) {
        check_rows(r, p);
        check_apart(r, p);
    }
    p->open = false;
}
