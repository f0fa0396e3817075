// The update: clipping and optimizer nodes, in parameter order, after the backward pass.
//
// Clipping (torch.nn.utils.clip_grad_norm_): the sum of squares of every gradient, a chain of adds,
// then clip_scale = min(1, max_norm / (sqrt(total) + 1e-6)), which the optimizer ops multiply into
// the gradient, so the gradients themselves stay unclipped. Moments are state tensors named
// PARAM.exp_avg, PARAM.exp_avg_sq (Adam) and PARAM.momentum. A parameter without a gradient stays.

#include "ir/names.h"

#include <string.h>

#define SCHEDULE(name, kind) #name,
const char *const ir_schedule_names[IR_SCHEDULE] = {
#include "runtime/hap/schedule.def"
};
#undef SCHEDULE

void ir_schedule(const ir_optimizer *o, double *num)
{
    int n = 0;
#define SCHEDULE(name, kind) num[n++] = (double)o->name;
#include "runtime/hap/schedule.def"
#undef SCHEDULE
    hb_assert(n == IR_SCHEDULE);
}

typedef struct {
    ir_graph *g;
    ir_names *names;
    int clip; // tensor, -1 none
} updates;

static int emit(updates *u, int param, const char *what, ir_op op, int n_in, const int *in,
                const ir_attr *attrs)
{
    ir_graph *g = u->g;
    const ir_tensor p = g->tensors.p[param];
    hb_str name = ir_names_take(u->names, hb_fmt(g->arena, "%.*s'%s", HB_ARG(p.name), what));
    int id = ir_add_node(g, name, op, IR_UPDATE, n_in, in, attrs);
    g->nodes.p[id].at = p.at;
    for (int i = 0; i < g->nodes.p[id].n_out; i++)
        g->tensors.p[g->nodes.p[id].out[i]].at = p.at;
    return id;
}

static int add_clip(updates *u)
{
    ir_graph *g = u->g;
    int total = -1;
    for (int i = 0; i < g->grads.n; i += 2) {
        int param = g->grads.p[i];
        int id = emit(u, param, "sumsq", IR_OP_sumsq, 1, &g->grads.p[i + 1], NULL);
        int part = g->nodes.p[id].out[0];
        if (total >= 0) {
            id = emit(u, param, "norm", IR_OP_add, 2, (int[]){total, part}, NULL);
            part = g->nodes.p[id].out[0];
        }
        total = part;
    }
    hb_str name = ir_names_take(u->names, HB_STR("clip"));
    int id = ir_add_node(g, name, IR_OP_clip_scale, IR_UPDATE, 1, &total,
                         &(ir_attr){.kind = IR_ATTR_REAL, .f = g->opt.clip_norm});
    return g->nodes.p[id].out[0];
}

static int add_state(updates *u, int param, const char *what)
{
    ir_graph *g = u->g;
    const ir_tensor p = g->tensors.p[param];
    hb_str name = ir_names_take(u->names, hb_fmt(g->arena, "%.*s.%s", HB_ARG(p.name), what));
    int t = ir_add_tensor(g, name, IR_STATE, IR_F32, p.rank, p.dim);
    g->tensors.p[t].of = param;
    g->tensors.p[t].at = p.at;
    return t;
}

// The first group with a matching glob; NULL: the defaults.
static const struct ir_parameter_group *group_of(const ir_optimizer *o, hb_str name)
{
    for (int i = 0; i < o->n_groups; i++)
        for (int k = 0; k < o->group[i].n_match; k++)
            if (hb_glob(o->group[i].match[k], name)) return &o->group[i];
    return NULL;
}

static void set_real(ir_op op, ir_attr *attrs, const char *name, double f)
{
    attrs[ir_attr_index(op, name)].f = f;
}

static void set_bool(ir_op op, ir_attr *attrs, const char *name, bool b)
{
    attrs[ir_attr_index(op, name)].i = b;
}

static void update_param(updates *u, ir_op op, int param, int grad)
{
    ir_graph *g = u->g;
    const ir_optimizer *o = &g->opt;
    const struct ir_parameter_group *group = group_of(o, g->tensors.p[param].name);
    ir_attr attrs[IR_MAX_ATTR] = {0};
    for (int i = 0; i < ir_op_of(op)->n_attr; i++)
        attrs[i] = ir_op_of(op)->attr[i].value;
    set_real(op, attrs, "lr_scale", group ? group->lr_scale : 1);
    set_real(op, attrs, "wd", group ? group->weight_decay : o->weight_decay);
    int in[5] = {param}, n_in = 1; // parameter, moments, gradient, [clip factor]
    if (op == IR_OP_adam) {
        set_real(op, attrs, "beta1", o->beta1);
        set_real(op, attrs, "beta2", o->beta2);
        set_real(op, attrs, "eps", o->eps);
        set_bool(op, attrs, "decoupled", hb_str_is(o->name, "adamw"));
        in[n_in++] = add_state(u, param, "exp_avg");
        in[n_in++] = add_state(u, param, "exp_avg_sq");
    } else if (op == IR_OP_momentum) {
        set_real(op, attrs, "mu", o->momentum);
        set_bool(op, attrs, "nesterov", o->nesterov);
        in[n_in++] = add_state(u, param, "momentum");
    }
    int n_state = n_in;
    in[n_in++] = grad;
    if (u->clip >= 0) in[n_in++] = u->clip;
    int id = emit(u, param, "next", op, n_in, in, attrs);
    for (int i = 0; i < n_state; i++)
        HB_PUSH(g->arena, &g->updates, (ir_update){in[i], g->nodes.p[id].out[i]});
}

bool ir_optimize(ir_graph *g, hb_diag *d)
{
    if (g->opt.name.n == 0 || g->grads.n == 0) return true;
    for (int i = 0; i < g->grads.n; i += 2) {
        const ir_tensor *p = &g->tensors.p[g->grads.p[i]];
        if (p->dtype != IR_F32) {
            hb_error(d, &g->src, p->at,
                     "not supported yet: %s parameter '%.*s' (parameters are f32)",
                     ir_dtype_name(p->dtype), HB_ARG(p->name));
            return false;
        }
        for (int k = 0; k < g->updates.n; k++) {
            if (g->updates.p[k].tensor == g->grads.p[i]) {
                hb_error(d, &g->src, p->at,
                         "parameter '%.*s' is changed by `updates` and by the optimizer",
                         HB_ARG(p->name));
                return false;
            }
        }
    }
    ir_op op = hb_str_is(g->opt.name, "sgd")        ? IR_OP_sgd
               : hb_str_is(g->opt.name, "momentum") ? IR_OP_momentum
                                                    : IR_OP_adam;
    updates u = {g, ir_names_new(g->arena, g), -1};
    if (g->opt.clip_norm > 0) u.clip = add_clip(&u);
    for (int i = 0; i < g->grads.n; i += 2)
        update_param(&u, op, g->grads.p[i], g->grads.p[i + 1]);
    return true;
}
