// The graphs of problem.h as hap.graph JSON. Their activations have no kink, so that two runs of a
// step differ by rounding alone.

#include <math.h>

#include "tests/support/problem.h"

// Tensors and nodes grow side by side.
typedef struct maker {
    hb_arena *a;
    hb_buf tensors, nodes;
    HB_VEC(const char *) weights;
} maker;

static const char *name(maker *m, const char *of, int i, const char *part)
{
    return hb_fmt(m->a, "%s.%d.%s", of, i, part).p;
}

// shape: "[…]"; init: its text
static void tensor(maker *m, const char *id, const char *kind, const char *dtype, const char *shape,
                   const char *more)
{
    hb_printf(&m->tensors, "%s\n  \"%s\": {\"kind\": \"%s\", \"dtype\": \"%s\", \"shape\": %s%s}",
              m->tensors.n ? "," : "", id, kind, dtype, shape, more);
}

static const char *vector(maker *m, const char *id, long long n, int value)
{
    tensor(m, id, "param", "f32", hb_fmt(m->a, "[%lld]", n).p,
           value ? ", \"init\": {\"const\": 1}" : ", \"init\": {\"const\": 0}");
    return id;
}

static const char *matrix(maker *m, const char *id, long long rows, long long columns)
{
    tensor(m, id, "param", "f32", hb_fmt(m->a, "[%lld, %lld]", rows, columns).p,
           ", \"init\": {\"normal\": 0.02}");
    HB_PUSH(m->a, &m->weights, id);
    return id;
}

// One op; in: names parted by spaces. Gives its output's name, its own.
static const char *node(maker *m, const char *op, const char *id, const char *in, const char *attrs)
{
    hb_printf(&m->nodes, "%s\n  {\"name\": \"%s\", \"op\": \"%s\", \"in\": [\"",
              m->nodes.n ? "," : "", id, op);
    for (const char *p = in; *p; p++)
        if (*p == ' ')
            hb_puts(&m->nodes, "\", \"");
        else
            hb_putc(&m->nodes, *p);
    hb_printf(&m->nodes, "\"], \"out\": [\"%s\"]%s}", id, attrs);
    return id;
}

static const char *pair(maker *m, const char *x, const char *y)
{
    return hb_fmt(m->a, "%s %s", x, y).p;
}

static const char *linear(maker *m, const char *id, const char *x, long long in, long long out,
                          bool bias)
{
    const char *operands = pair(m, x, matrix(m, hb_fmt(m->a, "%s.weight", id).p, out, in));
    if (bias) operands = pair(m, operands, vector(m, hb_fmt(m->a, "%s.bias", id).p, out, 0));
    return node(m, "linear", id, operands, ", \"attrs\": {\"trans\": 1}");
}

static const char *norm(maker *m, const char *id, const char *x, long long n)
{
    const char *w = vector(m, hb_fmt(m->a, "%s.weight", id).p, n, 1),
               *b = vector(m, hb_fmt(m->a, "%s.bias", id).p, n, 0);
    return node(m, "layer_norm", id, pair(m, x, pair(m, w, b)), ", \"attrs\": {\"eps\": 1e-5}");
}

static const char *attention(maker *m, const problem_model *p, int i, const char *x)
{
    static const char *const part[] = {"q", "k", "v"};
    long long d = p->width, h = p->heads, t = p->tokens;
    const char *qkv = linear(m, name(m, "h", i, "attn.qkv"), x, d, 3 * d, true), *of[3];
    hb_printf(&m->nodes,
              ",\n  {\"name\": \"h.%d.attn.split\", \"op\": \"split\", \"in\": [\"%s\"], \"out\": "
              "[\"h.%d.q\", \"h.%d.k\", \"h.%d.v\"], \"attrs\": {\"dim\": 2, \"sizes\": [%lld, "
              "%lld, %lld]}}",
              i, qkv, i, i, i, d, d, d);
    for (int k = 0; k < 3; k++) {
        const char *r = node(
            m, "reshape", hb_fmt(m->a, "h.%d.attn.r%s", i, part[k]).p, name(m, "h", i, part[k]),
            hb_fmt(m->a, ", \"attrs\": {\"shape\": [\"B\", %lld, %lld, %lld]}", t, h, d / h).p);
        of[k] = node(m, "transpose", hb_fmt(m->a, "h.%d.attn.t%s", i, part[k]).p, r,
                     ", \"attrs\": {\"perm\": [0, 2, 1, 3]}");
    }
    const char *s = name(m, "h", i, "attn.sdpa");
    hb_printf(
        &m->nodes,
        ",\n  {\"name\": \"%s\", \"op\": \"sdpa\", \"in\": [\"%s\", \"%s\", \"%s\"], \"out\": "
        "[\"%s\", \"%s.lse\"], \"attrs\": {\"causal\": true, \"scale\": %.9g}}",
        s, of[0], of[1], of[2], s, s, 1 / sqrt((double)(d / h)));
    s = node(m, "transpose", name(m, "h", i, "attn.to"), s,
             ", \"attrs\": {\"perm\": [0, 2, 1, 3]}");
    s = node(m, "reshape", name(m, "h", i, "attn.ro"), s,
             hb_fmt(m->a, ", \"attrs\": {\"shape\": [\"B\", %lld, %lld]}", t, d).p);
    return linear(m, name(m, "h", i, "attn.proj"), s, d, d, true);
}

static const char *dense(maker *m, const problem_model *p, int i, const char *x)
{
    const char *u = linear(m, name(m, "h", i, "mlp.fc1"), x, p->width, p->hidden[i], true);
    u = node(m, "gelu", name(m, "h", i, "mlp.act"), u, ", \"attrs\": {\"tanh\": true}");
    return linear(m, name(m, "h", i, "mlp.fc2"), u, p->hidden[i], p->width, true);
}

static const char *experts(maker *m, const problem_model *p, int i, const char *x)
{
    long long e = p->experts, d = p->width, f = p->hidden[i];
    long long room = (p->tokens * 5 / 2 + e - 1) / e; // two experts a token, a quarter spare
    const char *gate = linear(m, name(m, "h", i, "ffn.gate"), x, d, e, false);
    gate = node(m, "softmax", name(m, "h", i, "ffn.softmax"), gate, "");
    gate = node(m, "top_gates", name(m, "h", i, "ffn.top"), gate, ", \"attrs\": {\"k\": 2}");
    const char *slots = node(m, "expert_slots", name(m, "h", i, "ffn.slots"), gate,
                             hb_fmt(m->a, ", \"attrs\": {\"capacity\": %lld}", room).p);
    const char *ne = node(m, "ne", name(m, "h", i, "ffn.ne"), pair(m, slots, "zero"), "");
    ne = node(m, "cast", name(m, "h", i, "ffn.cast"), ne, ", \"attrs\": {\"dtype\": \"f32\"}");
    const char *y = node(m, "dispatch", name(m, "h", i, "ffn.dispatch"), pair(m, ne, x), "");
    const char *w1 = name(m, "h", i, "ffn.w1"), *w2 = name(m, "h", i, "ffn.w2");
    tensor(m, w1, "param", "f32", hb_fmt(m->a, "[%lld, %lld, %lld]", e, d, f).p,
           ", \"init\": {\"normal\": 0.02}");
    tensor(m, w2, "param", "f32", hb_fmt(m->a, "[%lld, %lld, %lld]", e, f, d).p,
           ", \"init\": {\"normal\": 0.02}");
    y = node(m, "reshape", name(m, "h", i, "ffn.r"), y,
             hb_fmt(m->a, ", \"attrs\": {\"shape\": [%lld, \"%lld*B\", %lld]}", e, room, d).p);
    y = node(m, "matmul", name(m, "h", i, "ffn.mm1"), pair(m, y, w1),
             ", \"attrs\": {\"trans\": 0}");
    y = node(m, "gelu", name(m, "h", i, "ffn.act"), y, "");
    y = node(m, "matmul", name(m, "h", i, "ffn.mm2"), pair(m, y, w2),
             ", \"attrs\": {\"trans\": 0}");
    y = node(m, "reshape", name(m, "h", i, "ffn.r2"), y,
             hb_fmt(m->a, ", \"attrs\": {\"shape\": [%lld, \"B\", %lld, %lld]}", e, room, d).p);
    return node(m, "combine", name(m, "h", i, "ffn.combine"), pair(m, slots, y), "");
}

static const char *transformer(maker *m, const problem_model *p)
{
    long long t = p->tokens, d = p->width, v = p->vocabulary;
    hb_str ids = hb_fmt(m->a, "[\"B\", %lld]", t);
    tensor(m, "ids", "input", "i64", ids.p, ", \"batch\": 0");
    tensor(m, "labels", "input", "i64", ids.p, ", \"batch\": 0");
    if (p->kind == PROBLEM_MOE)
        tensor(m, "zero", "const", "f32", "[]", ", \"value\": {\"const\": 0.0}");
    const char *x = node(m, "embedding", "wte", pair(m, matrix(m, "wte.weight", v, d), "ids"), "");
    for (int i = 0; i < p->n_layers; i++) {
        const char *y = attention(m, p, i, norm(m, name(m, "h", i, "ln_1"), x, d));
        x = node(m, "add", name(m, "h", i, "add"), pair(m, y, x), "");
        y = norm(m, name(m, "h", i, "ln_2"), x, d);
        bool moe = p->kind == PROBLEM_MOE && i % 2 == 1;
        y = moe ? experts(m, p, i, y) : dense(m, p, i, y);
        x = node(m, "add", name(m, "h", i, "add2"), pair(m, x, y), "");
    }
    x = norm(m, "ln_f", x, d);
    if (!p->tied) return linear(m, "lm_head", x, d, v, false);
    return node(m, "linear", "lm_head", pair(m, x, "wte.weight"), ", \"attrs\": {\"trans\": 1}");
}

static const char *perceptron(maker *m, const problem_model *p)
{
    const char *x = "x";
    long long in = p->width;
    for (int i = 0; i < p->n_layers; i++) {
        x = linear(m, name(m, "fc", i, "l"), x, in, p->hidden[i], true);
        x = node(m, "gelu", name(m, "fc", i, "act"), x, "");
        in = p->hidden[i];
    }
    return linear(m, "head", x, in, p->vocabulary, true);
}

static const char *branches(maker *m, const problem_model *p)
{
    const char *sum = NULL;
    for (int c = 0; c < p->n_layers; c++) {
        const char *x = "x";
        int depth = 2 + c % 2;
        long long in = p->width;
        for (int k = 0; k < depth; k++) {
            long long out = k + 1 == depth ? p->width : p->hidden[c];
            x = linear(m, hb_fmt(m->a, "chain.%d.%d", c, k).p, x, in, out, true);
            x = node(m, "gelu", hb_fmt(m->a, "chain.%d.act%d", c, k).p, x, "");
            in = out;
        }
        sum = sum ? node(m, "add", name(m, "chain", c, "add"), pair(m, sum, x), "") : x;
    }
    return linear(m, "head", sum, p->width, p->vocabulary, true);
}

static maker make(hb_arena *a, const problem_model *p)
{
    maker m = {.a = a, .tensors = {.arena = a}, .nodes = {.arena = a}};
    bool flat = p->kind == PROBLEM_MLP || p->kind == PROBLEM_BRANCHES;
    if (flat) {
        tensor(&m, "x", "input", "f32", hb_fmt(a, "[\"B\", %lld]", (long long)p->width).p,
               ", \"batch\": 0");
        tensor(&m, "labels", "input", "i64", "[\"B\"]", ", \"batch\": 0");
    }
    const char *logits = p->kind == PROBLEM_MLP        ? perceptron(&m, p)
                         : p->kind == PROBLEM_BRANCHES ? branches(&m, p)
                                                       : transformer(&m, p);
    node(&m, "ce_sum", "ce_sum", pair(&m, logits, "labels"), "");
    node(&m, "count", "count", "labels", "");
    node(&m, "div", "loss", "ce_sum count", "");
    return m;
}

hb_str problem_graph(hb_arena *a, const problem_model *p)
{
    maker m = make(a, p);
    return hb_fmt(a,
                  "{\"format\": \"hap.graph\", \"version\": 1, \"producer\": \"problem\",\n"
                  "\"tensors\": {%.*s},\n\"batch\": {\"B\": %lld},\n\"nodes\": [%.*s],\n"
                  "\"loss\": \"loss\",\n\"optimizer\": {\"name\": \"adamw\", \"lr\": 0.0003, "
                  "\"betas\": [0.9, 0.95], \"eps\": 1e-08, \"weight_decay\": 0.1%s}}\n",
                  HB_ARG(hb_done(&m.tensors)), (long long)p->batch, HB_ARG(hb_done(&m.nodes)),
                  p->clip ? ", \"clip_norm\": 1.0" : "");
}

const char *problem_weight(hb_arena *a, const problem_model *p, int i)
{
    maker m = make(a, p);
    return i < m.weights.n ? m.weights.p[i] : NULL;
}
