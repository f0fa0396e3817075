// Initial values by global index: every rank draws its part of the same tensor. Floats are keyed
// hashes of name, declared fill and index; integers are indices into the shrunken tables.

#include "synth/certify/modp_model.h"
#include "synth/plan/search_limits.h"

void mp_fill_part(mp *m, mp_part *p, const mp_fill *f)
{
    uint64_t key = mp_mix(hb_hash(f->name.p, f->name.n));
    for (int i = 0; i < 3; i++)
        key = mp_mix(key ^ mp_const(m, f->num[i]));
    int64_t *at = mp_global(m, p);
    p->v = HB_ARRAY(m->a, uint64_t, p->n + 1);
    int64_t row = p->rank > 0 ? p->ix[p->rank - 1]->g : 1;
    for (int64_t e = 0; e < p->n; e++) {
        uint64_t h = mp_hash(m, key, (uint64_t)at[e]);
        if (p->real)
            p->v[e] = h;
        else if (f->dtype == IR_BOOL)
            p->v[e] = h & 1u;
        else if (f->num[0] >= 3) // iota
            p->v[e] = (uint64_t)(int64_t)(f->num[1] + f->num[2] * (double)(at[e] % row));
        else // an index: small ones often, sometimes the one that losses ignore
            p->v[e] = h % SYN_MODP_IGNORED == 0 ? (uint64_t)-100
                                                : (h >> 8) % (h & 16u ? 2u : (uint64_t)f->limit);
    }
}

mp_fill mp_fill_of(const ir_graph *g, int t, int64_t limit)
{
    const ir_tensor *v = &g->tensors.p[t];
    mp_fill f = {.name = v->name, .dtype = v->dtype, .limit = limit};
    if (v->kind == IR_INPUT || v->kind == IR_STATE) return f;
    static const double kinds[] = {[IR_INIT_CONST] = 0,
                                   [IR_INIT_NORMAL] = 1,
                                   [IR_INIT_UNIFORM] = 2,
                                   [IR_INIT_IOTA] = 3,
                                   [IR_INIT_STORED] = 4};
    f.num[0] = kinds[v->init.kind];
    if (v->init.kind == IR_INIT_NORMAL)
        f.num[2] = v->init.a;
    else if (v->init.kind != IR_INIT_STORED)
        f.num[1] = v->init.a;
    if (v->init.kind == IR_INIT_UNIFORM || v->init.kind == IR_INIT_IOTA) f.num[2] = v->init.b;
    return f;
}

int64_t mp_index_limit(mp *m) // largest table that integers may point into
{
    int64_t n = 2;
    for (int i = 0; i < m->g->nodes.n; i++) {
        const ir_node *v = &m->g->nodes.p[i];
        if (v->op != IR_OP_embedding && v->op != IR_OP_target_logit && v->op != IR_OP_gather)
            continue;
        int t = v->in[0], d = v->op == IR_OP_embedding ? 0 : m->g->tensors.p[t].rank - 1;
        int64_t g = mp_whole(m, t, d)->g;
        n = g > n ? g : n;
    }
    return n;
}
