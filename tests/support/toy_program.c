#include "tests/support/toy_program.h"

#include <string.h>

toy *toy_new(int classes)
{
    hb_arena *a = hb_arena_new();
    toy *t = HB_NEW(a, toy);
    t->arena = a;
    t->g = ir_graph_new(a);
    t->p = HB_NEW(a, syn_program);
    *t->p = (syn_program){.arena = a, .g = t->g, .loss = -1};
    t->p->mesh = HB_NEW(a, syn_mesh);
    t->p->mesh->n_axes = 1;
    t->p->mesh->n_classes = t->p->mesh->n_ranks = t->p->mesh->size[0] = classes;
    t->p->mesh->cluster_class = HB_ARRAY(a, int, classes); // one of CPUs
    cl_cluster *cluster = HB_NEW(a, cl_cluster);
    cluster->cls = HB_NEW(a, cl_class);
    cluster->cls->kind = CL_CPU;
    t->p->cluster = cluster;
    return t;
}

void toy_free(toy *t)
{
    hb_arena_free(t->arena);
}

int toy_buffer(toy *t, syn_role role, const char *name, int64_t bytes)
{
    static const ir_kind kind[] = {[SYN_ROLE_VALUE] = IR_VALUE,
                                   [SYN_ROLE_HOME] = IR_PARAM,
                                   [SYN_ROLE_INPUT] = IR_INPUT,
                                   [SYN_ROLE_CONST] = IR_CONST,
                                   [SYN_ROLE_SCRATCH] = IR_VALUE};
    ir_tensor v = {
        .name = hb_str_c(t->arena, name), .kind = kind[role], .dtype = IR_F32, .rank = 1};
    v.dim[0] = bytes / 4;
    v.producer = v.out = v.of = -1;
    syn_tensor b = {.value = role == SYN_ROLE_SCRATCH ? -1 : t->g->tensors.n,
                    .role = role,
                    .name = v.name,
                    .family = -1};
    for (int c = 0; c < t->p->mesh->n_classes; c++) // as shards: some classes hold less, or nothing
        b.bytes[c] = bytes > 256 * c ? bytes - 256 * c : 0;
    if (role == SYN_ROLE_SCRATCH)
        b.sym = true;
    else
        HB_PUSH(t->arena, &t->g->tensors, v);
    HB_PUSH(t->arena, &t->p->tensors, b);
    t->p->grad = HB_ARRAY(t->arena, int, t->g->tensors.n + 1);
    memset(t->p->grad, -1, sizeof *t->p->grad * (size_t)(t->g->tensors.n + 1));
    return t->p->tensors.n - 1;
}

static int put(toy *t, syn_instr in, int n_out, const int *out, int n_in, const int *from,
               const char *name, ir_op op, ir_phase phase)
{
    ir_node n = {.name = hb_str_c(t->arena, name), .op = op, .phase = phase};
    in.node = t->g->nodes.n;
    HB_PUSH(t->arena, &t->g->nodes, n);
    in.n_out = n_out;
    in.n_in = n_in;
    in.out = hb_copy(t->arena, out, sizeof *out * (size_t)n_out);
    in.in = hb_copy(t->arena, from, sizeof *from * (size_t)n_in);
    HB_PUSH(t->arena, &t->p->instr, in);
    return t->p->instr.n - 1;
}

int toy_op(toy *t, ir_op op, ir_phase phase, const char *name, int n_out, const int *out, int n_in,
           const int *in)
{
    syn_instr i = {.kind = SYN_OP, .scratch = -1, .start = -1};
    return put(t, i, n_out, out, n_in, in, name, op, phase);
}

int toy_op1(toy *t, ir_op op, const char *name, int in)
{
    int out = toy_buffer(t, SYN_ROLE_VALUE, name, t->p->tensors.p[in].bytes[0]);
    toy_op(t, op, IR_FORWARD, name, 1, &out, 1, &in);
    return out;
}

int toy_start(toy *t, cost_coll coll, const char *name, int in, int out, int scratch)
{
    syn_instr i = {.kind = SYN_START, .coll = coll, .axes = 1, .scratch = scratch, .start = -1};
    i.form = coll == COST_ALL_REDUCE ? COST_FLAT : COST_PADDED;
    t->p->tensors.p[in].sym = t->p->tensors.p[out].sym = true;
    return put(t, i, 1, &out, 1, &in, name, IR_OP_add, IR_FORWARD);
}

int toy_wait(toy *t, int start)
{
    syn_instr i = {
        .kind = SYN_WAIT, .node = t->p->instr.p[start].node, .scratch = -1, .start = start};
    HB_PUSH(t->arena, &t->p->instr, i);
    return t->p->instr.n - 1;
}

static bool names(const syn_instr *in, int buffer, bool reads)
{
    for (int i = 0; i < in->n_out; i++)
        if (in->out[i] == buffer) return true;
    for (int i = 0; reads && i < in->n_in; i++)
        if (in->in[i] == buffer) return true;
    return in->scratch == buffer;
}

static bool must_follow(const syn_instr *start, const syn_instr *in)
{
    for (int i = 0; i < start->n_out; i++)
        if (names(in, start->out[i], true)) return true;
    for (int i = 0; i < start->n_in; i++)
        if (names(in, start->in[i], false)) return true;
    return start->scratch >= 0 && names(in, start->scratch, true);
}

static void toy_sink_waits(toy *t)
{
    syn_program *p = t->p;
    HB_VEC(syn_instr) out = {0};
    HB_VEC(int) flying = {0};
    for (int i = 0; i <= p->instr.n; i++) {
        if (i < p->instr.n && p->instr.p[i].kind == SYN_WAIT) continue;
        int kept = 0;
        for (int k = 0; k < flying.n; k++) {
            const syn_instr *s = &out.p[flying.p[k]];
            if (i < p->instr.n && !must_follow(s, &p->instr.p[i])) {
                flying.p[kept++] = flying.p[k];
                continue;
            }
            syn_instr w = {.kind = SYN_WAIT, .node = s->node, .scratch = -1, .start = flying.p[k]};
            HB_PUSH(t->arena, &out, w);
        }
        flying.n = kept;
        if (i == p->instr.n) break;
        HB_PUSH(t->arena, &out, p->instr.p[i]);
        if (p->instr.p[i].kind == SYN_START) HB_PUSH(t->arena, &flying, out.n - 1);
    }
    p->instr.p = out.p;
    p->instr.n = out.n;
    p->instr.cap = out.cap;
}

// --- random programs

typedef struct rng {
    uint64_t s;
} rng;

static int pick(rng *r, int n)
{
    r->s = r->s * 6364136223846793005u + 1442695040888963407u;
    return (int)((r->s >> 33) % (uint64_t)n);
}

enum { MAX_STEPS = 16, MAX_LAYERS = 32 };

typedef enum { STEP_OP, STEP_VIEW, STEP_REDUCE, STEP_GATHER } step_kind;
typedef enum { FROM_PREVIOUS, FROM_HERE, FROM_PARAM, FROM_SAVED, FROM_GLOBAL } step_source;

typedef struct step {
    step_kind kind;
    ir_op op;
    int n_in;
    struct {
        step_source from;
        int at; // step of the layer before, of this one, of the forward pass; parameter
    } in[3];
    int64_t bytes;
    bool to_home; // update: in place on a parameter
} step;

typedef struct layered {
    toy *t;
    rng *r;
    int layers, n_params, n_fwd;
    int param[MAX_LAYERS][4], fwd[MAX_LAYERS][MAX_STEPS], bwd[MAX_LAYERS][MAX_STEPS], global;
} layered;

static int random_steps(rng *r, step *s, int n, int n_params, int n_saved, int64_t state)
{
    static const ir_op ops[] = {IR_OP_relu, IR_OP_add, IR_OP_mul, IR_OP_gelu};
    for (int j = 0; j < n; j++) {
        int k = pick(r, 10);
        s[j] = (step){.kind = k < 6   ? STEP_OP
                              : k < 8 ? STEP_VIEW
                              : k < 9 ? STEP_REDUCE
                                      : STEP_GATHER};
        s[j].op = s[j].kind == STEP_VIEW ? IR_OP_reshape : ops[pick(r, 4)];
        s[j].n_in = s[j].kind == STEP_OP ? 1 + pick(r, 3) : 1;
        s[j].bytes = 256 * (1 + pick(r, 24)) - 4 * pick(r, 20);
        for (int i = 0; i < s[j].n_in; i++) {
            int w = pick(r, 12);
            s[j].in[i].from = w < 5 && j > 0          ? FROM_HERE
                              : w < 7 && n_saved > 0  ? FROM_SAVED
                              : w < 9 && n_params > 0 ? FROM_PARAM
                              : w < 10                ? FROM_GLOBAL
                                                      : FROM_PREVIOUS;
            s[j].in[i].at = s[j].in[i].from == FROM_HERE    ? j - 1 - pick(r, j < 3 ? j : 3)
                            : s[j].in[i].from == FROM_SAVED ? pick(r, n_saved)
                            : s[j].in[i].from == FROM_PARAM ? pick(r, n_params)
                                                            : pick(r, n);
        }
        if (s[j].kind != STEP_OP && s[j].in[0].from != FROM_SAVED) // of something computed
            s[j].in[0].from = j > 0 ? FROM_HERE : FROM_PREVIOUS,
            s[j].in[0].at = j > 0 ? pick(r, j) : n - 1;
    }
    s[0].in[0].from = FROM_PREVIOUS;
    s[0].in[0].at = n - 1;
    s[n - 1].kind = STEP_OP; // what the next layer reads
    s[n - 1].op = IR_OP_add;
    s[n - 1].bytes = state;
    return n;
}

static int source(const layered *l, const step *s, int i, int layer, int before, const int *here,
                  int (*saved)[MAX_STEPS], int first)
{
    switch (s->in[i].from) {
    case FROM_HERE:
        return here[s->in[i].at];
    case FROM_PARAM:
        return l->param[layer][s->in[i].at];
    case FROM_SAVED:
        return l->fwd[layer][s->in[i].at];
    case FROM_GLOBAL:
        return l->global;
    case FROM_PREVIOUS:
        break;
    }
    return before >= 0 ? saved[before][s->in[i].at] : first;
}

static void one_layer(layered *l, const step *s, int n, int layer, int before,
                      int (*out)[MAX_STEPS], int first, ir_phase phase)
{
    toy *t = l->t;
    for (int j = 0; j < n; j++) {
        int in[3];
        for (int i = 0; i < s[j].n_in; i++)
            in[i] = source(l, &s[j], i, layer, before, out[layer], out, first);
        const char *name =
            hb_fmt(t->arena, "h.%d.%s%d", layer, phase == IR_FORWARD ? "f" : "b", j).p;
        int64_t bytes = s[j].kind == STEP_VIEW || s[j].kind == STEP_REDUCE
                            ? t->p->tensors.p[in[0]].bytes[0]
                            : s[j].bytes;
        out[layer][j] = toy_buffer(t, SYN_ROLE_VALUE, name, bytes);
        if (s[j].kind == STEP_OP || s[j].kind == STEP_VIEW) {
            toy_op(t, s[j].op, phase, name, 1, &out[layer][j], s[j].n_in, in);
            continue;
        }
        int scratch =
            s[j].kind == STEP_GATHER ? toy_buffer(t, SYN_ROLE_SCRATCH, "scratch", 2 * bytes) : -1;
        toy_start(t, s[j].kind == STEP_GATHER ? COST_ALL_GATHER : COST_ALL_REDUCE, name, in[0],
                  out[layer][j], scratch);
    }
}

static void add_noise(layered *l, int n)
{
    toy *t = l->t;
    for (int k = 0; k < n; k++) {
        syn_program *p = t->p;
        int at = pick(l->r, p->instr.n),
            in = p->instr.p[at].n_out ? p->instr.p[at].out[0] : l->global;
        int out = toy_op1(t, IR_OP_neg, hb_fmt(t->arena, "noise.%d", k).p, in);
        (void)out;
        syn_instr last = p->instr.p[p->instr.n - 1];
        memmove(&p->instr.p[at + 2], &p->instr.p[at + 1],
                sizeof last * (size_t)(p->instr.n - at - 2));
        p->instr.p[at + 1] = last;
    }
}

toy *toy_random_layers(uint64_t seed, int layers, int noise)
{
    rng r = {seed * 977 + 5};
    toy *t = toy_new(1 + pick(&r, 3));
    layered l = {.t = t, .r = &r, .layers = layers, .n_params = 1 + pick(&r, 3)};
    step fwd[MAX_STEPS], bwd[MAX_STEPS];
    int64_t state = 256 * (1 + pick(&r, 16));
    l.n_fwd = random_steps(&r, fwd, 4 + pick(&r, 10), l.n_params, 0, state);
    int n_bwd = random_steps(&r, bwd, 4 + pick(&r, 10), l.n_params, l.n_fwd, state);
    int x = toy_buffer(t, SYN_ROLE_INPUT, "x", state);
    l.global = toy_buffer(t, SYN_ROLE_CONST, "mask", 512);
    for (int i = 0; i < layers; i++)
        for (int k = 0; k < l.n_params; k++)
            l.param[i][k] =
                toy_buffer(t, SYN_ROLE_HOME, hb_fmt(t->arena, "h.%d.w%d", i, k).p, 1024 * (k + 1));
    for (int i = 0; i < layers; i++)
        one_layer(&l, fwd, l.n_fwd, i, i - 1, l.fwd, x, IR_FORWARD);
    t->p->loss = toy_op1(t, IR_OP_relu, "loss", l.fwd[layers - 1][l.n_fwd - 1]);
    int dx = toy_op1(t, IR_OP_relu, "dloss", t->p->loss);
    for (int i = layers - 1; i >= 0; i--)
        one_layer(&l, bwd, n_bwd, i, i + 1 < layers ? i + 1 : -1, l.bwd, dx, IR_BACKWARD);
    for (int i = 0; i < layers; i++)
        for (int k = 0; k < l.n_params; k++) {
            int in[2] = {l.param[i][k], l.bwd[i][k % n_bwd]};
            toy_op(t, IR_OP_sgd, IR_UPDATE, hb_fmt(t->arena, "h.%d.w%d'next", i, k).p, 1, in, 2,
                   in);
        }
    add_noise(&l, noise);
    toy_sink_waits(t);
    return t;
}

toy *toy_random(uint64_t seed, int n_instr)
{
    rng r = {seed * 1009 + 3};
    toy *t = toy_new(1 + pick(&r, 3));
    t->p->keep_grads = pick(&r, 2);
    HB_VEC(int) made = {0};
    for (int k = 0; k < 6; k++) {
        syn_role role = k < 2 ? SYN_ROLE_INPUT : k < 3 ? SYN_ROLE_CONST : SYN_ROLE_HOME;
        HB_PUSH(t->arena, &made,
                toy_buffer(t, role, hb_fmt(t->arena, "base%d", k).p, 256 * (1 + pick(&r, 12))));
    }
    for (int i = 0; i < n_instr; i++) {
        const char *name = hb_fmt(t->arena, "v%d", i).p;
        int near = made.n < 12 ? made.n : 12; // mostly young values, so that others die
        int in[3], kind = pick(&r, 12);
        for (int k = 0; k < 3; k++)
            in[k] = pick(&r, 5) ? made.p[made.n - 1 - pick(&r, near)] : made.p[pick(&r, made.n)];
        if (kind < 3) { // view
            HB_PUSH(t->arena, &made, toy_op1(t, IR_OP_reshape, name, in[0]));
        } else if (kind < 5) {
            int out = toy_buffer(t, SYN_ROLE_VALUE, name, t->p->tensors.p[in[0]].bytes[0]);
            toy_start(t, COST_ALL_REDUCE, name, in[0], out, -1);
            HB_PUSH(t->arena, &made, out);
        } else if (kind < 6) {
            int out = toy_buffer(t, SYN_ROLE_VALUE, name, 256 * pick(&r, 20));
            toy_start(t, COST_ALL_GATHER, name, in[0], out,
                      toy_buffer(t, SYN_ROLE_SCRATCH, name, 256 * pick(&r, 9)));
            HB_PUSH(t->arena, &made, out);
        } else if (kind < 7) { // in place on something written before
            if (t->p->tensors.p[in[0]].role == SYN_ROLE_VALUE ||
                t->p->tensors.p[in[0]].role == SYN_ROLE_HOME)
                toy_op(t, IR_OP_sgd, IR_UPDATE, name, 1, in, in[1] == in[0] ? 1 : 2, in);
        } else {
            int out[2] = {toy_buffer(t, SYN_ROLE_VALUE, name, 4 * pick(&r, 2000)), -1}, n_out = 1;
            if (pick(&r, 4) == 0)
                out[n_out++] = toy_buffer(t, SYN_ROLE_VALUE, name, 4 * pick(&r, 500));
            toy_op(t, IR_OP_add, IR_FORWARD, name, n_out, out, 1 + pick(&r, 3), in);
            for (int o = 0; o < n_out; o++)
                HB_PUSH(t->arena, &made, out[o]);
        }
    }
    t->p->loss = made.p[made.n - 1 - pick(&r, 6)];
    for (int k = 0; t->p->keep_grads && k < 3; k++)
        t->p->grad[k] = made.p[made.n / 2 + pick(&r, made.n / 2)];
    toy_sink_waits(t);
    return t;
}
