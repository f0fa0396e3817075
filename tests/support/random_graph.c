#include "random_graph.h"

#include <string.h>

int random_below(random_source *r, int n) // splitmix64
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (int)((z ^ (z >> 31)) % (uint64_t)n);
}

// A graph under construction. pool = float tensors that further rows may read.
typedef struct {
    ir_graph *g;
    random_source r;
    int pool[64], n_pool;
    int n_named;
    int64_t batch;
} maker;

static ir_tensor *tensor(maker *m, int t)
{
    return &m->g->tensors.p[t];
}

static hb_str fresh(maker *m, const char *what)
{
    return hb_fmt(m->g->arena, "%s%d", what, m->n_named++);
}

static int node(maker *m, ir_op op, int n_in, const int *in, const ir_attr *attrs)
{
    int id = ir_add_node(m->g, fresh(m, ir_op_of(op)->name), op, IR_FORWARD, n_in, in, attrs);
    return m->g->nodes.p[id].out[0];
}

static int declare(maker *m, const char *what, ir_kind kind, ir_dtype type, int rank,
                   const int64_t *dim)
{
    int t = ir_add_tensor(m->g, fresh(m, what), kind, type, rank, dim);
    tensor(m, t)->init = (ir_init){.kind = IR_INIT_NORMAL, .a = 0.5};
    if (kind == IR_INPUT) tensor(m, t)->batch = 0;
    return t;
}

static int param(maker *m, int rank, const int64_t *dim)
{
    return declare(m, "w", IR_PARAM, IR_F32, rank, dim);
}

static void keep(maker *m, int t)
{
    if (m->n_pool < 64) m->pool[m->n_pool++] = t;
}

// Recent tensors are likelier, so that graphs are deep and still have branches.
static int pick(maker *m)
{
    int back = random_below(&m->r, 3) ? random_below(&m->r, m->n_pool < 3 ? m->n_pool : 3)
                                      : random_below(&m->r, m->n_pool);
    return m->pool[m->n_pool - 1 - back];
}

static int pick_rank(maker *m, int lowest, int highest)
{
    for (int i = 0; i < 8; i++) {
        int t = pick(m);
        if (tensor(m, t)->rank >= lowest && tensor(m, t)->rank <= highest) return t;
    }
    return -1;
}

static int64_t size(maker *m)
{
    static const int64_t sizes[] = {2, 3, 4, 6};
    return sizes[random_below(&m->r, 4)];
}

static ir_attr attr_int(int64_t i)
{
    return (ir_attr){.kind = IR_ATTR_INT, .i = i};
}

static bool make_linear(maker *m)
{
    int x = pick_rank(m, 1, 4), trans = random_below(&m->r, 2);
    if (x < 0) return false;
    int64_t k = tensor(m, x)->dim[tensor(m, x)->rank - 1], n = size(m);
    int w = param(m, 2, trans ? (int64_t[]){n, k} : (int64_t[]){k, n});
    bool bias = random_below(&m->r, 2);
    int in[3] = {x, w, bias ? param(m, 1, &n) : -1};
    ir_attr a = attr_int(trans);
    keep(m, node(m, IR_OP_linear, bias ? 3 : 2, in, &a));
    return true;
}

static bool make_matmul(maker *m) // x x', x' x or x w
{
    int x = pick_rank(m, 2, 4), trans = random_below(&m->r, 3);
    if (x < 0) return false;
    int64_t k = tensor(m, x)->dim[tensor(m, x)->rank - 1];
    int y = trans ? x : param(m, 2, (int64_t[]){k, size(m)});
    ir_attr a = attr_int(trans);
    keep(m, node(m, IR_OP_matmul, 2, (int[]){x, y}, &a));
    return true;
}

static bool make_pair(maker *m)
{
    static const ir_op ops[] = {IR_OP_add, IR_OP_sub, IR_OP_mul};
    int x = pick(m), y = -1;
    const ir_tensor *a = tensor(m, x);
    for (int i = 0; i < m->n_pool && y < 0; i++) {
        const ir_tensor *b = tensor(m, m->pool[i]);
        if (m->pool[i] != x && b->rank == a->rank &&
            memcmp(a->dim, b->dim, sizeof(int64_t) * (size_t)a->rank) == 0 &&
            random_below(&m->r, 2))
            y = m->pool[i];
    }
    if (y < 0) { // a broadcast parameter
        int64_t dim[IR_MAX_RANK];
        int lead = a->rank ? random_below(&m->r, a->rank) : 0, rank = a->rank - lead;
        for (int d = 0; d < rank; d++)
            dim[d] = random_below(&m->r, 4) ? a->dim[lead + d] : 1;
        y = param(m, rank, dim);
    }
    keep(m, node(m, ops[random_below(&m->r, 3)], 2, (int[]){x, y}, NULL));
    return true;
}

static bool make_unary(maker *m, bool linear)
{
    static const ir_op curved[] = {IR_OP_gelu, IR_OP_relu, IR_OP_tanh, IR_OP_silu, IR_OP_sigmoid};
    int x = pick(m);
    if (linear || random_below(&m->r, 3) == 0) {
        ir_attr c = {.kind = IR_ATTR_REAL, .f = 2};
        keep(m, random_below(&m->r, 2) ? node(m, IR_OP_neg, 1, &x, NULL)
                                       : node(m, IR_OP_scale, 1, &x, &c));
    } else {
        keep(m, node(m, curved[random_below(&m->r, 5)], 1, &x, NULL));
    }
    return true;
}

static bool make_transpose(maker *m)
{
    int x = pick_rank(m, 2, 4);
    if (x < 0) return false;
    ir_attr perm = {.kind = IR_ATTR_INTS, .n = tensor(m, x)->rank};
    for (int i = 0; i < perm.n; i++)
        perm.v[i] = i;
    for (int i = perm.n - 1; i > 0; i--) {
        int j = random_below(&m->r, i + 1);
        int64_t t = perm.v[i];
        perm.v[i] = perm.v[j];
        perm.v[j] = t;
    }
    keep(m, node(m, IR_OP_transpose, 1, &x, &perm));
    return true;
}

static bool make_reshape(maker *m) // flatten, then take divisors off the front
{
    int x = pick_rank(m, 1, 4);
    if (x < 0) return false;
    int64_t rest = ir_elements(tensor(m, x));
    ir_attr shape = {.kind = IR_ATTR_INTS};
    int n = 1 + random_below(&m->r, 4);
    while (shape.n + 1 < n) {
        int64_t d = size(m);
        if (rest % d != 0 || rest == d) break;
        shape.v[shape.n++] = d;
        rest /= d;
    }
    shape.v[shape.n++] = rest;
    keep(m, node(m, IR_OP_reshape, 1, &x, &shape));
    return true;
}

static bool make_split(maker *m) // and concat of the parts, sometimes in another order
{
    int x = pick_rank(m, 1, 4);
    if (x < 0) return false;
    int dim = random_below(&m->r, tensor(m, x)->rank);
    int64_t n = tensor(m, x)->dim[dim];
    if (n < 2) return false;
    ir_attr a[2] = {attr_int(dim), {.kind = IR_ATTR_INTS, .n = 2}};
    a[1].v[0] = n % 2 == 0 && random_below(&m->r, 2) ? n / 2 : 1;
    a[1].v[1] = n - a[1].v[0];
    int first = node(m, IR_OP_split, 1, &x, a);
    if (random_below(&m->r, 2)) keep(m, first + 1);
    keep(m, first);
    if (random_below(&m->r, 2)) {
        bool swap = random_below(&m->r, 2);
        int in[2] = {swap ? first + 1 : first, swap ? first : first + 1};
        keep(m, node(m, IR_OP_concat, 2, in, a));
    }
    return true;
}

static bool make_slice(maker *m)
{
    int x = pick_rank(m, 1, 4);
    if (x < 0) return false;
    int dim = random_below(&m->r, tensor(m, x)->rank);
    int64_t n = tensor(m, x)->dim[dim];
    if (random_below(&m->r, 3) == 0) {
        ir_attr a[4] = {attr_int(dim),
                        attr_int(random_below(&m->r, 3)),
                        attr_int(random_below(&m->r, 3)),
                        {.kind = IR_ATTR_REAL}};
        keep(m, node(m, IR_OP_pad, 1, &x, a));
        return true;
    }
    int64_t start = random_below(&m->r, (int)n);
    int64_t stop = start + 1 + random_below(&m->r, (int)(n - start));
    ir_attr a[3] = {attr_int(dim), attr_int(start), attr_int(stop)};
    keep(m, node(m, IR_OP_slice, 1, &x, a));
    return true;
}

static bool make_sum(maker *m)
{
    int x = pick_rank(m, 2, 4);
    if (x < 0) return false;
    ir_attr a[2] = {{.kind = IR_ATTR_INTS, .n = 1},
                    {.kind = IR_ATTR_BOOL, .i = random_below(&m->r, 2)}};
    a[0].v[0] = random_below(&m->r, tensor(m, x)->rank);
    keep(m, node(m, IR_OP_sum, 1, &x, a));
    return true;
}

static bool make_expand(maker *m)
{
    int x = pick_rank(m, 1, 3);
    if (x < 0) return false;
    ir_attr shape = {.kind = IR_ATTR_INTS, .n = tensor(m, x)->rank + 1};
    shape.v[0] = size(m);
    for (int d = 0; d + 1 < shape.n; d++)
        shape.v[d + 1] = tensor(m, x)->dim[d];
    keep(m, node(m, IR_OP_expand, 1, &x, &shape));
    return true;
}

static bool make_embedding(maker *m)
{
    int ids = declare(m, "ids", IR_INPUT, IR_I64, 2, (int64_t[]){m->batch, size(m)});
    int table = param(m, 2, (int64_t[]){4 + random_below(&m->r, 4), size(m)});
    keep(m, node(m, IR_OP_embedding, 2, (int[]){table, ids}, NULL));
    return true;
}

static bool make_softmax(maker *m)
{
    int x = pick_rank(m, 1, 4);
    if (x < 0) return false;
    int max = node(m, IR_OP_row_max, 1, &x, NULL);
    int sum = node(m, IR_OP_row_expsum, 2, (int[]){x, max}, NULL);
    ir_op op = random_below(&m->r, 2) ? IR_OP_softmax_apply : IR_OP_log_softmax_apply;
    keep(m, node(m, op, 3, (int[]){x, max, sum}, NULL));
    return true;
}

static bool make_norm(maker *m)
{
    int x = pick_rank(m, 1, 4);
    if (x < 0) return false;
    int64_t c = tensor(m, x)->dim[tensor(m, x)->rank - 1];
    int sum = node(m, IR_OP_row_sum, 1, &x, NULL);
    int m2 = node(m, IR_OP_row_m2, 2, (int[]){x, sum}, NULL);
    int n = 3 + random_below(&m->r, 3), in[5] = {x, sum, m2};
    for (int i = 3; i < n; i++)
        in[i] = param(m, 1, &c);
    keep(m, node(m, IR_OP_norm_apply, n, in, NULL));
    return true;
}

static bool make_sdpa(maker *m) // grouped heads: k and v are parameters with one head
{
    int x = pick_rank(m, 4, 4);
    if (x < 0) return false;
    const ir_tensor q = *tensor(m, x);
    int64_t heads = random_below(&m->r, 2) ? q.dim[1] : 1, keys = size(m), width = size(m);
    int k = param(m, 4, (int64_t[]){q.dim[0], heads, keys, q.dim[3]});
    int v = param(m, 4, (int64_t[]){q.dim[0], heads, keys, width});
    ir_attr a[IR_MAX_ATTR];
    for (int i = 0; i < ir_op_of(IR_OP_sdpa)->n_attr; i++)
        a[i] = ir_op_of(IR_OP_sdpa)->attr[i].value;
    a[0].i = random_below(&m->r, 2);
    keep(m, node(m, IR_OP_sdpa, 3, (int[]){x, k, v}, a));
    return true;
}

static bool make_row(maker *m, bool linear)
{
    int kind = random_below(&m->r, linear ? 13 : 18);
    if (m->g->tensors.n > 400) return false;
    switch (kind) {
    case 0:
    case 1:
    case 2:
        return make_linear(m);
    case 3:
        return make_matmul(m);
    case 4:
    case 5:
        return make_pair(m);
    case 6:
        return make_unary(m, linear);
    case 7:
        return make_transpose(m);
    case 8:
        return make_reshape(m);
    case 9:
        return make_split(m);
    case 10:
        return make_slice(m);
    case 11:
        return make_sum(m);
    case 12:
        return random_below(&m->r, 2) ? make_expand(m) : make_embedding(m);
    case 13:
        return make_unary(m, false);
    case 14:
        return make_softmax(m);
    case 15:
    case 16:
        return make_norm(m);
    default:
        return make_sdpa(m);
    }
}

// sum(x w) of the newest tensor: a scalar that depends on a parameter.
static void make_loss(maker *m)
{
    int x = m->pool[m->n_pool - 1];
    const ir_tensor t = *tensor(m, x);
    int w = param(m, t.rank > 0, t.rank ? &t.dim[t.rank - 1] : NULL);
    x = node(m, IR_OP_mul, 2, (int[]){x, w}, NULL);
    if (t.rank > 0) {
        ir_attr a[2] = {{.kind = IR_ATTR_INTS, .n = t.rank}, {.kind = IR_ATTR_BOOL}};
        for (int d = 0; d < t.rank; d++)
            a[0].v[d] = d;
        x = node(m, IR_OP_sum, 1, &x, a);
    }
    m->g->loss = x;
}

static void finish(maker *m)
{
    static const char *const names[] = {"sgd", "momentum", "adam", "adamw"};
    ir_graph *g = m->g;
    hb_diag *d = hb_diag_new(g->arena);
    make_loss(m);
    g->opt = (ir_optimizer){.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .momentum = 0.9};
    g->opt.name = hb_str_c(g->arena, names[random_below(&m->r, 4)]);
    g->opt.weight_decay = random_below(&m->r, 2) ? 0.01 : 0;
    g->opt.clip_norm = random_below(&m->r, 2) ? 1 : 0;
    hb_assert(ir_casts(g, d) && ir_autodiff(g, d) && ir_optimize(g, d));
}

ir_graph *random_graph(hb_arena *a, uint64_t seed, random_graph_options o)
{
    maker m = {.g = ir_graph_new(a), .r = {seed}};
    int64_t dim[4];
    int rank = 2 + random_below(&m.r, 3);
    for (int d = 0; d < rank; d++)
        dim[d] = size(&m);
    m.batch = dim[0];
    m.g->batch = m.batch;
    keep(&m, declare(&m, "x", IR_INPUT, IR_F32, rank, dim));
    for (int tries = 0; m.g->nodes.n < o.n_ops && tries < 20 * o.n_ops; tries++)
        make_row(&m, o.linear);
    m.g->precision = o.precision;
    m.g->grad_dtype = o.grad_dtype;
    if (o.train) finish(&m);
    return m.g;
}
