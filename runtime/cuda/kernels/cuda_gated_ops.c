#include "cuda/kernels/cuda_gated.h"

static bool same(const hap_tensor *a, const hap_tensor *b)
{
    return a->data == b->data && a->bytes == b->bytes && a->type == b->type;
}

// The last of the ops before `at` that makes t, -1: it comes from elsewhere.
static int maker(const hap_op_call *const *op, int at, const hap_tensor *t)
{
    do
        at--;
    while (at >= 0 && !same(op[at]->out[0], t));
    return at;
}

// Of op `at`, which has two operands: the one that op `from` makes, -1 if none or both are.
static int operand_made(const hap_op_call *const *op, int at, int from)
{
    const int a = maker(op, at, op[at]->in[0]) == from, b = maker(op, at, op[at]->in[1]) == from;
    return a == b ? -1 : a ? 0 : 1;
}

static bool forward(const hap_op_call *const *op, cuda_gated *g)
{
    if (op[0]->op != HAP_OP_silu || op[1]->op != HAP_OP_mul) return false;
    const int made = operand_made(op, 1, 0);
    if (made < 0) return false;
    *g = (cuda_gated){.gate = op[0]->in[0], .up = op[1]->in[1 - made], .y = op[1]->out[0]};
    g->passing = 1;
    return true;
}

// The ops of a gradient, by what they make.
typedef struct places {
    int by_up, dgate, silu, dup;
} places;

static bool find_places(const hap_op_call *const *op, places *p)
{
    int muls = 0, mul[2] = {0};
    *p = (places){-1, -1, -1, -1};
    for (int k = 0; k < CUDA_GATED_OPS; k++) {
        if (op[k]->op == HAP_OP_silu_bwd) p->dgate = k;
        if (op[k]->op == HAP_OP_silu) p->silu = k;
        if (op[k]->op == HAP_OP_mul && muls < 2) mul[muls++] = k;
    }
    if (p->dgate < 0 || p->silu < 0 || muls < 2) return false;
    p->by_up = maker(op, p->dgate, op[p->dgate]->in[0]);
    p->dup = p->by_up == mul[0] ? mul[1] : mul[0];
    return p->by_up == mul[0] || p->by_up == mul[1];
}

static bool backward(const hap_op_call *const *op, cuda_gated *g)
{
    places p;
    if (!find_places(op, &p)) return false;
    const int made = operand_made(op, p.dup, p.silu);
    if (made < 0) return false;
    const hap_tensor *dy = op[p.dup]->in[1 - made], *gate = op[p.silu]->in[0];
    const hap_op_call *by_up = op[p.by_up];
    const int which = same(by_up->in[0], dy) ? 0 : 1;
    if (!same(by_up->in[which], dy) || !same(op[p.dgate]->in[1], gate)) return false;
    // Operands come from elsewhere, and none is overwritten before it is read.
    if (maker(op, p.dup, dy) >= 0 || maker(op, p.by_up, dy) >= 0 || maker(op, p.silu, gate) >= 0 ||
        maker(op, p.dgate, gate) >= 0 || maker(op, p.by_up, by_up->in[1 - which]) >= 0)
        return false;
    *g = (cuda_gated){.gate = gate,
                      .up = by_up->in[1 - which],
                      .dy = dy,
                      .dgate = op[p.dgate]->out[0],
                      .dup = op[p.dup]->out[0]};
    g->passing = 1u << p.by_up | 1u << p.silu;
    return true;
}

bool cuda_gated_of(const hap_op_call *const *op, int n, cuda_gated *g)
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i <= op[k]->n_in; i++) {
            const hap_tensor *t = i < op[k]->n_in ? op[k]->in[i] : op[k]->out[0];
            if (op[k]->n_out != 1 || !t || t->type != HAP_BF16 ||
                t->elements != op[0]->out[0]->elements)
                return false;
        }
    return n == 2 ? forward(op, g) : n == CUDA_GATED_OPS && backward(op, g);
}
