// Views: reshapes that are no call of the program but another declaration of the same bytes.
//
// Such a reshape moves nothing, and its result is there as soon as its operand is. So the operand
// must be made by one call alone, and in a loop all repetitions must agree. What stands in a fusion
// or an overlapped pair is left: those name their calls.

#include "synth/plan/views.h"

#include <string.h>

// How often a buffer is written: by calls, or from outside the step.
static int *writes(hb_arena *a, const syn_program *p)
{
    int *n = HB_ARRAY(a, int, p->tensors.n + 1);
    for (int t = 0; t < p->tensors.n; t++)
        n[t] = p->tensors.p[t].role == SYN_ROLE_VALUE ? 0 : 2;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        for (int k = 0; k < in->n_out && in->kind != SYN_WAIT; k++)
            n[in->out[k]]++;
    }
    return n;
}

// The attribute is what a declaration says: the sizes of its dims.
static bool plain(const syn_program *p, const syn_instr *in)
{
    const ir_attr *shape = &p->g->nodes.p[in->node].attr[0];
    const ir_tensor *y = &p->g->tensors.p[p->tensors.p[in->out[0]].value];
    if (shape->n != y->rank) return false;
    for (int d = 0; d < y->rank; d++)
        if (shape->v[d] != y->dim[d]) return false;
    return true;
}

static bool in_place(const syn_program *p, const syn_tensor *x, const syn_tensor *y)
{
    for (int c = 0; c < p->mesh->n_classes; c++)
        if (x->off[c] != y->off[c] || x->bytes[c] != y->bytes[c]) return false;
    return x->sym == y->sym && x->dtype == y->dtype;
}

bool *syn_views(hb_arena *a, const syn_program *p)
{
    bool *view = HB_ARRAY(a, bool, p->instr.n + 1);
    int *written = writes(a, p), *of = HB_ARRAY(a, int, p->families.n + 1);
    for (int f = 0; f < p->families.n; f++)
        of[f] = -1;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind != SYN_OP || p->g->nodes.p[in->node].op != IR_OP_reshape) continue;
        const syn_tensor *y = &p->tensors.p[in->out[0]], *x = &p->tensors.p[in->in[0]];
        view[i] = written[in->in[0]] == 1 && written[in->out[0]] == 1 && plain(p, in) &&
                  in_place(p, x, y) && (x->family < 0) == (y->family < 0) && x->index == y->index;
    }
    for (int g = 0; g < p->fusions.n; g++)
        memset(view + p->fusions.p[g].first, 0, (size_t)p->fusions.p[g].len);
    for (int x = 0; x < p->pairs.n; x++)
        memset(view + p->pairs.p[x].first, 0, (size_t)p->pairs.p[x].len);
    // All or none of a loop's statement, and of a family's buffers, which one row declares.
    for (bool again = true; again;) {
        again = false;
        for (int l = 0; l < p->loops.n; l++)
            for (int j = 0; j < p->loops.p[l].len; j++) {
                bool all = true;
                for (int k = 0; k < p->loops.p[l].count; k++)
                    all = all && view[p->loops.p[l].first + k * p->loops.p[l].len + j];
                for (int k = 0; k < p->loops.p[l].count && !all; k++) {
                    bool *v = &view[p->loops.p[l].first + k * p->loops.p[l].len + j];
                    again = again || *v;
                    *v = false;
                }
            }
        int *n = HB_ARRAY(a, int, p->families.n + 1);
        for (int i = 0; i < p->instr.n; i++) {
            if (!view[i]) continue;
            const syn_tensor *y = &p->tensors.p[p->instr.p[i].out[0]];
            int x = p->tensors.p[p->instr.p[i].in[0]].family;
            if (y->family < 0) continue;
            if (of[y->family] < 0) of[y->family] = x;
            n[y->family] += of[y->family] == x;
        }
        for (int i = 0; i < p->instr.n; i++) {
            if (!view[i]) continue;
            int f = p->tensors.p[p->instr.p[i].out[0]].family;
            if (f < 0 || (n[f] == p->families.p[f].count &&
                          p->families.p[f].count == p->families.p[of[f]].count &&
                          p->families.p[f].mod == p->families.p[of[f]].mod))
                continue;
            view[i] = false;
            again = true;
        }
    }
    return view;
}
