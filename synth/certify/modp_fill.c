// What tensors are declared to hold, as terms take it, and positions to draw.

#include "synth/certify/modp_model.h"
#include "synth/plan/search_limits.h"

mp_fill mp_fill_of(const ir_graph *g, int t)
{
    const ir_tensor *v = &g->tensors.p[t];
    mp_fill f = {.name = v->name};
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

mp_positions mp_positions_of(mp *m)
{
    mp_positions at = {2, -100};
    for (int i = 0; i < m->g->nodes.n; i++) {
        const ir_node *v = &m->g->nodes.p[i];
        if (v->op == IR_OP_count || v->op == IR_OP_target_logit) at.ignore = v->attr[0].i;
        bool rows = v->op == IR_OP_embedding, experts = v->op == IR_OP_expert_linear;
        if (!rows && !experts && v->op != IR_OP_target_logit && v->op != IR_OP_gather) continue;
        int t = v->in[experts ? 2 : 0];
        int d = rows || experts ? 0 : m->g->tensors.p[t].rank - 1;
        int64_t g = mp_whole(m, t, d)->g;
        at.limit = g > at.limit ? g : at.limit;
    }
    return at;
}

void mp_fill_positions(mp *m, mp_part *p, uint64_t key, const mp_positions *at)
{
    for (int64_t e = 0; e < p->n; e++) { // small ones often, sometimes the one that losses ignore
        uint64_t h = mp_hash(m, key, (uint64_t)e);
        p->v[e] = e == 0                      ? at->ignore == 0
                  : h % SYN_MODP_IGNORED == 0 ? (uint64_t)at->ignore
                                              : (h >> 8) % (h & 16u ? 2u : (uint64_t)at->limit);
    }
}
