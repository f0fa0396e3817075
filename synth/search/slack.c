#include "synth/search/slack.h"

#include <math.h>

static double seconds(const syn_program *p, const syn_instr *in)
{
    double most = 0;
    for (int c = 0; c < p->mesh->n_classes; c++)
        most = fmax(most, in->sec[c]);
    return most;
}

static bool is_home(const ir_graph *g, int value)
{
    int kind = g->tensors.p[value].kind;
    return kind == IR_PARAM || kind == IR_STATE;
}

// A product that goes row by row: it may be in a pair.
static bool goes_by_rows(const syn_program *p, const syn_instr *in)
{
    if (in->n_in < 2 || in->in[0] < 0 || in->in[1] < 0) return false;
    const ir_node *n = &p->g->nodes.p[in->node];
    int x = p->tensors.p[in->in[0]].value, w = p->tensors.p[in->in[1]].value;
    return x >= 0 && w >= 0 &&
           ir_by_rows(n->op, n->attr, p->g->tensors.p[x].rank, p->g->tensors.p[w].rank);
}

// By value: when it is made, when it is first read; both < 0: never. A parameter's update makes it.
// pairs: rows may travel while a product makes them, or reads them.
static double note_times(const syn_program *p, bool pairs, double *made, double *read)
{
    double now = 0;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind != SYN_OP) {
            if (in->kind == SYN_SLICE || in->kind == SYN_PARTIAL) now += seconds(p, in);
            continue;
        }
        double sec = seconds(p, in), beside = pairs && goes_by_rows(p, in) ? sec : 0;
        for (int k = 0; k < in->n_in; k++) {
            int v = p->tensors.p[in->in[k]].value;
            if (v >= 0 && read[v] < 0) read[v] = now + (k == 0 ? beside : 0);
        }
        for (int k = 0; k < in->n_out; k++) {
            int v = p->tensors.p[in->out[k]].value;
            if (v >= 0 && made[v] < 0) made[v] = now + sec - beside;
        }
        now += sec;
    }
    return now;
}

// A number from 0 to 2 for a kind; 1 where nothing is drawn.
static double drawn(int draw, int kind)
{
    const int of[2] = {draw, kind};
    return draw == 0 ? 1 : (double)(hb_hash(of, sizeof of) >> 40) / (double)(1 << 23);
}

syn_slack *syn_slack_of(hb_arena *a, const syn_program *p, const syn_kinds *kinds, syn_hiding how)
{
    int n = p->g->tensors.n;
    double *made = HB_ARRAY(a, double, n + 1), *read = HB_ARRAY(a, double, n + 1),
           *slack = HB_ARRAY(a, double, n + 1), *sum = HB_ARRAY(a, double, kinds->n_tensors + 1);
    int *count = HB_ARRAY(a, int, kinds->n_tensors + 1);
    for (int v = 0; v < n; v++)
        made[v] = read[v] = -1;
    double end = note_times(p, how.pairs, made, read);
    for (int v = 0; v < n; v++) {
        if (is_home(p->g, v))
            slack[v] = fmax(read[v], made[v] < 0 ? 0 : end - made[v]);
        else if (made[v] >= 0)
            slack[v] = (read[v] < 0 ? end : read[v]) - made[v];
        slack[v] = fmax(slack[v], 0);
        sum[kinds->tensor[v]] += slack[v];
        count[kinds->tensor[v]]++;
    }
    for (int v = 0; v < n; v++)
        slack[v] = (how.share > 0 ? how.share : 1) * drawn(how.draw, kinds->tensor[v]) *
                   sum[kinds->tensor[v]] / count[kinds->tensor[v]];
    return hb_copy(a, &(syn_slack){slack, how.price, how.takes, how.share}, sizeof(syn_slack));
}
