// How much one node computes and moves, whole or with factors cut (docs/theory.md 1 and 3).

#include "ir/factors.h"

bool ir_rule_find(const ir_rule_dim *dims, int rank, int k, int *dim, int *pos)
{
    for (int d = 0; d < rank; d++) {
        for (int i = 0; i < dims[d].n; i++) {
            if (dims[d].f[i] == k) {
                *dim = d;
                *pos = i;
                return true;
            }
        }
    }
    return false;
}

typedef struct {
    const ir_rule *r;
    const ir_part *part;
    int n_parts;
} cut;

static double size_of(const cut *c, int factor)
{
    if (factor < 0) return 1;
    for (int i = 0; i < c->n_parts; i++)
        if (c->part[i].k == factor) return (double)c->part[i].n;
    return (double)c->r->factor[factor].size;
}

static double elements(const cut *c, const ir_rule_dim *dims, int rank)
{
    double n = 1;
    for (int d = 0; d < rank; d++)
        for (int i = 0; i < dims[d].n; i++)
            n *= size_of(c, dims[d].f[i]);
    return n;
}

// Product of a dense op's letters: its output's and those that only the first operand has
// (summed).
static double dense_work(const cut *c, const ir_tensor *x, const ir_tensor *y)
{
    double n = elements(c, c->r->out[0], y->rank);
    for (int d = 0; d < x->rank; d++) {
        for (int i = 0; i < c->r->in[0][d].n; i++) {
            int k = c->r->in[0][d].f[i], dim, pos;
            if (k >= 0 && !ir_rule_find(c->r->out[0], y->rank, k, &dim, &pos)) n *= size_of(c, k);
        }
    }
    return n;
}

// b g r q k (e + d) of a sdpa or sdpa_bwd; causal: the share of the mask that the rows of a part of
// q cover, in the limit of many rows: the area under min(q, k).
static double sdpa_work(const cut *c, const ir_node *n)
{
    int q = n->op == IR_OP_sdpa ? 0 : 1;
    const ir_rule_dim *dq = c->r->in[q], *dk = c->r->in[q + 1], *dv = c->r->in[q + 2];
    double rows = elements(c, dq, 3), keys = elements(c, &dk[2], 1);
    double width = elements(c, &dq[3], 1) + elements(c, &dv[3], 1);
    if (!n->attr[ir_attr_index(n->op, "causal")].i) return rows * keys * width;
    double share = 0.5;
    for (int i = 0; i < c->n_parts; i++) {
        const ir_part *p = &c->part[i];
        if (p->lo < 0 || p->n <= 0 || dq[2].n != 1 || dq[2].f[0] != p->k) continue;
        double from = (double)p->lo, to = from + (double)p->n, below = to < keys ? to : keys;
        double area = from < keys ? (below * below - from * from) / 2 : 0;
        area += to > keys ? (to - (from > keys ? from : keys)) * keys : 0;
        share = area / ((double)p->n * keys);
    }
    return rows * keys * width * share;
}

// b g o i j c p q of a convolution or a gradient of one.
static double conv_work(const cut *c, ir_op op)
{
    const ir_rule_dim *y = op == IR_OP_conv              ? c->r->out[0]
                           : op == IR_OP_conv_transposed ? c->r->in[0]
                                                         : c->r->in[1];
    const ir_rule_dim *w = op == IR_OP_conv_dw ? c->r->out[0] : c->r->in[1];
    return elements(c, y, 4) * elements(c, &w[1], 3);
}

// Rows by the matrices of their experts, or a gradient of these: what has rows, and the matrices.
typedef struct {
    bool dw;
    int x, index, y; // tensors; x and y have a dim more than there are leading ones
    const ir_rule_dim *of[3], *w;
} by_experts;

static by_experts by_experts_of(const cut *c, const ir_node *n)
{
    bool dw = ir_op_of(n->op)->role == IR_ROLE_experts_dw;
    return (by_experts){dw,
                        n->in[0],
                        n->in[1],
                        dw ? n->in[2] : n->out[0],
                        {c->r->in[0], c->r->in[1], dw ? c->r->in[2] : c->r->out[0]},
                        dw ? c->r->out[0] : c->r->in[2]};
}

// Rows whose experts are held: of all rows a share as large as that of the experts. x, index and y
// may be broadcast along each other, so rows have the factors of all three, each once; where they
// lie by expert they are as many as choices.
static double rows_of_experts(const ir_graph *g, const cut *c, const by_experts *v)
{
    const int rank[3] = {g->tensors.p[v->x].rank - 1, g->tensors.p[v->index].rank,
                         g->tensors.p[v->y].rank - 1};
    double rows = 1, held = elements(c, v->w, 1), all = 1;
    bool by_expert = false;
    int dim, pos;
    for (int i = 0; i < v->w[0].n; i++) {
        if (v->w[0].f[i] < 0) continue;
        all *= (double)c->r->factor[v->w[0].f[i]].size;
        by_expert = by_expert || ir_rule_find(v->of[2], rank[2], v->w[0].f[i], &dim, &pos);
    }
    const int begin = by_expert ? 1 : 0, end = by_expert ? 2 : 3; // the choices alone, or all
    for (int t = begin; t < end; t++)
        for (int d = 0; d < rank[t]; d++)
            for (int i = 0; i < v->of[t][d].n; i++) {
                int factor = v->of[t][d].f[i];
                bool known = false;
                for (int k = begin; k < t; k++)
                    known = known || ir_rule_find(v->of[k], rank[k], factor, &dim, &pos);
                if (!known) rows *= size_of(c, factor);
            }
    return rows * held / all;
}

static double experts_work(const ir_graph *g, const cut *c, const ir_node *n)
{
    const by_experts v = by_experts_of(c, n);
    return rows_of_experts(g, c, &v) * elements(c, &v.w[1], 2);
}

double ir_gathered_bytes(const ir_graph *g, const ir_factors *f, int node, const ir_part *part,
                         int n_parts)
{
    const ir_node *n = &g->nodes.p[node];
    if (ir_op_of(n->op)->flops_kind != IR_FLOPS_EXPERTS) return 0;
    const cut c = {f->rule[node], part, n_parts};
    const by_experts v = by_experts_of(&c, n);
    const ir_tensor *x = &g->tensors.p[v.x], *y = &g->tensors.p[v.y];
    double row = elements(&c, &v.of[0][x->rank - 1], 1) * (double)ir_dtype_bytes(x->dtype);
    if (v.dw) row += elements(&c, &v.of[2][y->rank - 1], 1) * (double)ir_dtype_bytes(y->dtype);
    return rows_of_experts(g, &c, &v) * row;
}

int64_t ir_channels_of_group(const ir_graph *g, int node)
{
    const ir_node *n = &g->nodes.p[node];
    if (ir_op_of(n->op)->flops_kind != IR_FLOPS_CONV) return INT64_MAX;
    const ir_tensor *w = &g->tensors.p[n->op == IR_OP_conv_dw ? n->out[0] : n->in[1]];
    int64_t groups = n->attr[ir_attr_index(n->op, "groups")].i, out = w->dim[0] / groups;
    if (groups == 1) return INT64_MAX;
    return out < w->dim[1] ? out : w->dim[1];
}

void ir_node_work(const ir_graph *g, const ir_factors *f, int node, const ir_part *part,
                  int n_parts, double *flops, double *bytes)
{
    const ir_node *nd = &g->nodes.p[node];
    const ir_op_info *info = ir_op_of(nd->op);
    cut c = {f->rule[node], part, n_parts};
    double largest = 0, moved = 0;
    for (int i = 0; i < nd->n_out; i++) {
        const ir_tensor *t = &g->tensors.p[nd->out[i]];
        double e = elements(&c, c.r->out[i], t->rank);
        largest = e > largest ? e : largest;
        moved += e * (double)ir_dtype_bytes(t->dtype);
    }
    for (int i = 0; i < nd->n_in; i++) {
        const ir_tensor *t = &g->tensors.p[nd->in[i]];
        double e = elements(&c, c.r->in[i], t->rank);
        bool gather = i == 0 && info->flags & IR_GATHER; // reads as many entries as it writes
        if (gather) e = elements(&c, c.r->out[0], g->tensors.p[nd->out[0]].rank);
        largest = e > largest ? e : largest;
        moved += e * (double)ir_dtype_bytes(t->dtype);
    }
    *bytes = info->flags & IR_ZERO_COPY ? 0 : moved;
    switch (info->flops_kind) {
    case IR_FLOPS_NONE:
    case IR_FLOPS_MOVE:
        *flops = 0;
        break;
    case IR_FLOPS_POINT:
        *flops = info->flops * largest;
        break;
    case IR_FLOPS_DENSE:
        *flops = info->flops * dense_work(&c, &g->tensors.p[nd->in[0]], &g->tensors.p[nd->out[0]]);
        break;
    case IR_FLOPS_SDPA:
        *flops = info->flops * sdpa_work(&c, nd);
        break;
    case IR_FLOPS_CONV:
        *flops = info->flops * conv_work(&c, nd->op);
        break;
    case IR_FLOPS_EXPERTS:
        *flops = info->flops * experts_work(g, &c, nd);
        break;
    }
}

// --- forms ---

static bool add_factor(const ir_rule *r, const int factor[2], int k, ir_term *t)
{
    if (k < 0) return true;
    int i = k == factor[0] ? 0 : k == factor[1] ? 1 : -1;
    if (i < 0) {
        t->rest *= (double)r->factor[k].size;
        return true;
    }
    bool again = t->of[i];
    t->of[i] = true;
    return !again;
}

static bool add_dims(const ir_rule *r, const int factor[2], const ir_rule_dim *dims, int rank,
                     ir_term *t)
{
    bool all = true;
    for (int d = 0; d < rank; d++)
        for (int i = 0; i < dims[d].n; i++)
            all = all && add_factor(r, factor, dims[d].f[i], t);
    return all;
}

// As dense_work.
static bool dense_form(const ir_rule *r, const int factor[2], const ir_tensor *x,
                       const ir_tensor *y, ir_term *t)
{
    bool all = add_dims(r, factor, r->out[0], y->rank, t);
    for (int d = 0; d < x->rank; d++)
        for (int i = 0; i < r->in[0][d].n; i++) {
            int k = r->in[0][d].f[i], dim, pos;
            if (!ir_rule_find(r->out[0], y->rank, k, &dim, &pos))
                all = all && add_factor(r, factor, k, t);
        }
    return all;
}

// Are products of whole factors integers without rounding, in whatever order?
static bool exact(const ir_rule *r, const int factor[2], const ir_term *t)
{
    double all = t->rest;
    for (int i = 0; i < 2; i++)
        if (t->of[i]) all *= (double)r->factor[factor[i]].size;
    return all < 9007199254740992.0;
}

bool ir_work_form_of(const ir_graph *g, const ir_factors *f, int node, const int factor[2],
                     ir_work_form *out)
{
    const ir_node *nd = &g->nodes.p[node];
    const ir_op_info *info = ir_op_of(nd->op);
    const ir_rule *r = f->rule[node];
    *out = (ir_work_form){.kind = info->flops_kind,
                          .flops = info->flops,
                          .zero_copy = (info->flags & IR_ZERO_COPY) != 0,
                          .dense = {.rest = 1}};
    if (info->flops_kind > IR_FLOPS_DENSE) return false;
    bool all = true;
    for (int i = 0; i < nd->n_out + nd->n_in; i++) {
        bool is_out = i < nd->n_out, gather = i == nd->n_out && info->flags & IR_GATHER;
        int at = is_out ? i : i - nd->n_out, from = gather ? nd->out[0] : -1;
        const ir_tensor *t = &g->tensors.p[is_out ? nd->out[at] : nd->in[at]];
        ir_term *x = &out->term[out->n++];
        *x = (ir_term){.rest = 1, .bytes = (double)ir_dtype_bytes(t->dtype)};
        all = all && add_dims(r, factor, is_out || gather ? r->out[at] : r->in[at],
                              gather ? g->tensors.p[from].rank : t->rank, x);
        all = all && exact(r, factor, x);
    }
    if (info->flops_kind == IR_FLOPS_DENSE)
        all = all &&
              dense_form(r, factor, &g->tensors.p[nd->in[0]], &g->tensors.p[nd->out[0]],
                         &out->dense) &&
              exact(r, factor, &out->dense);
    return all;
}

static double term_of(const ir_term *t, const double n[2])
{
    return t->rest * (t->of[0] ? n[0] : 1) * (t->of[1] ? n[1] : 1);
}

void ir_form_work(const ir_work_form *w, const int64_t n[2], double *flops, double *bytes)
{
    const double entries[2] = {(double)n[0], (double)n[1]};
    double largest = 0, moved = 0;
    for (int i = 0; i < w->n; i++) {
        double e = term_of(&w->term[i], entries);
        largest = e > largest ? e : largest;
        moved += e * w->term[i].bytes;
    }
    *bytes = w->zero_copy ? 0 : moved;
    *flops = w->kind == IR_FLOPS_POINT   ? w->flops * largest
             : w->kind == IR_FLOPS_DENSE ? w->flops * term_of(&w->dense, entries)
                                         : 0;
}
