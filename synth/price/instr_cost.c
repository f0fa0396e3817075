#include "synth/price/instr_cost.h"

#include "synth/price/transport.h"

// How an OP instruction is cut: on each axis the local factor of any operand or output that is cut.
syn_node_cut syn_cut_of_op(const syn_program *p, const syn_instr *in)
{
    const ir_rule *r = p->f->rule[in->node];
    syn_node_cut c = {{-1, -1}, {-1, -1}};
    for (int i = 0; i < in->n_out + in->n_in; i++) {
        bool out = i < in->n_out;
        int at = out ? i : i - in->n_out;
        const syn_state *s = &p->tensors.p[out ? in->out[at] : in->in[at]].state;
        for (int a = 0; a < p->mesh->n_axes; a++) {
            const syn_axis_state *x = &s->ax[a];
            if (x->kind != SYN_S || c.factor[a] >= 0) continue;
            c.factor[a] = (out ? r->out : r->in)[at][x->dim].f[x->pos];
            c.cut[a] = x->cut;
        }
    }
    return c;
}

void syn_price_one(syn_program *p, syn_costs *c, syn_instr *in)
{
    syn_node_cut cut;
    hb_arena *scratch;
    syn_move move;
    switch (in->kind) {
    case SYN_OP:
        cut = syn_cut_of_op(p, in);
        syn_node_seconds(c, in->node, &cut, in->sec);
        break;
    case SYN_SLICE:
    case SYN_PARTIAL:
        for (int k = 0; k < p->mesh->n_classes; k++)
            in->sec[k] = syn_instr_times(p, in) *
                         syn_copy_seconds(c, k, (double)p->tensors.p[in->out[0]].bytes[k]);
        break;
    case SYN_START:
        scratch = hb_arena_new();
        move = syn_move_of(in);
        in->sec[0] = syn_instr_times(p, in) *
                     syn_list_seconds(c, &move, syn_transfers(scratch, p, in), in->n_in);
        hb_arena_free(scratch);
        break;
    case SYN_WAIT:
        break;
    }
}

void syn_price(syn_program *p, syn_costs *c)
{
    for (int i = 0; i < p->instr.n; i++)
        syn_price_one(p, c, &p->instr.p[i]);
}

// Equal moves of repeated layers are priced once.
void syn_price_moves(syn_program *p, syn_costs *c)
{
    hb_arena *a = hb_arena_new();
    hb_map *known = hb_map_new(a);
    HB_VEC(double) sec = {0};
    for (int i = 0; i < p->instr.n; i++) {
        syn_instr *in = &p->instr.p[i];
        if (in->kind == SYN_OP) continue;
        if (in->kind != SYN_START || in->n_in != 1) {
            syn_price_one(p, c, in);
            continue;
        }
        uint64_t h =
            syn_move_key(p, in) + hb_hash_key(&(double){syn_instr_times(p, in)}, sizeof(double));
        hb_str name = {(const char *)&h, sizeof h};
        int at = hb_map_get(known, name);
        if (at < 0) {
            at = sec.n;
            syn_price_one(p, c, in);
            HB_PUSH(a, &sec, in->sec[0]);
            hb_map_put(known, hb_str_n(a, name.p, name.n), at);
        }
        in->sec[0] = sec.p[at];
    }
    hb_arena_free(a);
}
