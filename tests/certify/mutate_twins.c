// Faults of one of two equal stages, which are proved once.

#include "synth/search/equal_stages.h"
#include "tests/certify/mutate_stages_parts.h"

// The stage that s is the twin of, one before it; -1.
static int twin(const sf *x, int s)
{
    const syn_program *p = x->was->stage[s].program;
    for (int t = s - 1; t >= 0; t--) {
        const syn_program *q = x->was->stage[t].program;
        if (syn_same_graph(p->g, q->g) && p->instr.n == q->instr.n &&
            syn_same_machines(x->was->stage[s].cluster, x->was->stage[t].cluster))
            return t;
    }
    return -1;
}

static bool equal(const sf *x, int s)
{
    for (int t = s + 1; t < x->was->n; t++)
        if (twin(x, t) == s) return true;
    return twin(x, s) >= 0;
}

static const ir_node *node_of(const syn_program *p, int i)
{
    return p->instr.p[i].kind == SYN_OP ? &p->g->nodes.p[p->instr.p[i].node] : NULL;
}

bool sf_twin_operands(sf *x)
{
    for (int s = 0; s < x->was->n; s++) {
        const syn_program *p = x->was->stage[s].program;
        for (int i = 0; i < p->instr.n && equal(x, s); i++) {
            const syn_instr *in = &p->instr.p[i];
            const ir_node *n = node_of(p, i);
            if (!n || in->n_in < 2 || in->in[0] == in->in[1] || mut_commutes((int)n->op) ||
                !sf_here(x, s))
                continue;
            int *to = sf_program(x, s)->instr.p[i].in, was = to[0];
            to[0] = to[1];
            to[1] = was;
            return true;
        }
    }
    return false;
}

// It overwrites its operand instead.
bool sf_twin_output(sf *x)
{
    for (int s = 0; s < x->was->n; s++) {
        const syn_program *p = x->was->stage[s].program;
        for (int i = 0; i < p->instr.n && equal(x, s); i++) {
            const syn_instr *in = &p->instr.p[i];
            const ir_node *n = node_of(p, i);
            if (!n || in->n_in == 0 || in->n_out == 0 || in->out[0] == in->in[0]) continue;
            if (ir_op_of(n->op)->flags & (IR_SEND | IR_ZERO_COPY) || !sf_here(x, s)) continue;
            sf_program(x, s)->instr.p[i].out[0] = in->in[0];
            return true;
        }
    }
    return false;
}

// It sends by another of its ports.
bool sf_twin_port(sf *x)
{
    for (int s = 0; s < x->was->n; s++) {
        const syn_program *p = x->was->stage[s].program;
        for (int i = 0; i < p->instr.n && equal(x, s); i++)
            for (int j = 0; j < p->instr.n; j++) {
                const ir_node *n = node_of(p, i), *o = node_of(p, j);
                if (!n || !o || n == o || n->op != o->op || !(ir_op_of(n->op)->flags & IR_PORT) ||
                    !sf_here(x, s))
                    continue;
                sf_program(x, s)->instr.p[i].node = p->instr.p[j].node;
                return true;
            }
    }
    return false;
}

// A share of a device is one larger, of a cut that some buffer has.
bool sf_twin_shares(sf *x)
{
    for (int s = 0; s < x->was->n; s++) {
        const syn_program *p = x->was->stage[s].program;
        for (int c = 0; c < p->mesh->cuts.n && equal(x, s); c++) {
            bool has = false;
            for (int t = 0; t < p->tensors.n; t++)
                for (int a = 0; a < p->mesh->n_axes && p->tensors.p[t].value >= 0; a++) {
                    const syn_axis_state *is = &p->tensors.p[t].state.ax[a];
                    has = has || (is->kind == SYN_S && is->cut == c);
                }
            if (!has || !sf_here(x, s)) continue;
            sf_program(x, s)->mesh->cuts.p[c].table[0]++;
            return true;
        }
    }
    return false;
}

bool sf_twin_place(sf *x)
{
    for (int s = 0; s < x->was->n; s++) {
        const syn_program *p = x->was->stage[s].program;
        for (int t = 0; t < p->tensors.n && equal(x, s); t++) {
            if (p->tensors.p[t].bytes[0] == 0 || !sf_here(x, s)) continue;
            sf_program(x, s)->tensors.p[t].off[0] += 64;
            return true;
        }
    }
    return false;
}

bool sf_twin_name(sf *x)
{
    for (int s = 0; s < x->was->n; s++) {
        int t = twin(x, s);
        for (int c = 0; t >= 0 && c < x->rec[s]->calls.n; c++) {
            const rec_call *k = &x->rec[s]->calls.p[c];
            if ((k->kind != REC_PARAM && k->kind != REC_STATE) || !sf_here(x, s)) continue;
            mut_call(sf_calls(x, s), c)->name = x->rec[t]->calls.p[c].name;
            return true;
        }
    }
    return false;
}
