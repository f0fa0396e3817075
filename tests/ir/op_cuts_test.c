// The gate of the op table: every row x every factor that may be cut x every operand state that the
// rule allows, on 1 to 4 simulated ranks with random uneven cuts (zero rows too), against one rank.
//
// What a cut of factor k means is taken from the ir_rule alone: operands and outputs that hold k
// are sliced, outputs that do not are summed or maximised over ranks (their reducer). A term that
// does not hold a contracted k needs a partial operand: it is given as random summands. Then,
// without any cut, P(sum) through every combination of linear operands, one a term. On meshes of
// two axes: every pair of factors, and every factor cut over both axes at once.
//
// Rows are walked from the table: a row without a case fails. op_cases.c has the shapes.

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/factors.h"
#include "tests/support/few.h"
#include "tests/support/op_cases.h"

enum { MAX_RANKS = 4, MAX_PARTS = 6, TRIALS = 3 };

static uint64_t rng = 20261120;
static const hap_step_state now = {.step = 3, .lr = 0.05, .seed = 11};

// Where factor k stands in a tensor's dims.
typedef struct place {
    bool has;
    int dim;
    int64_t outer, inner;
} place;

static place find(const ir_rule *r, const ir_rule_dim *dims, int rank, int k)
{
    place p = {0};
    int pos;
    if (k < 0 || !ir_rule_find(dims, rank, k, &p.dim, &pos)) return p;
    p.has = true, p.outer = p.inner = 1;
    for (int i = 0; i < dims[p.dim].n; i++) {
        int f = dims[p.dim].f[i];
        int64_t size = f < 0 ? 1 : r->factor[f].size;
        if (i < pos) p.outer *= size;
        if (i > pos) p.inner *= size;
    }
    return p;
}

// What cut tensors look like on one rank: by axis, the factor's place in this tensor and this
// rank's part [lo, lo + n) of the factor.
typedef struct cut {
    bool both; // at[0] is cut over both axes
    place at[2];
    int64_t size[2], lo[2];
    const int64_t *table[2];
} cut;

// Shard of a whole tensor on the rank with these coordinates.
static hap_tensor shard(const hap_tensor *whole, const cut *c, const int *coord)
{
    hap_dim dim[HAP_MAX_RANK];
    for (int d = 0; d < whole->rank; d++) {
        dim[d] = WHOLE(whole->local[d]);
        for (int a = 0; a < 2; a++) {
            const place *p = &c->at[a];
            if (!p->has || d != p->dim) continue;
            dim[d] = c->both ? CUT2_IN(p->outer, c->size[a], p->inner, c->table[a])
                     : p->outer == 1 && p->inner == 1
                         ? CUT(a, c->size[a], c->table[a])
                         : CUT_IN(a, p->outer, c->size[a], p->inner, c->table[a]);
        }
    }
    return shard_new(whole->type, whole->rank, dim, coord);
}

// Element of the whole that local element i of a shard is. Written apart from the kernels' own
// maps.
static int64_t global_of(const hap_tensor *whole, const hap_tensor *s, const cut *c, int64_t i)
{
    int64_t g = 0, stride = 1;
    for (int d = s->rank - 1; d >= 0; d--) {
        int64_t l = i % s->local[d];
        i /= s->local[d];
        for (int a = 0; a < 2; a++) {
            const place *p = &c->at[a];
            if (!p->has || d != p->dim) continue;
            int64_t part = s->local[d] / p->outer / p->inner;
            int64_t in = l % p->inner, mid = l / p->inner % part, out = l / p->inner / part;
            l = (out * c->size[a] + c->lo[a] + mid) * p->inner + in;
        }
        g += l * stride;
        stride *= whole->local[d];
    }
    return g;
}

static double get(const hap_tensor *t, int64_t i)
{
    switch (t->type) {
    case HAP_F32:
        return (double)((const float *)t->data)[i];
    case HAP_I64:
        return (double)((const int64_t *)t->data)[i];
    case HAP_I32:
        return ((const int32_t *)t->data)[i];
    case HAP_BOOL:
    case HAP_U8:
        return ((const uint8_t *)t->data)[i];
    case HAP_BF16:
    case HAP_F16:
        break;
    }
    abort();
}

static void set(hap_tensor *t, int64_t i, double v)
{
    switch (t->type) {
    case HAP_F32:
        ((float *)t->data)[i] = (float)v;
        break;
    case HAP_I64:
        ((int64_t *)t->data)[i] = (int64_t)v;
        break;
    case HAP_I32:
        ((int32_t *)t->data)[i] = (int32_t)v;
        break;
    case HAP_BOOL:
        ((uint8_t *)t->data)[i] = v != 0;
        break;
    case HAP_U8:
        ((uint8_t *)t->data)[i] = (uint8_t)v;
        break;
    case HAP_BF16:
    case HAP_F16:
        abort();
    }
}

// One way to run a node on a mesh of ranks[0] x ranks[1].
typedef struct config {
    const op_case *c;
    const ir_node *n;
    const ir_rule *r;
    int ranks[2], k[2]; // k: factor cut on that axis, -1 none
    bool both;          // k[0] over both axes
    unsigned partial;   // operands given as summands (over all ranks)
    int64_t table[2][MAX_PARTS];
    hap_tensor *in, *want; // whole
} config;

static const char *describe(const config *f)
{
    static char text[512];
    size_t at = (size_t)snprintf(text, sizeof text, "%s: ", op_case_text(f->c));
    for (int a = 0; a < 2; a++) {
        if (f->k[a] < 0) continue;
        at += (size_t)snprintf(text + at, sizeof text - at, "factor %d cut", f->k[a]);
        for (int i = 0; i < f->ranks[a] * (f->both ? f->ranks[1] : 1); i++)
            at += (size_t)snprintf(text + at, sizeof text - at, " %lld", (long long)f->table[a][i]);
        at += (size_t)snprintf(text + at, sizeof text - at, ", ");
    }
    snprintf(text + at, sizeof text - at, "%d x %d ranks, partial operands 0x%x", f->ranks[0],
             f->ranks[1], f->partial);
    return text;
}

static cut cut_of(const config *f, const ir_rule_dim *dims, int rank, const int *coord)
{
    cut c = {.both = f->both};
    for (int a = 0; a < 2; a++) {
        c.at[a] = find(f->r, dims, rank, f->k[a]);
        c.size[a] = f->k[a] < 0 ? 1 : f->r->factor[f->k[a]].size;
        c.table[a] = f->table[a];
        for (int i = 0; i < coord[f->both ? HAP_BOTH : a]; i++)
            c.lo[a] += f->table[a][i];
    }
    return c;
}

// Fills one rank's shard of operand i; a partial operand gets random numbers, the last rank the
// rest.
static void give(const config *f, int i, const cut *c, bool last, hap_tensor *t, double *rest)
{
    for (int64_t e = 0; e < t->elements; e++) {
        int64_t g = global_of(&f->in[i], t, c, e);
        double v = get(&f->in[i], g);
        if (f->partial >> i & 1) {
            set(t, e, last ? rest[g] : test_uniform(&rng, -1, 1));
            rest[g] -= get(t, e);
        } else {
            set(t, e, v);
        }
    }
}

static void run_rank(const config *f, const int *coord, double *rest[], double *sum[], int *hits[])
{
    const ir_node *n = f->n;
    bool in_place = (ir_op_of(n->op)->flags & IR_IN_PLACE) != 0;
    bool last = coord[0] == f->ranks[0] - 1 && coord[1] == f->ranks[1] - 1;
    hap_tensor in[IR_MAX_IN], out[IR_MAX_OUT], *pin[IR_MAX_IN], *pout[IR_MAX_OUT];
    for (int i = 0; i < n->n_in; i++) {
        cut c = cut_of(f, f->r->in[i], f->in[i].rank, coord);
        pin[i] = &in[i];
        in[i] = shard(&f->in[i], &c, coord);
        give(f, i, &c, last, &in[i], rest[i]);
    }
    for (int o = 0; o < n->n_out; o++) {
        cut c = cut_of(f, f->r->out[o], f->want[o].rank, coord);
        pout[o] = in_place ? pin[o] : &out[o];
        if (in_place) continue;
        out[o] = shard(&f->want[o], &c, coord);
        memset(out[o].data, 0x7b, (size_t)out[o].bytes); // whatever was there before
    }
    hap_op_call call = interp_call(n, pin, pout);
    const char *why = hap_cpu_run(&now, &call);
    ck_assert_msg(!why, "%s: rank %d,%d: %s", describe(f), coord[0], coord[1], why);
    for (int o = 0; o < n->n_out; o++) {
        cut c = cut_of(f, f->r->out[o], f->want[o].rank, coord);
        for (int64_t e = 0; e < pout[o]->elements; e++) {
            int64_t g = global_of(&f->want[o], pout[o], &c, e);
            double v = get(pout[o], e);
            sum[o][g] = f->r->reducer[o] == 'm' ? fmax(sum[o][g], v) : sum[o][g] + v;
            hits[o][g]++;
        }
        if (!in_place) shard_free(&out[o]);
    }
    for (int i = 0; i < n->n_in; i++)
        shard_free(&in[i]);
}

static void compare(const config *f, int o, const double *sum, const int *hits)
{
    const hap_tensor *want = &f->want[o];
    double scale = 1;
    int times = 1; // ranks that hold an element
    for (int a = 0; a < 2; a++)
        if (!find(f->r, f->r->out[o], want->rank, f->k[f->both ? 0 : a]).has) times *= f->ranks[a];
    for (int64_t i = 0; i < want->elements; i++)
        if (isfinite(get(want, i))) scale = fmax(scale, fabs(get(want, i)));
    for (int64_t i = 0; i < want->elements; i++) {
        double w = get(want, i);
        ck_assert_msg(hits[i] == times, "%s: output %d element %lld is on %d ranks", describe(f), o,
                      (long long)i, hits[i]);
        ck_assert_msg(sum[i] == w || fabs(sum[i] - w) <= 2e-5 * scale,
                      "%s: output %d element %lld is %.9g, one rank has %.9g", describe(f), o,
                      (long long)i, sum[i], w);
    }
}

static void run_config(const config *f)
{
    const ir_node *n = f->n;
    double *sum[IR_MAX_OUT], *rest[IR_MAX_IN] = {NULL};
    int *hits[IR_MAX_OUT];
    for (int o = 0; o < n->n_out; o++) {
        int64_t e = f->want[o].elements;
        sum[o] = calloc((size_t)e + 1, sizeof(double));
        hits[o] = calloc((size_t)e + 1, sizeof(int));
        for (int64_t i = 0; i < e && f->r->reducer[o] == 'm'; i++)
            sum[o][i] = (double)-INFINITY;
    }
    for (int i = 0; i < n->n_in; i++) { // what is left to hand out of a partial operand
        rest[i] = calloc((size_t)f->in[i].elements + 1, sizeof(double));
        for (int64_t e = 0; e < f->in[i].elements; e++)
            rest[i][e] = get(&f->in[i], e);
    }
    for (int c0 = 0; c0 < f->ranks[0]; c0++)
        for (int c1 = 0; c1 < f->ranks[1]; c1++)
            run_rank(f, (const int[]){c0, c1, c0 * f->ranks[1] + c1}, rest, sum, hits);
    for (int o = 0; o < n->n_out; o++) {
        compare(f, o, sum[o], hits[o]);
        free(sum[o]);
        free(hits[o]);
    }
    for (int i = 0; i < n->n_in; i++)
        free(rest[i]);
}

// A random cut of size entries on multiples of grain; some ranks get none.
static void random_cut(int64_t size, int64_t grain, int ranks, int64_t *table)
{
    int64_t granules = (size + grain - 1) / grain, edge[MAX_PARTS + 1] = {0};
    for (int i = 1; i < ranks; i++)
        edge[i] = test_below(&rng, granules + 1) * grain;
    for (int i = 1; i < ranks; i++) // sort
        for (int j = i; j > 1 && edge[j] < edge[j - 1]; j--) {
            int64_t t = edge[j];
            edge[j] = edge[j - 1], edge[j - 1] = t;
        }
    edge[ranks] = size;
    for (int i = 0; i < ranks; i++)
        table[i] = (edge[i + 1] < size ? edge[i + 1] : size) - (edge[i] < size ? edge[i] : size);
}

// Runs f with every choice of one linear operand in each term of `terms`; false if a term has none.
static bool each_partial(config *f, unsigned terms, unsigned chosen)
{
    if (!terms) {
        f->partial = chosen;
        run_config(f);
        return true;
    }
    int term = 0;
    while (!(terms >> term & 1))
        term++;
    bool some = false;
    for (int i = 0; i < f->n->n_in; i++)
        if (f->r->term[i] == term && f->r->linear >> i & 1)
            some |= each_partial(f, terms & ~(1u << term), chosen | 1u << i);
    return some;
}

// Terms that must be partial because they do not hold the contracted factor k.
static unsigned terms_without(const config *f, int k)
{
    unsigned with = 0, all = 0;
    for (int i = 0; i < f->n->n_in; i++) {
        all |= 1u << f->r->term[i];
        if (find(f->r, f->r->in[i], f->in[i].rank, k).has) with |= 1u << f->r->term[i];
    }
    return all & ~with;
}

static bool contracted(const config *f, int k)
{
    bool some = false;
    for (int o = 0; o < f->n->n_out; o++)
        some |= f->r->reducer[o] != '-' && !find(f->r, f->r->out[o], f->want[o].rank, k).has;
    return some;
}

// An output that neither holds k nor has a reducer leaves nothing to say: such a k is not cut.
static bool may_cut(const config *f, int k)
{
    bool may = !f->r->factor[k].whole;
    for (int o = 0; o < f->n->n_out; o++)
        may &= f->r->reducer[o] != '-' || find(f->r, f->r->out[o], f->want[o].rank, k).has;
    return may;
}

// True if some tensor holds both factors in one dim: a dim is cut on one axis only.
static bool share_a_dim(const config *f, int k, int l)
{
    bool share = false;
    for (int i = 0; i < f->n->n_in; i++) {
        place p = find(f->r, f->r->in[i], f->in[i].rank, k);
        place q = find(f->r, f->r->in[i], f->in[i].rank, l);
        share |= p.has && q.has && p.dim == q.dim;
    }
    for (int o = 0; o < f->n->n_out; o++) {
        place p = find(f->r, f->r->out[o], f->want[o].rank, k);
        place q = find(f->r, f->r->out[o], f->want[o].rank, l);
        share |= p.has && q.has && p.dim == q.dim;
    }
    return share;
}

static int cut_factors, linear_rows;

static void cut_one(config *f, const ir_factors *factors, int k)
{
    cut_factors++;
    f->k[0] = k, f->k[1] = -1;
    f->ranks[1] = 1;
    bool few = test_few(); // one cut over two ranks
    for (f->ranks[0] = few ? 2 : 1; f->ranks[0] <= (few ? 2 : MAX_RANKS); f->ranks[0]++)
        for (int trial = 0; trial < (few ? 1 : TRIALS); trial++) {
            int64_t grain = factors->cls[f->r->factor[k].cls].grain;
            random_cut(f->r->factor[k].size, grain, f->ranks[0], f->table[0]);
            unsigned terms = contracted(f, k) ? terms_without(f, k) : 0;
            ck_assert_msg(
                each_partial(f, terms, 0),
                "%s: factor %d is contracted, yet a term without it has no linear operand",
                op_case_text(f->c), k);
        }
}

// One factor over both axes; a term without a contracted one is partial over all ranks.
static void cut_both(config *f, const ir_factors *factors, int k)
{
    f->k[0] = k, f->k[1] = -1;
    f->both = true;
    for (int trial = 0; trial < TRIALS; trial++) {
        f->ranks[0] = 2 + trial % 2, f->ranks[1] = trial == 0 ? 2 : 5 - f->ranks[0];
        random_cut(f->r->factor[k].size, factors->cls[f->r->factor[k].cls].grain,
                   f->ranks[0] * f->ranks[1], f->table[0]);
        ck_assert(each_partial(f, contracted(f, k) ? terms_without(f, k) : 0, 0));
    }
    f->both = false;
}

// Two factors on two axes; sums over one axis inside a cut of the other.
static void cut_two(config *f, const ir_factors *factors, int k, int l)
{
    if (share_a_dim(f, k, l)) return;
    if ((contracted(f, k) && terms_without(f, k)) || (contracted(f, l) && terms_without(f, l)))
        return;
    f->k[0] = k, f->k[1] = l;
    f->partial = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        f->ranks[0] = 2 + trial % 2, f->ranks[1] = trial == 0 ? 2 : 5 - f->ranks[0];
        for (int a = 0; a < 2; a++) {
            const int64_t size = f->r->factor[f->k[a]].size;
            random_cut(size, factors->cls[f->r->factor[f->k[a]].cls].grain, f->ranks[a],
                       f->table[a]);
        }
        run_config(f);
    }
}

static void run_case(const op_case *c)
{
    hb_arena *a = hb_arena_new();
    config f = {.c = c};
    int node;
    ir_graph *g = op_case_graph(a, c, false, &node);
    ir_factors *factors = ir_factorize(a, g);
    f.n = &g->nodes.p[node], f.r = factors->rule[node];
    interp *x = interp_new(a, g, 1);
    f.in = HB_ARRAY(a, hap_tensor, f.n->n_in + 1);
    f.want = HB_ARRAY(a, hap_tensor, f.n->n_out);
    hap_tensor *in[IR_MAX_IN], *out[IR_MAX_OUT];
    for (int i = 0; i < f.n->n_in; i++) {
        f.in[i] = x->t[f.n->in[i]];
        op_case_fill(c, i, &f.in[i], &rng);
        in[i] = &f.in[i];
    }
    for (int o = 0; o < f.n->n_out; o++) {
        f.want[o] = x->t[f.n->out[o]];
        out[o] = &f.want[o];
        if (ir_op_of(c->op)->flags & IR_IN_PLACE) {
            memcpy(f.want[o].data, f.in[o].data, (size_t)f.in[o].bytes);
            in[o] = out[o];
        }
    }
    hap_op_call call = interp_call(f.n, in, out);
    const char *why = hap_cpu_run(&now, &call);
    ck_assert_msg(!why, "%s: %s", op_case_text(c), why);

    for (int k = 0; k < f.r->n_factors; k++) {
        if (!may_cut(&f, k)) continue;
        cut_one(&f, factors, k);
        if (test_few()) continue;
        cut_both(&f, factors, k);
        for (int l = 0; l < f.r->n_factors; l++)
            if (l != k && may_cut(&f, l)) cut_two(&f, factors, k, l);
    }
    bool sums = f.n->n_in > 0;
    for (int o = 0; o < f.n->n_out; o++)
        sums &= f.r->reducer[o] == 's';
    f.k[0] = f.k[1] = -1;
    f.ranks[1] = 1;
    for (f.ranks[0] = 1; f.ranks[0] <= MAX_RANKS && sums; f.ranks[0]++)
        linear_rows += each_partial(&f, terms_without(&f, -1), 0);
    hb_arena_free(a);
}

START_TEST(cuts_of_a_row)
{
    bool found = false;
    if (test_left_out((hap_op_id)_i)) return;
    if (ir_op_of((ir_op)_i)->flags & IR_PORT) return; // between stages: stages_test, train_stages
    cut_factors = linear_rows = 0;
    for (int i = 0; i < n_op_cases; i++)
        if (op_cases[i].op == (ir_op)_i) {
            found = true;
            run_case(&op_cases[i]);
        }
    const ir_op_info *row = ir_op_of((ir_op)_i);
    ck_assert_msg(found, "row %s has no case in op_cases.c", row->name);
    // A formula whose factors all came out whole would pass unseen. (clip_scale has numbers alone.)
    if (_i != IR_OP_clip_scale)
        ck_assert_msg(cut_factors > 0, "row %s: no factor may be cut", row->name);
    if (row->linear) ck_assert_msg(linear_rows > 0, "row %s: P never passed through", row->name);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("op_cuts");
    TCase *t = tcase_create("rows");
    tcase_add_loop_test(t, cuts_of_a_row, 0, IR_N_OPS);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
