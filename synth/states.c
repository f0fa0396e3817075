// States of a tensor on the axis and the all-pairs price of moving between them.
//
// Direct conversions are priced one by one; the rest by shortest paths (Floyd-Warshall; lists have
// at most SYN_MAX_STATES entries and are shared by all tensors of one signature).

#include "synth/states.h"

#include <math.h>
#include <string.h>

static int64_t dim_before(const ir_factors *f, int tensor, int dim, int pos)
{
    int64_t n = 1;
    for (int p = 0; p < pos; p++)
        n *= f->cls[f->dim[tensor][dim].cls[p]].size;
    return n;
}

static bool state_leads(const syn_space *s, int tensor, const syn_axis_state *x)
{
    int64_t before = dim_before(s->f, tensor, x->dim, x->pos);
    for (int d = 0; d < x->dim; d++)
        before *= s->g->tensors.p[tensor].dim[d];
    return before == 1;
}

static double tensor_bytes(const syn_space *s, int tensor)
{
    const ir_tensor *t = &s->g->tensors.p[tensor];
    return (double)ir_elements(t) * (double)ir_dtype_bytes(t->dtype);
}

static double share_max(const syn_space *s, const syn_axis_state *x, int cls)
{
    if (x->kind != SYN_S) return 1;
    const syn_cut *c = &s->mesh->cuts.p[x->cut];
    int64_t most = 0;
    for (int r = 0; r < s->mesh->n_ranks; r++)
        if (s->mesh->class_of[r] == cls && c->table[r] > most) most = c->table[r];
    return (double)most / (double)c->size;
}

double syn_local_copy_seconds(const cost_model *m, const syn_mesh *mesh, int cls, double bytes)
{
    int k = mesh->cluster_class[cls];
    return cost_memory(m, k, 2 * bytes) + cost_launch(m, k);
}

static double pack_bandwidth(const syn_space *s)
{
    double worst = HUGE_VAL;
    for (int c = 0; c < s->mesh->n_classes; c++) {
        double b = s->m->cluster->cls[s->mesh->cluster_class[c]].memory_bandwidth;
        worst = b < worst ? b : worst;
    }
    return worst;
}

static double local_seconds(const syn_space *s, const syn_axis_state *to, double bytes)
{
    double sec = 0;
    for (int c = 0; c < s->mesh->n_classes; c++)
        sec += s->weight[c] * syn_local_copy_seconds(s->m, s->mesh, c, bytes * share_max(s, to, c));
    return sec;
}

static syn_step collective(const syn_space *s, cost_coll kind, const cost_shards *sh, double *sec)
{
    syn_step step = {.kind = SYN_STEP_COLL, .coll = kind, .shards = *sh};
    step.form = cost_best_form(kind, sh, s->link, pack_bandwidth(s), sec);
    *sec *= s->weight_comm;
    return step;
}

// HAP's instructions: slice, all-gather, reduce-scatter, all-reduce, all-to-all between dims. None
// takes a parameter; a gradient is all-reduced or not at all.
static bool hap_moves(const syn_space *s, int tensor, const syn_axis_state *a,
                      const syn_axis_state *b)
{
    if (s->part[tensor] == SYN_PART_PARAM) return false;
    if (s->part[tensor] == SYN_PART_GRAD) return a->kind == SYN_P && b->kind == SYN_R;
    return b->kind != SYN_P && (a->kind != SYN_S || b->kind != SYN_S || a->dim != b->dim);
}

syn_step syn_step_between(const syn_space *s, int tensor, const syn_states *st, int i, int j,
                          double *sec)
{
    const syn_axis_state *a = &st->s[i], *b = &st->s[j];
    cost_shards sh = {.n = s->mesh->n_ranks, .bytes = tensor_bytes(s, tensor)};
    *sec = HUGE_VAL;
    syn_step none = {.kind = SYN_STEP_NONE};
    if (i == j || (s->part && !hap_moves(s, tensor, a, b))) return none;
    if (a->kind == SYN_R) {
        if (b->kind == SYN_P && b->reducer != 's') return none; // zeros are no neutral element
        *sec = local_seconds(s, b, sh.bytes);
        return (syn_step){.kind = b->kind == SYN_S ? SYN_STEP_SLICE : SYN_STEP_PARTIAL};
    }
    if (a->kind == SYN_P) {
        syn_step step;
        if (b->kind == SYN_R) {
            step = collective(s, COST_ALL_REDUCE, &sh, sec);
        } else if (b->kind == SYN_S && a->reducer == 's') {
            sh.table = s->mesh->cuts.p[b->cut].table;
            sh.leading = state_leads(s, tensor, b);
            step = collective(s, COST_REDUCE_SCATTER, &sh, sec);
        } else {
            return none;
        }
        step.reduce_max = a->reducer == 'm';
        return step;
    }
    sh.table = s->mesh->cuts.p[a->cut].table;
    sh.leading = state_leads(s, tensor, a);
    if (b->kind == SYN_R) return collective(s, COST_ALL_GATHER, &sh, sec);
    if (b->kind != SYN_S) return none;
    sh.table2 = s->mesh->cuts.p[b->cut].table;
    sh.leading2 = state_leads(s, tensor, b);
    if (a->dim == b->dim && a->pos == b->pos) return collective(s, COST_RECUT, &sh, sec);
    if (a->dim != b->dim) return collective(s, COST_ALL_TO_ALL, &sh, sec);
    return none;
}

static bool is_float(ir_dtype t)
{
    return t == IR_F32 || t == IR_BF16 || t == IR_F16;
}

static char partial_of(const syn_space *s, int tensor)
{
    const ir_tensor *t = &s->g->tensors.p[tensor];
    if (t->producer >= 0 && s->f->rule[t->producer].reducer[t->out] == 'm') return 'm';
    return is_float(t->dtype) ? 's' : 0;
}

static void list_states(const syn_space *s, int tensor, syn_states *st, syn_axis_state *buf)
{
    const ir_tensor *t = &s->g->tensors.p[tensor];
    st->n = 0;
    buf[st->n++] = (syn_axis_state){.kind = SYN_R, .cut = -1};
    char red = partial_of(s, tensor);
    if (red) buf[st->n++] = (syn_axis_state){.kind = SYN_P, .reducer = (uint8_t)red, .cut = -1};
    for (int d = 0; d < t->rank; d++) {
        const ir_dim_factors *df = &s->f->dim[tensor][d];
        for (int p = 0; p < df->n; p++) {
            if (!s->cuttable[df->cls[p]]) continue;
            const struct syn_palette_group *q =
                &s->palette->group[s->palette->group_of[df->cls[p]]];
            for (int c = 0; c < q->n && st->n < SYN_MAX_STATES; c++)
                buf[st->n++] = (syn_axis_state){
                    .kind = SYN_S, .dim = (uint8_t)d, .pos = (uint8_t)p, .cut = (int16_t)q->cut[c]};
        }
    }
}

uint64_t syn_tensor_signature(const syn_space *s, int tensor)
{
    const ir_tensor *t = &s->g->tensors.p[tensor];
    int64_t key[4 + IR_MAX_RANK * (IR_MAX_FACTORS * 2 + 1)];
    int n = 0;
    key[n++] = t->dtype;
    key[n++] = t->rank;
    key[n++] = partial_of(s, tensor);
    key[n++] = s->part ? s->part[tensor] : 0;
    for (int d = 0; d < t->rank; d++) {
        const ir_dim_factors *df = &s->f->dim[tensor][d];
        key[n++] = df->n;
        for (int p = 0; p < df->n; p++) {
            key[n++] = s->f->cls[df->cls[p]].size;
            key[n++] = s->cuttable[df->cls[p]] ? s->palette->group_of[df->cls[p]] : -1;
        }
    }
    return hb_hash_key(key, sizeof *key * (size_t)n);
}

syn_states *syn_states_build(hb_arena *a, const syn_space *s, int tensor)
{
    syn_axis_state buf[SYN_MAX_STATES];
    syn_states *st = HB_NEW(a, syn_states);
    list_states(s, tensor, st, buf);
    int n = st->n;
    st->s = hb_copy(a, buf, sizeof *buf * (size_t)n);
    st->cost = HB_ARRAY(a, double, n *n);
    st->via = HB_ARRAY(a, int16_t, n * n);
    st->bytes = HB_ARRAY(a, double, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sec = 0;
            if (i != j) (void)syn_step_between(s, tensor, st, i, j, &sec);
            st->cost[i * n + j] = sec;
            st->via[i * n + j] = (int16_t)j;
        }
    // HAP: one instruction a conversion.
    for (int k = 0; k < n && s->strategy != SYN_HAP; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                if (st->cost[i * n + k] + st->cost[k * n + j] < st->cost[i * n + j] * (1 - 1e-12)) {
                    st->cost[i * n + j] = st->cost[i * n + k] + st->cost[k * n + j];
                    st->via[i * n + j] = st->via[i * n + k];
                }
    if (s->memory_price)
        for (int i = 0; i < n; i++)
            for (int c = 0; c < s->mesh->n_classes; c++)
                st->bytes[i] +=
                    s->memory_price[c] * tensor_bytes(s, tensor) * share_max(s, &st->s[i], c);
    return st;
}

int syn_states_find(const syn_states *st, const syn_axis_state *x)
{
    for (int i = 0; i < st->n; i++) {
        const syn_axis_state *y = &st->s[i];
        if (x->kind == y->kind &&
            (x->kind == SYN_R || (x->kind == SYN_P && x->reducer == y->reducer) ||
             (x->kind == SYN_S && x->dim == y->dim && x->pos == y->pos && x->cut == y->cut)))
            return i;
    }
    return -1;
}
