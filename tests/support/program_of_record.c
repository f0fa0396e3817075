#include "tests/support/program_of_record.h"
#include "synth/passes/arena_plan.h"
#include "synth/passes/fuse.h"
#include "synth/passes/roll.h"
#include "synth/plan/buffer_names.h"

#include <string.h>

typedef struct maker {
    hb_arena *a;
    const ir_graph *g;
    const ir_factors *f;
    const record *r;
    syn_program *p;
    char (*partial)[SYN_MAX_AXES]; // by buffer
} maker;

static int named(const ir_graph *g, hb_str name)
{
    int t = 0;
    while (g->tensors.p[t].kind == IR_VALUE || !hb_str_eq(g->tensors.p[t].name, name))
        t++;
    return t;
}

static syn_mesh *mesh_of(hb_arena *a, const record *r, const int *cluster_class)
{
    syn_mesh *m = HB_NEW(a, syn_mesh);
    *m = (syn_mesh){.n_axes = r->n_axes, .n_ranks = r->n_ranks, .n_classes = r->n_classes};
    memcpy(m->size, r->size, sizeof m->size);
    m->class_of = r->class_of;
    m->cluster_rank = HB_ARRAY(a, int, r->n_ranks);
    m->cluster_class = hb_copy(a, cluster_class, sizeof *cluster_class * (size_t)r->n_classes);
    for (int i = 0; i < r->n_ranks; i++)
        m->cluster_rank[i] = i;
    return m;
}

// Which factor of dim d of a value a declared cut stands at.
static int position(const maker *m, int value, int d, const rec_dim *v)
{
    const ir_dim_factors *f = &m->f->dim[value][d];
    int64_t outer = 1;
    for (int p = 0; p < f->n; p++) {
        int64_t size = m->f->cls[f->cls[p]].size;
        if (outer == v->outer && size == v->n) return p;
        outer *= size;
    }
    hb_assert(false && "a cut stands at a factor");
    return -1;
}

static void set_state(maker *m, int id)
{
    syn_tensor *t = &m->p->tensors.p[id];
    syn_mesh *mesh = m->p->mesh;
    for (int x = 0; x < mesh->n_axes; x++)
        if (m->partial[id][x])
            t->state.ax[x] =
                (syn_axis_state){.kind = SYN_P, .reducer = (uint8_t)m->partial[id][x], .cut = -1};
    const rec_tensor *s = &m->r->tensors.p[id];
    for (int d = 0; d < s->rank; d++) {
        const rec_dim *v = &s->dim[d];
        if (v->axis < 0) continue;
        syn_axis_state c = {
            .kind = SYN_S, .dim = (uint8_t)d, .pos = (uint8_t)position(m, t->value, d, v)};
        c.cut = (int16_t)syn_cut_intern(m->a, mesh, v->axis, v->n, v->table, HB_STR("random"));
        t->state.ax[v->axis == SYN_BOTH ? 1 : v->axis] = c;
        if (v->axis != SYN_BOTH) continue;
        int64_t *sums = HB_ARRAY(m->a, int64_t, mesh->size[0]);
        for (int i = 0; i < v->n_table; i++)
            sums[i / mesh->size[1]] += v->table[i];
        c.cut = (int16_t)syn_cut_intern(m->a, mesh, 0, v->n, sums, HB_STR("random"));
        t->state.ax[0] = c;
    }
}

static void set_bytes(maker *m, int id)
{
    syn_tensor *t = &m->p->tensors.p[id];
    const rec_tensor *s = &m->r->tensors.p[id];
    for (int rank = 0; rank < m->r->n_ranks; rank++) {
        int64_t n = ir_dtype_bytes(s->dtype), *most = &t->bytes[m->r->class_of[rank]];
        for (int d = 0; d < s->rank; d++) {
            const rec_dim *v = &s->dim[d];
            n *= v->outer * v->inner *
                 (v->axis < 0 ? v->n : v->table[syn_coord(m->p->mesh, rank, v->axis)]);
        }
        if (n > *most) *most = n;
    }
}

static void declared(maker *m, const rec_call *k)
{
    static const syn_role role[] = {[REC_INPUT] = SYN_ROLE_INPUT,
                                    [REC_PARAM] = SYN_ROLE_HOME,
                                    [REC_STATE] = SYN_ROLE_HOME,
                                    [REC_BUFFER] = SYN_ROLE_HOME,
                                    [REC_CONST] = SYN_ROLE_CONST};
    if (k->kind == REC_LOSS) m->p->loss = k->in[0];
    if (k->kind == REC_GRAD) {
        m->p->keep_grads = true;
        m->p->grad[named(m->g, k->name)] = k->in[0];
    }
    if (k->kind > REC_CONST) return;
    int t = named(m->g, k->name);
    m->p->home[t] = k->in[0];
    m->p->tensors.p[k->in[0]].value = t;
    m->p->tensors.p[k->in[0]].role = role[k->kind];
}

static void instruction(maker *m, const rec_call *k, int call, const gen_trace *trace, int *at,
                        int *start_of)
{
    syn_program *p = m->p;
    static const syn_instr_kind kind[] = {[REC_OP] = SYN_OP,
                                          [REC_SLICE] = SYN_SLICE,
                                          [REC_PARTIAL] = SYN_PARTIAL,
                                          [REC_START] = SYN_START,
                                          [REC_WAIT] = SYN_WAIT};
    syn_instr i = {.kind = kind[k->kind],
                   .node = *at > 0 ? trace->ops.p[*at - 1].node : 0,
                   .n_out = k->n_out,
                   .n_in = k->n_in,
                   .out = k->out,
                   .in = k->in,
                   .coll = k->coll,
                   .form = k->form,
                   .reduce_max = k->reduce_max,
                   .axes = k->axes,
                   .scratch = k->scratch,
                   .start = -1};
    if (k->kind == REC_OP) {
        const gen_op *op = &trace->ops.p[(*at)++];
        hb_assert(op->call == call);
        i.node = op->node;
        for (int o = 0; o < k->n_out; o++) {
            memcpy(m->partial[k->out[o]], op->partial[o], SYN_MAX_AXES);
            syn_tensor *t = &p->tensors.p[k->out[o]];
            if (t->role != SYN_ROLE_HOME) t->value = m->g->nodes.p[op->node].out[o];
        }
    } else if (k->kind == REC_WAIT) {
        i.start = start_of[k->event];
    } else {
        for (int o = 0; o < k->n_out; o++) {
            p->tensors.p[k->out[o]].value = p->tensors.p[k->in[o]].value;
            for (int x = 0; x < SYN_MAX_AXES; x++)
                m->partial[k->out[o]][x] = k->kind != REC_SLICE && (k->axes >> x & 1u)
                                               ? (k->kind == REC_PARTIAL ? 's' : 0)
                                               : m->partial[k->in[o]][x];
        }
        if (k->kind == REC_START) start_of[k->event] = p->instr.n;
    }
    HB_PUSH(m->a, &p->instr, i);
}

syn_program *program_of_record(hb_arena *a, const ir_graph *g, const ir_factors *f,
                               const cl_cluster *cluster, const int *cluster_class, const record *r,
                               const gen_trace *trace)
{
    maker m = {.a = a, .g = g, .f = f, .r = r, .p = HB_NEW(a, syn_program)};
    syn_program *p = m.p;
    *p = (syn_program){.arena = a, .g = g, .f = f, .cluster = cluster, .loss = -1};
    p->mesh = mesh_of(a, r, cluster_class);
    p->strategy = HB_STR("random");
    p->home = HB_ARRAY(a, int, g->tensors.n + 1);
    p->grad = HB_ARRAY(a, int, g->tensors.n + 1);
    for (int t = 0; t < g->tensors.n; t++)
        p->home[t] = p->grad[t] = -1;
    m.partial = hb_alloc(a, sizeof *m.partial * (size_t)(r->tensors.n + 1));
    for (int i = 0; i < r->tensors.n; i++) {
        syn_tensor t = {.value = -1,
                        .role = SYN_ROLE_VALUE,
                        .dtype = r->tensors.p[i].dtype,
                        .sym = r->tensors.p[i].seg == 0,
                        .family = -1};
        HB_PUSH(a, &p->tensors, t);
    }
    int at = 0, *start_of = HB_ARRAY(a, int, r->calls.n + 1);
    for (int c = 0; c < r->calls.n; c++) {
        const rec_call *k = &r->calls.p[c];
        if (k->kind < REC_OP)
            declared(&m, k);
        else
            instruction(&m, k, c, trace, &at, start_of);
        if (k->kind == REC_START && k->scratch >= 0)
            p->tensors.p[k->scratch].role = SYN_ROLE_SCRATCH;
    }
    for (int i = 0; i < r->tensors.n; i++) {
        set_state(&m, i);
        set_bytes(&m, i);
    }
    syn_name_buffers(p);
    syn_roll(p);
    syn_name_kernels(&p, 1);
    syn_arena(p);
    return p;
}
