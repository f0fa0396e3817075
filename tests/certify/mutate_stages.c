#include "tests/certify/mutate_stages_parts.h"

#include <limits.h>

#include "synth/search/equal_stages.h"

const char *const fault_names[FAULT_N] = {
#define X(name, function, of) #name,
    STAGE_FAULTS(X)
#undef X
};

const fault_of fault_parts[FAULT_N] = {
#define X(name, function, of) FAULT_##of,
    STAGE_FAULTS(X)
#undef X
};

static bool (*const make[FAULT_N])(sf *) = {
#define X(name, function, of) sf_##function,
    STAGE_FAULTS(X)
#undef X
};

bool sf_here(sf *x, int stage)
{
    x->seen++;
    x->stage = stage;
    return x->left-- == 0;
}

ir_graph *sf_graph(sf *x, int s)
{
    ir_graph **g = &x->p->cut->graph[s];
    if (*g == x->was->cut->graph[s]) *g = syn_graph_for(x->a, *g);
    return *g;
}

syn_program *sf_program(sf *x, int s)
{
    syn_program **p = &x->p->stage[s].program;
    if (*p != x->was->stage[s].program) return *p;
    *p = syn_program_kept(x->a, *p);
    (*p)->order.p = hb_copy(x->a, x->was->stage[s].program->order.p,
                            sizeof *(*p)->order.p * (size_t)x->was->stage[s].program->order.n);
    (*p)->order.n = (*p)->order.cap = x->was->stage[s].program->order.n;
    (*p)->g = sf_graph(x, s);
    return *p;
}

mut *sf_calls(sf *x, int s)
{
    if (!x->calls[s].r) x->calls[s] = mut_of(x->a, x->rec[s]);
    return &x->calls[s];
}

bool sf_is_end(const rec_call *k, unsigned end)
{
    return k->kind == REC_OP && (ir_op_of((ir_op)k->op)->flags & IR_PORT) == end;
}

int64_t sf_attr(const rec_call *k, const char *name)
{
    return k->attr[ir_attr_index((ir_op)k->op, name)].i;
}

void sf_set_attr(mut *m, int c, const char *name, int64_t value)
{
    rec_call *k = mut_call(m, c);
    ir_attr *own = hb_copy(m->a, k->attr, sizeof *k->attr * (size_t)ir_op_of((ir_op)k->op)->n_attr);
    own[ir_attr_index((ir_op)k->op, name)].i = value;
    k->attr = own;
}

static sf faults(hb_arena *a, const syn_staged *p, const record *const *rec, int place)
{
    sf x = {.a = a, .was = p, .rec = rec, .left = place};
    x.p = hb_copy(a, p, sizeof *p);
    x.p->stage = hb_copy(a, p->stage, sizeof *p->stage * (size_t)p->n);
    ir_stages *cut = hb_copy(a, p->cut, sizeof *cut);
    cut->graph = hb_copy(a, cut->graph, sizeof(ir_graph *) * (size_t)p->n);
    cut->ports.p = hb_copy(a, cut->ports.p, sizeof *cut->ports.p * (size_t)cut->ports.n);
    x.p->cut = cut;
    x.calls = HB_ARRAY(a, mut, p->n);
    return x;
}

int faults_of(const syn_staged *p, const record *const *rec, stage_fault kind)
{
    hb_arena *a = hb_arena_new();
    sf x = faults(a, p, rec, INT_MAX);
    bool made = make[kind](&x);
    hb_assert(!made);
    hb_arena_free(a);
    return x.seen;
}

bool fault_at(hb_arena *a, const syn_staged *p, const record *const *rec, stage_fault kind,
              int place, faulty *out)
{
    sf x = faults(a, p, rec, place);
    if (!make[kind](&x)) return false;
    *out = (faulty){.p = x.p, .rec = HB_ARRAY(a, const record *, p->n), .stage = x.stage};
    for (int s = 0; s < p->n; s++)
        out->rec[s] = x.p->stage[s].program != p->stage[s].program
                          ? record_from_plan(a, x.p->stage[s].program)
                      : x.calls[s].r ? x.calls[s].r
                                     : rec[s];
    out->what = hb_fmt(a, "%s, place %d, stage %d", fault_names[kind], place, x.stage);
    return true;
}
