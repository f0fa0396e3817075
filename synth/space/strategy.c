#include "synth/space/strategy.h"

#include <string.h>

// --- what may be cut and kept ---

static bool cuts_batch(const syn_class_facts *c)
{
    return c->batch;
}

static bool cuts_batch_and_params(const syn_class_facts *c)
{
    return c->batch || c->of_param;
}

static bool cuts_no_inputs(const syn_class_facts *c)
{
    return !c->of_input;
}

// Only gradients follow the parameters' cuts.
static bool keeps_params_cuts(const syn_keep_facts *k)
{
    return !k->cut || k->feeds_update || k->by_batch;
}

// --- rules of forms ---

static bool updates(const syn_form_facts *f)
{
    return f->node->phase == IR_UPDATE;
}

static int by_batch(const syn_form_facts *f)
{
    return f->batch_cuts;
}

// Computes by the batch, or whole; the update of a large parameter, where its parts lie.
static int zero_rule(const syn_form_facts *f)
{
    if (updates(f)) return f->large_update ? f->cuts : 0;
    return f->batch_cuts > 0 ? 1 + f->batch_cuts : f->cuts == 0;
}

static int cuts_dense(const syn_form_facts *f)
{
    return !updates(f) && ir_is_dense(f->node->op) ? f->cuts : 0;
}

// HAP's rules (alibaba/hap, hap.rs analyze_rgraph): only add takes partial values; forward, only
// whole sums, the loss and products without a parameter's rule contract a cut factor, and attention
// is cut by the batch. Backward, the adjoints of these are whatever the ops allow.
static int hap_rule(const syn_form_facts *f)
{
    const ir_node *n = f->node;
    bool whole = f->cuts == 0;
    if (f->reads_partial) return whole && n->op == IR_OP_add;
    if (whole || n->phase != IR_FORWARD) return true;
    if (ir_op_of(n->op)->flops_kind == IR_FLOPS_SDPA) return f->batch_cuts > 0;
    return !f->makes_partial || n->op == IR_OP_sum || n->op == IR_OP_matmul ||
           n->op == IR_OP_nll_sum || n->op == IR_OP_count;
}

// HAP's instructions: slice, all-gather, reduce-scatter, all-reduce, all-to-all between dims. None
// takes a parameter; a gradient is all-reduced or not at all.
static bool hap_moves(syn_part part, const syn_axis_state *from, const syn_axis_state *to)
{
    if (part == SYN_PART_PARAM) return false;
    if (part == SYN_PART_GRAD) return from->kind == SYN_P && to->kind == SYN_R;
    return to->kind != SYN_P && (from->kind != SYN_S || to->kind != SYN_S || from->dim != to->dim);
}

// --- the table ---

#define KIND(kind) (1u << (kind))

static const syn_strategy_row rows[] = {
    // Everything, from every starting ratio.
    {.name = "auto",
     .n_start = 4,
     .start = {SYN_STARTING_COMPUTE, SYN_STARTING_EVEN, SYN_STARTING_MEMORY,
               SYN_STARTING_BANDWIDTH},
     .params = SYN_CUT_LARGE,
     .buckets = true,
     .multi_hop = true},
    // Data parallel, with equal parts of the batch.
    {.name = "dp-even",
     .n_start = 1,
     .start = {SYN_STARTING_EVEN},
     .may_cut = cuts_batch,
     .params = SYN_CUT_NONE,
     .prefer_cut = KIND(IR_INPUT),
     .rank = by_batch,
     .proposed = true,
     .buckets = true,
     .multi_hop = true},
    // Data parallel, with parts of the batch by speed.
    {.name = "dp-prop",
     .n_start = 1,
     .start = {SYN_STARTING_COMPUTE},
     .may_cut = cuts_batch,
     .params = SYN_CUT_NONE,
     .prefer_cut = KIND(IR_INPUT),
     .rank = by_batch,
     .proposed = true,
     .buckets = true,
     .multi_hop = true},
    // ZeRO: data parallel, with large parameters and their moments stored and updated in parts.
    {.name = "zero",
     .n_start = 1,
     .start = {SYN_STARTING_COMPUTE},
     .may_cut = cuts_batch_and_params,
     .may_keep = keeps_params_cuts,
     .params = SYN_CUT_LARGE,
     .prefer_cut = KIND(IR_INPUT) | KIND(IR_PARAM),
     .rank = zero_rule,
     .proposed = true,
     .buckets = true,
     .multi_hop = true},
    // Tensor parallel: matmuls and attention are cut, and not by the batch.
    {.name = "tp",
     .n_start = 1,
     .start = {SYN_STARTING_COMPUTE},
     .may_cut = cuts_no_inputs,
     .params = SYN_CUT_LARGE,
     .rank = cuts_dense,
     .buckets = true,
     .multi_hop = true},
    // HAP (alibaba/hap), with its forms and its conversions; each gradient on its own.
    {.name = "hap",
     .n_start = 1,
     .start = {SYN_STARTING_COMPUTE},
     .params = SYN_CUT_ANY,
     .rank = hap_rule,
     .may_move = hap_moves,
     .one_axis = true},
};

const int syn_n_strategies = sizeof rows / sizeof *rows;
_Static_assert(sizeof rows / sizeof *rows <= SYN_MAX_STRATEGIES, "strategy.h: room for more rows");

const syn_strategy_row *syn_strategy_of(syn_strategy s)
{
    hb_assert(s >= 0 && s < syn_n_strategies);
    return &rows[s];
}

syn_strategy syn_strategy_like(syn_strategy s)
{
    const syn_strategy_row *y = syn_strategy_of(s);
    for (syn_strategy like = 0; like < s; like++) {
        const syn_strategy_row *x = &rows[like];
        if (x->may_cut == y->may_cut && x->may_keep == y->may_keep && x->params == y->params &&
            x->prefer_cut == y->prefer_cut && x->rank == y->rank && x->may_move == y->may_move &&
            x->buckets == y->buckets && x->multi_hop == y->multi_hop && x->one_axis == y->one_axis)
            return like;
    }
    return s;
}

const char *syn_strategy_name(syn_strategy s)
{
    return syn_strategy_of(s)->name;
}

bool syn_strategy_parse(hb_str s, syn_strategy *out)
{
    for (int i = 0; i < syn_n_strategies; i++)
        if (hb_str_is(s, rows[i].name)) {
            *out = i;
            return true;
        }
    return false;
}

syn_strategy syn_strategy_named(const char *name)
{
    syn_strategy s = -1;
    (void)syn_strategy_parse((hb_str){name, strlen(name)}, &s);
    hb_assert(s >= 0);
    return s;
}

hb_str syn_strategy_names(hb_arena *a)
{
    hb_buf b = {.arena = a};
    for (int i = 0; i < syn_n_strategies; i++)
        hb_printf(&b, "%s%s", i > 0 ? ", " : "", rows[i].name);
    return hb_done(&b);
}
