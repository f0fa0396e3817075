// The `optimizer` of a graph file: name, hyperparameters, groups, schedule.

#include "ir/reader.h"

#include <string.h>

static void at_least(ir_reader *r, const hb_tree *table, const char *key, double lowest, double *f)
{
    const hb_tree *t = hb_get(table, key);
    if (!t || !rd_real(r, t, f)) return;
    if (*f < lowest) rd_error(r, t->at, "%s is at least %g", key, lowest);
}

static void below_one(ir_reader *r, const hb_tree *t, double *f)
{
    if (rd_real(r, t, f) && (*f < 0 || *f >= 1)) rd_error(r, t->at, "expected a number in [0, 1)");
}

static void read_betas(ir_reader *r, const hb_tree *table, ir_optimizer *o)
{
    const hb_tree *t = hb_get(table, "betas");
    if (!t || !rd_is(r, t, HB_LIST)) return;
    if (t->n != 2) {
        rd_error(r, t->at, "expected a list of two numbers");
        return;
    }
    below_one(r, t->v[0], &o->beta1);
    below_one(r, t->v[1], &o->beta2);
}

static bool names_parameter(const ir_graph *g, hb_str glob)
{
    for (int t = 0; t < g->tensors.n; t++)
        if (g->tensors.p[t].kind == IR_PARAM && hb_glob(glob, g->tensors.p[t].name)) return true;
    return false;
}

static void read_group(ir_reader *r, const hb_tree *t, ir_optimizer *o,
                       struct ir_parameter_group *group)
{
    static const char *const keys[] = {"match", "weight_decay", "lr", "lr_scale"};
    group->lr_scale = 1;
    group->weight_decay = o->weight_decay;
    if (!rd_is(r, t, HB_TABLE)) return;
    hb_only_keys(t, keys, 4, r->src, r->d);
    const hb_tree *match = rd_need(r, t, "match", "the group", HB_LIST);
    if (match) {
        group->match = HB_ARRAY(r->a, hb_str, match->n);
        for (int i = 0; i < match->n; i++) {
            hb_str *glob = &group->match[group->n_match];
            if (!rd_text(r, match->v[i], glob)) continue;
            group->n_match++;
            if (hb_diag_count(r->d) == 0 && !names_parameter(r->g, *glob))
                rd_error(r, match->v[i]->at, "no parameter is named '%.*s'", HB_ARG(*glob));
        }
    }
    at_least(r, t, "weight_decay", 0, &group->weight_decay);
    at_least(r, t, "lr_scale", 0, &group->lr_scale);
    const hb_tree *lr = hb_get(t, "lr");
    double rate = o->lr;
    if (lr && hb_get(t, "lr_scale")) {
        rd_error(r, lr->at, "lr and lr_scale say the same; give one");
        return;
    }
    at_least(r, t, "lr", 0, &rate);
    if (lr && o->lr > 0)
        group->lr_scale = rate / o->lr;
    else if (lr && rate > 0)
        rd_error(r, lr->at, "a group's lr needs a positive lr of the optimizer");
}

static void read_schedule(ir_reader *r, const hb_tree *t, ir_optimizer *o)
{
    enum { STEPS = 5 };
    static const char *const keys[] = {"warmup",       "stable", "cosine", "linear",
                                       "inverse_sqrt", "start",  "min_lr"};
    if (!rd_is(r, t, HB_TABLE)) return;
    hb_only_keys(t, keys, 7, r->src, r->d);
    int64_t *const into[STEPS] = {&o->warmup, &o->stable, &o->cosine, &o->linear, &o->inverse_sqrt};
    for (int i = 0; i < STEPS; i++) {
        const hb_tree *v = hb_get(t, keys[i]);
        if (!v || !rd_is(r, v, HB_INT)) continue;
        if (rd_int(r, v, into[i]) && *into[i] < 0)
            rd_error(r, v->at, "a number of steps is not negative");
    }
    at_least(r, t, "min_lr", 0, &o->min_lr);
    at_least(r, t, "start", 0, &o->start);
    o->has_start = hb_get(t, "start") != NULL;
    if ((o->cosine > 0) + (o->linear > 0) + (o->inverse_sqrt > 0) > 1)
        rd_error(r, t->at, "a schedule has one of cosine, linear and inverse_sqrt");
    int64_t end = o->cosine > 0 ? o->cosine : o->linear;
    if (o->stable > 0 && end <= o->warmup + o->stable)
        rd_error(r, t->at, "behind a stable part comes a cosine or linear that ends later");
}

void rd_optimizer(ir_reader *r, const hb_tree *t)
{
    static const char *const keys[] = {"name",         "lr",       "betas",     "eps",
                                       "weight_decay", "momentum", "clip_norm", "nesterov",
                                       "groups",       "schedule"};
    static const char *const names[] = {"sgd", "momentum", "adam", "adamw"};
    ir_optimizer *o = &r->g->opt;
    if (!rd_is(r, t, HB_TABLE)) return;
    hb_only_keys(t, keys, 10, r->src, r->d);
    const hb_tree *name = rd_need(r, t, "name", "the optimizer", HB_TEXT);
    if (name) {
        bool known = false;
        for (int i = 0; i < 4; i++)
            known = known || hb_str_is(name->s, names[i]);
        if (known) {
            o->name = name->s;
        } else {
            rd_error(r, name->at, "unknown optimizer '%.*s'", HB_ARG(name->s));
            const char *near = hb_nearest(name->s, names, 4);
            if (near)
                hb_hint(r->d, "did you mean '%s'?", near);
            else
                hb_hint(r->d, "optimizers are sgd, momentum, adam, adamw");
        }
    }
    if (!hb_get(t, "lr")) rd_error(r, t->at, "the optimizer has no 'lr'");
    o->beta1 = 0.9; // torch's defaults
    o->beta2 = 0.999;
    o->eps = 1e-8;
    o->weight_decay = hb_str_is(o->name, "adamw") ? 0.01 : 0;
    at_least(r, t, "lr", 0, &o->lr);
    read_betas(r, t, o);
    at_least(r, t, "eps", 0, &o->eps);
    at_least(r, t, "weight_decay", 0, &o->weight_decay);
    at_least(r, t, "clip_norm", 0, &o->clip_norm);
    const hb_tree *momentum = hb_get(t, "momentum"), *nesterov = hb_get(t, "nesterov");
    if (momentum) below_one(r, momentum, &o->momentum);
    if (nesterov) rd_bool(r, nesterov, &o->nesterov);
    if (hb_str_is(o->name, "sgd") && o->momentum > 0) // torch calls both SGD
        o->name = HB_STR("momentum");
    if (hb_str_is(o->name, "momentum") && !momentum)
        rd_error(r, t->at, "the optimizer has no 'momentum'");
    if (o->nesterov && !hb_str_is(o->name, "momentum"))
        rd_error(r, nesterov->at, "nesterov needs a momentum");
    const hb_tree *groups = hb_get(t, "groups"), *schedule = hb_get(t, "schedule");
    if (groups && rd_is(r, groups, HB_LIST)) {
        o->n_groups = groups->n;
        o->group = HB_ARRAY(r->a, struct ir_parameter_group, groups->n);
        for (int i = 0; i < groups->n; i++)
            read_group(r, groups->v[i], o, &o->group[i]);
    }
    if (schedule) read_schedule(r, schedule, o);
}
