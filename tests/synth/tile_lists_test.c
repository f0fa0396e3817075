// Lists of tiles in plans (hap_tiles): that plans for devices with tile kernels have them, that
// both ways are priced, and that the checker refuses lists that are no such thing.

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "costmodel/overlap.h"
#include "ir/graph.h"
#include "synth/certify/record.h"
#include "synth/price/pair_cost.h"
#include "synth/search/synth.h"

typedef struct planned {
    hb_arena *a;
    ir_graph *g;
    ir_factors *f;
    cost_model m;
    syn_result r;
} planned;

// Layers of 8192, tensor parallel: all-gathers and reduce-scatters, or all-reduces.
static void plan(planned *p, const char *cluster, ir_precision precision, bool whole)
{
    p->a = hb_arena_new();
    hb_diag *d = hb_diag_new(p->a);
    ir_options o = {.batch = 4, .precision = precision};
    p->g = ir_build(p->a, "examples/gpt2-8k/graph.json", &o, d);
    ck_assert_ptr_nonnull(p->g);
    p->f = ir_factorize(p->a, p->g);
    p->m.cluster = cl_read(p->a, hb_fmt(p->a, "clusters/%s.yaml", cluster).p, NULL, d);
    p->m.math = precision == IR_PRECISION_BF16 ? COST_BF16 : COST_F32;
    ck_assert_ptr_nonnull(p->m.cluster);
    hb_str pin[2] = {HB_STR("transformer.h.*.mlp.c_fc=S(2)"),
                     whole ? HB_STR("transformer.h.*.add*=R")
                           : HB_STR("transformer.h.*.add*=S(0)")};
    syn_options so = syn_default_options();
    so.pins = syn_pins_read(p->a, p->g, p->f, pin, 2, d);
    ck_assert_ptr_nonnull(so.pins);
    p->r = syn_synthesize(p->a, p->g, p->f, &p->m, &so);
    ck_assert_int_eq(p->r.status, SYN_OK);
}

static const syn_tiles *first_list(const planned *p, unsigned how)
{
    const syn_program *s = p->r.program;
    for (int k = 0; k < s->pairs.n; k++)
        if (s->pairs.p[k].tiles.n_chunks && (s->pairs.p[k].tiles.how & how) == how)
            return &s->pairs.p[k].tiles;
    return NULL;
}

static void look_at(const syn_pair *x)
{
    const syn_tiles *t = &x->tiles;
    const bool first = t->how & SYN_TILE_FIRST;
    ck_assert_double_gt(x->chunked, 0);
    if (t->n_chunks == 0) {
        ck_assert(!first);
        ck_assert_double_eq_tol(x->total, x->chunked, 1e-12);
        return;
    }
    ck_assert_double_gt(t->total, 0);
    ck_assert_double_eq_tol(x->total, first ? t->total : x->chunked, 1e-12);
    ck_assert(!first || t->total < x->chunked);
    for (int k = 0; k < t->n_chunks; k++)
        ck_assert_int_ge(t->chunk[k][1], 1);
}

START_TEST(plans_have_lists)
{
    planned p = {0};
    plan(&p, "h200x4", IR_PRECISION_BF16, false);
    ck_assert_ptr_nonnull(first_list(&p, 0));
    ck_assert_ptr_nonnull(first_list(&p, SYN_TILE_SUMS));
    for (int k = 0; k < p.r.program->pairs.n; k++)
        look_at(&p.r.program->pairs.p[k]);
    hb_arena_free(p.a);
    plan(&p, "h200x4-mixed", IR_PRECISION_BF16, true);
    ck_assert_ptr_nonnull(first_list(&p, SYN_TILE_BY_ROWS));
    for (int k = 0; k < p.r.program->pairs.n; k++)
        look_at(&p.r.program->pairs.p[k]);
    hb_arena_free(p.a);
}
END_TEST

START_TEST(only_where_there_are_kernels)
{
    planned p = {0};
    plan(&p, "h200x4", IR_PRECISION_FP32, false);
    ck_assert_ptr_null(first_list(&p, 0));
    hb_arena_free(p.a);
    plan(&p, "a100x2-v100x2", IR_PRECISION_BF16, false);
    ck_assert_ptr_null(first_list(&p, 0));
    hb_arena_free(p.a);
}
END_TEST

// --- what the checker refuses ---

typedef struct fault {
    int what; // of tile, or TILES + part of a chunk
    int64_t to;
    const char *said;
} fault;
enum { ROWS, COLS, HOW, DISTANCE, WEIGHT, VIA };

static record *with(const planned *p, const record *r, int at, const fault *f, int chunk)
{
    record *x = hb_copy(p->a, r, sizeof *r);
    x->calls.p = hb_copy(p->a, r->calls.p, sizeof *r->calls.p * (size_t)r->calls.n);
    rec_call *k = &x->calls.p[at];
    k->chunk = hb_copy(p->a, k->chunk, sizeof *k->chunk * (size_t)k->n_chunks);
    if (f->what <= HOW)
        k->tile[f->what] = f->to;
    else
        k->chunk[chunk][f->what - DISTANCE] = f->to;
    return x;
}

static void refuses(const planned *p, const record *x, const char *said)
{
    hb_str why;
    ck_assert_msg(!syn_check(p->a, p->g, p->f, x, &why), "accepted, but expected: %s", said);
    ck_assert_msg(strstr(hb_str_n(p->a, why.p, why.n).p, said) != NULL, "%.*s, not: %s",
                  HB_ARG(why), said);
}

static void refuse(const planned *p, int64_t how)
{
    static const fault any[] = {{ROWS, 100, "there are no tiles of 100 x"},
                                {COLS, 64, "there are no tiles of 128 x 64"},
                                {HOW, 64, "made in a way 64"},
                                {HOW, -1, "made in a way -1"},
                                {DISTANCE, 4, "has distance 4"},
                                {WEIGHT, 0, "and weight 0"},
                                {VIA, 1, "goes by way of 1"}};
    record *r = record_from_plan(p->a, p->r.program);
    int at = -1, n = 0;
    hb_str why;
    ck_assert(syn_check(p->a, p->g, p->f, r, &why));
    for (int i = 0; i < r->calls.n && at < 0; i++)
        if (r->calls.p[i].kind == REC_TILES && (r->calls.p[i].tile[HOW] & how) == how &&
            r->calls.p[i].tile[ROWS] == 128 && r->calls.p[i].chunk[0][0] > 0)
            at = i;
    ck_assert_int_ge(at, 0);
    // By copies, whichever way was planned.
    r = with(p, r, at, &(fault){HOW, r->calls.p[at].tile[HOW] & ~(int64_t)SYN_TILE_STORES, ""}, 0);
    ck_assert(syn_check(p->a, p->g, p->f, r, &why));
    for (size_t i = 0; i < sizeof any / sizeof *any; i++)
        refuses(p, with(p, r, at, &any[i], 0), any[i].said);
    // Own tiles before what others wait for; a distance that is missing; in another place.
    const rec_call *k = &r->calls.p[at];
    refuses(p, with(p, r, at, &(fault){DISTANCE, 0, ""}, 0),
            k->chunk[0][0] == k->chunk[1][0] ? "stand behind own ones" : "");
    record *x = with(p, r, at, &any[0], 0);
    for (int i = 0; i < k->n_chunks; i++)
        if (k->chunk[i][0] != 1) memcpy(x->calls.p[at].chunk[n++], k->chunk[i], sizeof *k->chunk);
    x->calls.p[at].n_chunks = n;
    x->calls.p[at].tile[ROWS] = 128;
    refuses(p, x, "no chunk of distance 1");
    x = with(p, r, at, &any[0], 0);
    x->calls.p[at] = r->calls.p[at + 1];
    x->calls.p[at + 1] = r->calls.p[at];
    refuses(p, x, "");
    // What only an all-reduce, or a sum, may.
    const bool by_rows = k->tile[HOW] & SYN_TILE_BY_ROWS;
    refuses(p, with(p, r, at, &(fault){HOW, k->tile[HOW] ^ SYN_TILE_BY_ROWS, ""}, 0),
            by_rows ? "a list that adds sums of this all_reduce" : "a list by rows of this");
    if (by_rows)
        refuses(p, with(p, r, at, &(fault){HOW, k->tile[HOW] & ~SYN_TILE_SUMS, ""}, 0),
                "a list by rows of this");
    // Stores: of sums.
    const int64_t stored = k->tile[HOW] | SYN_TILE_STORES;
    x = with(p, r, at, &(fault){HOW, stored, ""}, 0);
    ck_assert(syn_check(p->a, p->g, p->f, x, &why));
    refuses(p, with(p, x, at, &(fault){VIA, 1, ""}, 0), "and passed on by another");
    if (!by_rows)
        refuses(p, with(p, r, at, &(fault){HOW, stored & ~SYN_TILE_SUMS, ""}, 0),
                "stores what nothing adds");
    refuses(p, with(p, r, at, &(fault){HOW, k->tile[HOW] | SYN_TILE_PARTS, ""}, 0),
            "a list in parts of k");
}

// An all-gather's: no rows are passed on.
static void refuse_passed(const planned *p)
{
    record *r = record_from_plan(p->a, p->r.program);
    hb_str why;
    for (int i = 0; i < r->calls.n; i++) {
        const rec_call *k = &r->calls.p[i];
        if (k->kind != REC_TILES || k->chunk[0][0] || k->tile[HOW] & SYN_TILE_SUMS) continue;
        record *x = with(p, r, i, &(fault){HOW, k->tile[HOW] | SYN_TILE_STORES, ""}, 0);
        ck_assert(syn_check(p->a, p->g, p->f, x, &why));
        refuses(p, with(p, x, i, &(fault){VIA, 1, ""}, k->n_chunks - 1),
                "and passed on by another");
        const int64_t parts = k->tile[HOW] | SYN_TILE_PARTS;
        x = with(p, r, i, &(fault){HOW, parts & ~SYN_TILE_TURNS, ""}, 0);
        x->calls.p[i].tile[ROWS] = 128, x->calls.p[i].tile[COLS] = 128; // in turns or not
        ck_assert(syn_check(p->a, p->g, p->f, x, &why));
        x->calls.p[i].tile[HOW] |= SYN_TILE_TURNS;
        refuses(p, x, "a list in parts of k");
        return;
    }
    ck_abort_msg("no list of an all-gather");
}

START_TEST(lists_that_are_none)
{
    planned p = {0};
    plan(&p, "h200x4", IR_PRECISION_BF16, false);
    refuse(&p, SYN_TILE_SUMS);
    refuse_passed(&p);
    hb_arena_free(p.a);
    plan(&p, "h200x4", IR_PRECISION_BF16, true);
    refuse(&p, SYN_TILE_BY_ROWS);
    hb_arena_free(p.a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tile_lists");
    TCase *t = tcase_create("lists");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, plans_have_lists);
    tcase_add_test(t, only_where_there_are_kernels);
    tcase_add_test(t, lists_that_are_none);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
