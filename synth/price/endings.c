#include "synth/price/endings.h"

#include <math.h>

#include "ir/fold.h"
#include "ir/runtime_limits.h"
#include "synth/plan/fusion_parts.h"

// What a fusion wants of the matmul that ends with it.
typedef struct wanted {
    int makes[2]; // one of these tensors; -1: none
    int trans;    // kernels are built for no other layout of the weight
    bool alone;   // it has no bias, and nobody else reads what it makes
} wanted;

static const ir_node *node_of(const syn_program *p, const syn_instr *in)
{
    return &p->g->nodes.p[in->node];
}

// --- a gated MLP's product with silu, and its gradients ---

// The operand of an op of two that is not t; -1: none or both are t.
static int beside(const syn_instr *in, int t)
{
    const bool a = in->in[0] == t, b = in->in[1] == t;
    return a == b ? -1 : in->in[a];
}

// Members by what they make: silu(gate); dgate; dy up; the product, or dup. Forward slope and up
// are NULL.
typedef struct gated {
    const syn_instr *silu, *slope, *up, *made;
} gated;

static bool find_gated(const syn_program *p, const syn_fusion *g, gated *x)
{
    const syn_instr *mul[2] = {NULL};
    int n = 0;
    *x = (gated){NULL};
    for (int m = 0; m < g->len; m++) {
        const syn_instr *in = &p->instr.p[g->first + m];
        const ir_op op = node_of(p, in)->op;
        if (op == IR_OP_silu && !x->silu)
            x->silu = in;
        else if (op == IR_OP_silu_bwd && !x->slope)
            x->slope = in;
        else if (op == IR_OP_mul && n < 2)
            mul[n++] = in;
        else
            return false;
    }
    if (!x->silu || n != (x->slope ? 2 : 1)) return false;
    const int first = x->slope && x->slope->in[0] != mul[0]->out[0];
    x->up = x->slope ? mul[first] : NULL;
    x->made = x->slope ? mul[!first] : mul[0];
    return !x->slope || x->slope->in[0] == x->up->out[0];
}

static bool is_made(const syn_program *p, const syn_fusion *g, int t)
{
    for (int m = 0; m < g->len; m++)
        if (p->instr.p[g->first + m].out[0] == t) return true;
    return false;
}

// What passes between the ops is not kept.
static bool passes(const syn_program *p, const syn_fusion *g, const syn_instr *in)
{
    return !g->kept[in - &p->instr.p[g->first]];
}

static bool is_gated(const syn_program *p, const syn_fusion *g, wanted *w)
{
    gated x;
    if (!find_gated(p, g, &x) || !passes(p, g, x.silu)) return false;
    const int gate = x.silu->in[0], other = beside(x.made, x.silu->out[0]);
    if (other < 0) return false;
    *w = (wanted){.makes = {gate, other}, .trans = 1};
    if (!x.slope) return true;
    // dup = dy silu(gate); dgate = (dy up) silu'(gate), of which dy up passes.
    const int up = beside(x.up, other);
    *w = (wanted){.makes = {other, -1}, .alone = true};
    return up >= 0 && x.slope->in[1] == gate && passes(p, g, x.up) && !is_made(p, g, other) &&
           !is_made(p, g, gate) && !is_made(p, g, up);
}

// --- the matmul ---

static bool reads(const syn_instr *in, int t)
{
    for (int i = 0; i < in->n_in; i++)
        if (in->in[i] == t) return true;
    return false;
}

static bool writes(const syn_instr *in, int t)
{
    for (int i = 0; i < in->n_out; i++)
        if (in->out[i] == t) return true;
    return false;
}

static int last_writer(const syn_program *p, int before, int t)
{
    while (t >= 0 && --before >= 0)
        if (writes(&p->instr.p[before], t)) return before;
    return -1;
}

// Instruction i may come down to the fusion and end with it.
static bool may_lead(const syn_program *p, const syn_endings *e, const syn_fusion *g,
                     const wanted *w, int i)
{
    const syn_instr *in = i < 0 ? NULL : &p->instr.p[i];
    if (!in || in->kind != SYN_OP || e->paired[i]) return false;
    const ir_node *n = node_of(p, in);
    if (n->op != IR_OP_linear || n->attr[0].i != w->trans) return false;
    for (int k = i + 1; k < g->first; k++) {
        const syn_instr *x = &p->instr.p[k];
        if (reads(x, in->out[0]) || writes(x, in->out[0])) return false;
        for (int o = 0; o < in->n_in; o++)
            if (in->in[o] >= 0 && writes(x, in->in[o])) return false;
    }
    return !w->alone || (in->n_in == 2 && e->reads[in->out[0]] == 2);
}

// The later of the two that make an operand, or else the other.
static const syn_instr *leader(const syn_program *p, const syn_endings *e, const syn_fusion *g,
                               const wanted *w)
{
    const int a = last_writer(p, g->first, w->makes[0]), b = last_writer(p, g->first, w->makes[1]);
    const int later = a > b ? a : b, sooner = a > b ? b : a;
    if (may_lead(p, e, g, w, later)) return &p->instr.p[later];
    return may_lead(p, e, g, w, sooner) ? &p->instr.p[sooner] : NULL;
}

// The tile kernel takes the part of a device of class c.
static bool takes(const syn_program *p, const syn_instr *linear, int c)
{
    const cl_class *cls = &p->cluster->cls[p->mesh->cluster_class[c]];
    const syn_tensor *x = &p->tensors.p[linear->in[0]], *w = &p->tensors.p[linear->in[1]],
                     *y = &p->tensors.p[linear->out[0]];
    if (cls->kind != CL_GPU || cls->arch != COST_TILE_ARCH || x->bytes[c] <= 0 || y->bytes[c] <= 0)
        return false;
    const int64_t size = ir_dtype_bytes(IR_BF16);
    const double mk = (double)(x->bytes[c] / size), nk = (double)(w->bytes[c] / size),
                 mn = (double)(y->bytes[c] / size);
    const int64_t n = llround(sqrt(mn / mk * nk)), k = llround(sqrt(mk / mn * nk));
    return mk * (double)n >= IR_CUDA_TILE_MIN && n * size % IR_CUDA_VECTOR == 0 &&
           k * size % IR_CUDA_VECTOR == 0;
}

// --- what is left ---

static double left_results(const syn_program *p, const syn_parts *s, int c)
{
    double bytes = 0;
    for (int i = 0; i < s->n; i++)
        if (s->part[i].kept) bytes += (double)p->tensors.p[s->part[i].buffer].bytes[c];
    return bytes;
}

typedef struct ending {
    bool (*is)(const syn_program *p, const syn_fusion *g, wanted *w);
    double (*left)(const syn_program *p, const syn_parts *s, int c);
} ending;

static const ending endings[] = {
#define HAP_ENDING(what, left) {is_##what, left_##left},
#include "runtime/hap/joins.def"
};
enum { N_ENDINGS = sizeof endings / sizeof *endings };

// Which ending a fusion is, as the plan has it, of which matmul; its tensors in *s. NULL: none.
static const ending *ending_of(const syn_program *p, const syn_endings *e, const syn_fusion *g,
                               syn_parts *s, const syn_instr **linear)
{
    wanted w;
    int k = 0;
    while (k < N_ENDINGS && !endings[k].is(p, g, &w))
        k++;
    if (k == N_ENDINGS) return NULL;
    syn_fusion_parts(p, g, s);
    for (int i = 0; i < s->n; i++)
        if (s->part[i].shape != SYN_FULL || p->tensors.p[s->part[i].buffer].dtype != IR_BF16)
            return NULL;
    *linear = leader(p, e, g, &w);
    return *linear ? &endings[k] : NULL;
}

syn_endings syn_endings_of(hb_arena *a, const syn_program *p)
{
    syn_endings e = {HB_ARRAY(a, int, p->tensors.n + 1), HB_ARRAY(a, bool, p->instr.n + 1)};
    for (int i = 0; i < p->instr.n; i++)
        for (int o = 0; o < p->instr.p[i].n_in; o++)
            if (p->instr.p[i].in[o] >= 0) e.reads[p->instr.p[i].in[o]]++;
    for (int k = 0; k < p->pairs.n; k++)
        for (int i = 0; i < p->pairs.p[k].len; i++)
            e.paired[p->pairs.p[k].first + i] = true;
    return e;
}

bool syn_ends_matmul(const syn_program *p, const syn_endings *e, const syn_fusion *g, int c)
{
    syn_parts s;
    const syn_instr *linear;
    return ending_of(p, e, g, &s, &linear) && takes(p, linear, c);
}

bool syn_ending_seconds(const syn_program *p, const syn_endings *e, const syn_fusion *g,
                        double *sec)
{
    syn_parts s;
    const syn_instr *linear = NULL;
    const ending *x = ending_of(p, e, g, &s, &linear);
    const double times = ir_node_times(p->g, p->instr.p[g->first].node);
    bool ends = false;
    for (int c = 0; x && c < p->mesh->n_classes; c++) {
        if (!takes(p, linear, c)) continue;
        ends = true;
        const cl_class *cls = &p->cluster->cls[p->mesh->cluster_class[c]];
        sec[c] = fmin(sec[c], times * cost_stream(cls, x->left(p, &s, c)));
    }
    return ends;
}
