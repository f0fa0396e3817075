#include "synth/search/prove_stages.h"

#include <string.h>

#include "ir/variant.h"
#include "synth/certify/check_slots.h"
#include "synth/certify/check_stages.h"
#include "synth/certify/modp.h"
#include "synth/search/equal_stages.h"

// --- equal records ---

static bool same_ints(int n, const int *x, const int *y)
{
    return n == 0 || memcmp(x, y, sizeof *x * (size_t)n) == 0;
}

static bool same_dim(const rec_dim *x, const rec_dim *y)
{
    return x->n == y->n && x->outer == y->outer && x->inner == y->inner && x->axis == y->axis &&
           x->n_table == y->n_table &&
           (x->n_table == 0 ||
            memcmp(x->table, y->table, sizeof *x->table * (size_t)x->n_table) == 0);
}

static bool same_tensor(const rec_tensor *x, const rec_tensor *y)
{
    bool same = x->id == y->id && x->seg == y->seg && x->dtype == y->dtype && x->rank == y->rank &&
                memcmp(x->off, y->off, sizeof x->off) == 0;
    for (int d = 0; d < x->rank && same; d++)
        same = same_dim(&x->dim[d], &y->dim[d]);
    return same;
}

static bool same_chunks(const rec_call *x, const rec_call *y)
{
    return x->n_chunks == y->n_chunks && memcmp(x->tile, y->tile, sizeof x->tile) == 0 &&
           (x->n_chunks == 0 ||
            memcmp(x->chunk, y->chunk, sizeof *x->chunk * (size_t)x->n_chunks) == 0);
}

// Two equal graphs; what their nodes and tensors have that may differ.
typedef struct twins {
    const ir_graph *g, *h;
    hb_map *tensor;             // of g, by name
    HB_VEC(int64_t) one, other; // keys and ports of nodes
} twins;

static bool is_own(const ir_op_info *op, int k)
{
    return strcmp(op->attr[k].name, "key") == 0 || strcmp(op->attr[k].name, "port") == 0;
}

static twins twins_of(hb_arena *a, const ir_graph *g, const ir_graph *h)
{
    twins t = {.g = g, .h = h, .tensor = hb_map_new(a)};
    for (int i = 0; i < g->tensors.n; i++)
        hb_map_put(t.tensor, g->tensors.p[i].name, i);
    for (int i = 0; i < g->nodes.n; i++) {
        const ir_op_info *op = ir_op_of(g->nodes.p[i].op);
        for (int k = 0; k < op->n_attr; k++) {
            if (!is_own(op, k)) continue;
            HB_PUSH(a, &t.one, g->nodes.p[i].attr[k].i);
            HB_PUSH(a, &t.other, h->nodes.p[i].attr[k].i);
        }
    }
    return t;
}

static bool same_attr(const twins *t, const ir_op_info *op, int k, const ir_attr *x,
                      const ir_attr *y)
{
    bool found = !is_own(op, k);
    for (int i = 0; i < t->one.n && !found; i++)
        found = t->one.p[i] == x->i && t->other.p[i] == y->i;
    return found && x->kind == y->kind && (is_own(op, k) || x->i == y->i) && x->f == y->f &&
           x->n == y->n && memcmp(x->v, y->v, sizeof *x->v * (size_t)x->n) == 0;
}

static bool same_names(const twins *t, const rec_call *x, const rec_call *y)
{
    if (x->kind < REC_INPUT || x->kind > REC_GRAD) return true;
    int i = hb_map_get(t->tensor, x->name);
    return i >= 0 && hb_str_eq(t->h->tensors.p[i].name, y->name);
}

static bool same_call(const twins *t, const rec_call *x, const rec_call *y)
{
    bool same = x->kind == y->kind && x->op == y->op && x->n_out == y->n_out &&
                x->n_in == y->n_in && same_ints(x->n_out, x->out, y->out) &&
                same_ints(x->n_in, x->in, y->in) && x->coll == y->coll && x->form == y->form &&
                x->reduce_max == y->reduce_max && x->axes == y->axes && x->scratch == y->scratch &&
                x->event == y->event && same_chunks(x, y) && same_names(t, x, y);
    const ir_op_info *op = x->kind == REC_OP ? ir_op_of((ir_op)x->op) : NULL;
    for (int k = 0; op && k < op->n_attr && same; k++)
        same = same_attr(t, op, k, &x->attr[k], &y->attr[k]);
    return same;
}

static bool same_record(const twins *t, const record *x, const record *y)
{
    bool same = x->tf32 == y->tf32 && x->n_ranks == y->n_ranks && x->n_axes == y->n_axes &&
                memcmp(x->size, y->size, sizeof x->size) == 0 && x->n_classes == y->n_classes &&
                same_ints(x->n_ranks, x->class_of, y->class_of) && x->sym_bytes == y->sym_bytes &&
                memcmp(x->local_bytes, y->local_bytes, sizeof x->local_bytes) == 0 &&
                x->tensors.n == y->tensors.n && x->calls.n == y->calls.n;
    for (int i = 0; same && i < x->tensors.n; i++)
        same = same_tensor(&x->tensors.p[i], &y->tensors.p[i]);
    for (int i = 0; same && i < x->calls.n; i++)
        same = same_call(t, &x->calls.p[i], &y->calls.p[i]);
    return same;
}

// --- stages ---

typedef struct proved_stage {
    const ir_graph *g;
    const record *rec;
    bool ran;
} proved_stage;

typedef struct prover {
    hb_arena *a, *own; // of words; of the proof
    HB_VEC(proved_stage) done;
} prover;

static bool prove_calls(prover *x, const syn_program *p, const record *r, bool *ran, hb_str *why)
{
    hb_arena *a = hb_arena_new();
    const ir_graph *g = p->g;
    const ir_factors *f = p->f;
    if (g->micro_batches > 1) // once for both proofs
        g = ir_unroll_factors(a, g, g->micro_batches, &f);
    bool ok = syn_check(a, g, f, r, why) && syn_check_modp(a, g, f, r, ran, why);
    if (!ok) *why = hb_str_n(x->a, why->p, why->n);
    hb_arena_free(a);
    return ok;
}

// A stage that makes the calls of one that is proved, for an equal graph, is proved.
static bool prove_stage(prover *x, const syn_program *p, bool *ran, hb_str *why)
{
    const syn_program *few = syn_few_slots(x->own, p);
    const record *r = record_from_plan(x->own, few);
    for (int i = 0; i < x->done.n; i++) {
        const proved_stage *y = &x->done.p[i];
        if (!syn_same_graph(y->g, few->g)) continue;
        const twins t = twins_of(x->own, y->g, few->g);
        if (!same_record(&t, y->rec, r)) continue;
        *ran = y->ran;
        return syn_check_slots(x->a, p, why);
    }
    if (!prove_calls(x, few, r, ran, why)) return false;
    HB_PUSH(x->own, &x->done, (proved_stage){few->g, r, *ran});
    return syn_check_slots(x->a, p, why);
}

bool syn_prove_stages(hb_arena *a, syn_staged *p, hb_str *why)
{
    hb_arena *own = hb_arena_new();
    prover x = {.a = a, .own = own};
    const record **rec = HB_ARRAY(own, const record *, p->n);
    bool ok = true, ran = false;
    p->values_run = true;
    for (int s = 0; s < p->n && ok; s++) {
        ok = prove_stage(&x, p->stage[s].program, &ran, why);
        if (!ok) *why = hb_fmt(a, "stage %d: %.*s", s, HB_ARG(*why));
        p->values_run = p->values_run && ok && ran;
        rec[s] = syn_messages_of(own, p->stage[s].program);
    }
    ok = ok && syn_check_stages(a, p->g, p->cut, rec, why);
    hb_arena_free(own);
    return ok;
}
