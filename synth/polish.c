#include "synth/polish.h"

#include <math.h>
#include <string.h>

#include "synth/states.h"

typedef struct polisher {
    syn_program *p;
    const cost_model *m;
    const volatile int *interrupted;
} polisher;

static bool uses_cut(const syn_tensor *t, int cut)
{
    return t->value >= 0 && t->state.ax[0].kind == SYN_S && t->state.ax[0].cut == cut;
}

// After a table changed: sizes, scratch and prices of everything that depends on it (cut -1: on
// any).
static void refresh(syn_program *p, const cost_model *m, int cut)
{
    for (int i = 0; i < p->tensors.n; i++)
        if (p->tensors.p[i].value >= 0 && (cut < 0 || uses_cut(&p->tensors.p[i], cut)))
            syn_measure(p, &p->tensors.p[i]);
    for (int i = 0; i < p->instr.n; i++) {
        syn_instr *in = &p->instr.p[i];
        bool touched = cut < 0;
        for (int k = 0; k < in->n_in + in->n_out && !touched; k++)
            touched =
                uses_cut(&p->tensors.p[k < in->n_in ? in->in[k] : in->out[k - in->n_in]], cut);
        if (!touched) continue;
        syn_price_one(p, m, in);
        if (in->kind == SYN_START && in->scratch >= 0) {
            int64_t bytes = 0;
            for (int k = 0; k < in->n_in; k++) {
                cost_shards sh = syn_shards(p, in, k);
                bytes += cost_scratch(in->coll, in->form, &sh);
            }
            for (int c = 0; c < p->mesh->n_classes; c++)
                p->tensors.p[in->scratch].bytes[c] = bytes;
        }
    }
}

void syn_refresh(syn_program *p, const cost_model *m)
{
    refresh(p, m, -1);
}

static double judge_cut(polisher *q, int cut)
{
    cost_timeline t;
    refresh(q->p, q->m, cut);
    return syn_simulate(q->p, &t, false);
}

static bool table_taken(const syn_program *p, int cut)
{
    const syn_cut *a = &p->mesh->cuts.p[cut];
    for (int i = 0; i < p->mesh->cuts.n; i++) {
        const syn_cut *b = &p->mesh->cuts.p[i];
        if (i != cut && b->axis == a->axis && b->size == a->size &&
            memcmp(a->table, b->table, sizeof *a->table * (size_t)a->n) == 0)
            return true;
    }
    return false;
}

// The rank of a class with the most (sign > 0) or fewest entries.
static int pick(const syn_program *p, const int64_t *table, int cls, int sign)
{
    int best = -1;
    for (int r = 0; r < p->mesh->n_ranks; r++)
        if (p->mesh->class_of[r] == cls && (best < 0 || sign * (table[r] - table[best]) > 0))
            best = r;
    return best;
}

static double move(polisher *q, int cut, int from_class, int to_class, int64_t step, double sec)
{
    syn_cut *c = &q->p->mesh->cuts.p[cut];
    for (int tries = 0; tries < 64 && !(q->interrupted && *q->interrupted); tries++) {
        int from = pick(q->p, c->table, from_class, 1), to = pick(q->p, c->table, to_class, -1);
        if (from == to || c->table[from] < step) break;
        c->table[from] -= step;
        c->table[to] += step;
        double next = table_taken(q->p, cut) ? HUGE_VAL : judge_cut(q, cut);
        if (next < sec * (1 - 1e-9)) {
            sec = next;
            continue;
        }
        c->table[from] += step;
        c->table[to] -= step;
        refresh(q->p, q->m, cut);
        break;
    }
    return sec;
}

double syn_polish(syn_program *p, const cost_model *m, double sec, const volatile int *interrupted)
{
    polisher q = {.p = p, .m = m, .interrupted = interrupted};
    for (int cut = 0; cut < p->mesh->cuts.n; cut++) {
        bool used = false;
        for (int t = 0; t < p->tensors.n && !used; t++)
            used = uses_cut(&p->tensors.p[t], cut);
        if (!used) continue;
        syn_cut *c = &p->mesh->cuts.p[cut];
        c->table = hb_copy(p->arena, c->table,
                           sizeof *c->table * (size_t)c->n); // shared with the search until now
        for (int64_t step = c->size / 64 > 1 ? c->size / 64 : 1; step >= 1; step /= 4)
            for (int a = 0; a < p->mesh->n_classes; a++)
                for (int b = 0; b < p->mesh->n_classes; b++)
                    if (a != b) sec = move(&q, cut, a, b, step, sec);
    }
    return sec;
}
