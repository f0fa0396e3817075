#include "core/stage_vars.h"

#include <stdlib.h>
#include <string.h>

#include "core/comm.h"
#include "core/fail.h"
#include "core/ports.h"

// A var as it travels; its name follows.
typedef struct told {
    int kind, type, rank, name;
    int64_t dim[HAP_MAX_RANK];
} told;

typedef struct text {
    char *p;
    int n, cap;
} text;

static void put(hap_rank *r, text *t, const void *p, int n)
{
    t->p = hap_grow(r, t->p, &t->cap, t->n + n, 1);
    memcpy(t->p + t->n, p, (size_t)n);
    t->n += n;
}

static bool travels(hap_var_kind k)
{
    return k != HAP_VAR_INPUT && k != HAP_VAR_CONST;
}

int hap_stage_leader(const hap_rank *r, int stage)
{
    return r->ports ? r->ports->stage[stage].first : 0;
}

static text tell(hap_rank *r)
{
    text t = {0};
    for (int i = 0; i < r->n_vars; i++) {
        const hap_var *v = &r->var[i];
        told x = {(int)v->kind, (int)v->t->type, v->t->rank, (int)strlen(v->name), {0}};
        if (!travels(v->kind)) continue;
        for (int d = 0; d < x.rank; d++)
            x.dim[d] = hap_dim_size(&v->t->dim[d]);
        put(r, &t, &x, sizeof x);
        put(r, &t, v->name, x.name);
    }
    return t;
}

static void add(hap_rank *r, int *cap, hap_var v)
{
    r->saved_var = hap_grow(r, r->saved_var, cap, r->n_saved_vars + 1, sizeof *r->saved_var);
    r->saved_var[r->n_saved_vars++] = v;
}

// Those of another stage; what they point to lives until hap_share_vars_end.
static void hear(hap_rank *r, int *cap, int stage, const text *t)
{
    for (int at = 0; at < t->n;) {
        told x;
        memcpy(&x, t->p + at, sizeof x);
        hap_tensor *y = hap_alloc(r, sizeof *y);
        char *name = hap_alloc(r, (size_t)x.name + 1);
        memcpy(name, t->p + at + (int)sizeof x, (size_t)x.name);
        *y = (hap_tensor){.type = (hap_dtype)x.type, .rank = x.rank};
        for (int d = 0; d < x.rank; d++)
            y->dim[d] = WHOLE(x.dim[d]);
        add(r, cap, (hap_var){.kind = (hap_var_kind)x.kind, .name = name, .t = y, .stage = stage});
        at += (int)sizeof x + x.name;
    }
}

void hap_share_vars(hap_rank *r)
{
    int cap = 0, n_stages = r->n_stages > 1 ? r->n_stages : 1;
    for (int s = 0; s < n_stages; s++) {
        bool own = s == r->stage;
        for (int i = 0; own && i < r->n_vars; i++) {
            r->var[i].stage = s;
            if (travels(r->var[i].kind)) add(r, &cap, r->var[i]);
        }
        if (n_stages == 1) continue;
        text t = own ? tell(r) : (text){0};
        int64_t n = t.n;
        hap_comm_broadcast_of(r, hap_stage_leader(r, s), &n, sizeof n);
        if (!own) {
            t = (text){hap_alloc(r, (size_t)n), (int)n, (int)n};
        }
        hap_comm_broadcast_of(r, hap_stage_leader(r, s), t.p, n);
        if (!own) hear(r, &cap, s, &t);
        free(t.p);
    }
}

void hap_share_vars_end(hap_rank *r)
{
    for (int i = 0; i < r->n_saved_vars; i++) {
        if (r->saved_var[i].stage == r->stage) continue;
        free((void *)(uintptr_t)r->saved_var[i].name);
        free(r->saved_var[i].t);
    }
    free(r->saved_var);
    r->saved_var = NULL;
    r->n_saved_vars = 0;
}
