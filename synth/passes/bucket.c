// Small all-reduces travel together: a latency paid once instead of once a tensor.
//
// A bucket is a run of all-reduces (same axes and kind; one of other axes may stand between) that
// start before any of them is needed. It grows until latency is at most SYN_LATENCY_SHARE of it (or
// there is SYN_PLENTY to send), and then to the end of the block it is in, so that repeated blocks
// have equal buckets; it starts where its last member would have. Where that would take more than
// SYN_BUCKET_BLOCKS blocks it ends after so many, for a loop whose body is one bucket long; and
// where all there is to send is mostly latency, all is one.
//
// The step waits for the last bucket, whatever hides behind what comes before it. Small buckets are
// those whose last one has been sent soonest (small_buckets.h).

#include "synth/passes/bucket.h"

#include <math.h>
#include <string.h>

#include "synth/passes/small_buckets.h"
#include "synth/price/transport.h"

typedef struct bucket {
    HB_VEC(int) start; // instructions, in order
    int need;          // first WAIT of any member
    int blocks;        // that it has members of
    double bytes;
} bucket;

static bool joins(const syn_instr *in, syn_buckets how)
{
    return in->kind == SYN_START && in->coll == COST_ALL_REDUCE &&
           !(how == SYN_BUCKETS_PUTS_ALONE && cost_is_put(in->form));
}

// All-reduces of one kind may be in one bucket: those of the same axes, in one level or in two.
// Which form of one level is the cheapest for the bucket is asked when it is full.
enum { KINDS = 2 << SYN_MAX_AXES };
static int kind_of(const syn_instr *in)
{
    return (int)in->axes + (in->form == COST_TWO_LEVEL ? KINDS / 2 : 0);
}

static double start_bytes(const syn_program *p, const syn_instr *in)
{
    double sum = 0;
    for (int i = 0; i < in->n_in; i++) {
        const syn_tensor *t = &p->tensors.p[in->in[i]];
        sum += (double)(ir_elements(&p->g->tensors.p[t->value]) * ir_dtype_bytes(t->dtype));
    }
    return sum;
}

// The repeated block a node stands in: its name up to the first number, "h.11" of "h.11.mlp.fc'dw".
static hb_str block_of(const syn_program *p, const syn_instr *in)
{
    hb_str name = p->g->nodes.p[in->node].name;
    for (size_t i = 1; i < name.n; i++) {
        if (name.p[i - 1] != '.' || name.p[i] < '0' || name.p[i] > '9') continue;
        size_t end = i;
        while (end < name.n && name.p[end] >= '0' && name.p[end] <= '9')
            end++;
        if (end == name.n || name.p[end] == '.' || name.p[end] == '\'')
            return (hb_str){name.p, end};
    }
    return (hb_str){"", 0};
}

// The members become one START in the place of the last, whose scratch serves all; so does the
// first WAIT, the others go. Leaves an empty bucket.
static void merge(syn_program *p, bucket *b, const int *wait_of, bool *dead)
{
    int n = 0, pairs = 0, last = b->start.n - 1;
    for (int k = 0; k <= last; k++)
        pairs += p->instr.p[b->start.p[k]].n_in;
    int *in = HB_ARRAY(p->arena, int, pairs), *out = HB_ARRAY(p->arena, int, pairs);
    for (int k = 0; k <= last && last > 0; k++) {
        const syn_instr *s = &p->instr.p[b->start.p[k]];
        for (int i = 0; i < s->n_in; i++, n++) {
            in[n] = s->in[i];
            out[n] = s->out[i];
        }
        if (k < last) dead[b->start.p[k]] = true;
        if (wait_of[b->start.p[k]] != b->need) dead[wait_of[b->start.p[k]]] = true;
    }
    if (last > 0) {
        syn_instr *all = &p->instr.p[b->start.p[last]];
        all->n_in = all->n_out = n;
        all->in = in;
        all->out = out;
        p->instr.p[b->need].start = b->start.p[last];
    }
    b->start.n = b->blocks = 0;
    b->bytes = 0;
}

static bool alike(const syn_instr *x, const syn_instr *y)
{
    return x->reduce_max == y->reduce_max && x->turn == y->turn;
}

// Which of the all-reduces of one kind are the last ones of small buckets.
static void end_small(syn_program *p, const syn_costs *c, const int *wait_of, int kind,
                      syn_buckets how, bool *ends)
{
    hb_arena *a = hb_arena_new();
    int *at = HB_ARRAY(a, int, p->instr.n), n = 0;
    syn_message *m = HB_ARRAY(a, syn_message, p->instr.n);
    syn_transfer *list = HB_ARRAY(a, syn_transfer, p->instr.n);
    double now[CL_MAX_CLASSES] = {0}, alone = 0, least = HUGE_VAL;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        for (int k = 0; in->kind != SYN_START && k < p->mesh->n_classes; k++)
            now[k] += in->sec[k];
        if (!joins(in, how) || kind_of(in) != kind) continue;
        m[n] = (syn_message){.alone = in->sec[0], .first = n > 0 ? m[n - 1].first : 0};
        for (int k = 0; k < p->mesh->n_classes; k++)
            m[n].made = fmax(m[n].made, now[k]);
        for (int k = n - 1; k >= m[n].first; k--) // those that are needed before, or unlike
            if (wait_of[at[k]] < i || !alike(&p->instr.p[at[k]], in)) m[n].first = k + 1;
        list[n] = *syn_transfers(a, p, in);
        alone += in->sec[0];
        least = fmin(least, in->sec[0]);
        at[n++] = i;
    }
    if (n > 1) {
        const syn_instr *first = &p->instr.p[at[0]];
        syn_move move = syn_move_of(first);
        double all = syn_instr_times(p, first) * syn_list_seconds(c, &move, list, n);
        double saved = fmin(fmax((alone - all) / (n - 1), 0), least);
        bool *last = HB_ARRAY(a, bool, n);
        (void)syn_small_buckets(&(syn_messages){n, m, saved}, SYN_SAME_PLACE, last);
        for (int i = 0; i < n; i++)
            ends[at[i]] = last[i];
    }
    hb_arena_free(a);
}

// May the all-reduce follow the last one of the bucket?
static bool follows(const syn_program *p, const bucket *b, int i, double least)
{
    const syn_instr *in = &p->instr.p[i], *prev = &p->instr.p[b->start.p[b->start.n - 1]];
    if (b->need < i || !alike(prev, in)) return false;
    bool full = b->bytes >= least || (b->blocks >= SYN_BUCKET_BLOCKS && least < HUGE_VAL);
    return !full || hb_str_eq(block_of(p, prev), block_of(p, in));
}

static void add(const syn_program *p, bucket *b, int i, int wait)
{
    const syn_instr *in = &p->instr.p[i];
    int n = b->start.n;
    if (n == 0 || !hb_str_eq(block_of(p, &p->instr.p[b->start.p[n - 1]]), block_of(p, in)))
        b->blocks++;
    b->need = n > 0 && b->need < wait ? b->need : wait;
    b->bytes += start_bytes(p, in);
    HB_PUSH(p->arena, &b->start, i);
}

void syn_bucket(syn_program *p, syn_costs *c, const syn_slack *slack, syn_buckets how)
{
    hb_arena *scratch = hb_arena_new();
    int n = p->instr.n, *wait_of = HB_ARRAY(scratch, int, n), *to = HB_ARRAY(scratch, int, n);
    bool *dead = HB_ARRAY(scratch, bool, n), *ends = HB_ARRAY(scratch, bool, n);
    bucket open[KINDS] = {{.blocks = 0}};
    double all[KINDS] = {0}, least[KINDS] = {0};
    for (int i = 0; i < n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind == SYN_WAIT)
            wait_of[in->start] = i;
        else if (joins(in, how))
            all[kind_of(in)] += start_bytes(p, in);
    }
    // Where there is much to send, one more latency at the end of a block is nothing.
    for (int k = 0; k < KINDS; k++) {
        if (all[k] <= 0) continue;
        unsigned axes = (unsigned)k % (KINDS / 2);
        cl_link link = syn_axes_link(c, axes);
        // The slow link joins machines alone where they are summed apart.
        int members = k < KINDS / 2 ? syn_group_size(p->mesh, axes) : p->mesh->size[0];
        double lost = link.latency * link.bandwidth * members, enough = lost / SYN_LATENCY_SHARE;
        least[k] = all[k] > SYN_PLENTY * enough ? 0 : all[k] <= enough ? HUGE_VAL : enough;
        if (how != SYN_BUCKETS) end_small(p, c, wait_of, k, how, ends);
    }
    for (int i = 0; i < n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (!joins(in, how)) continue;
        bucket *b = &open[kind_of(in)];
        double full = how == SYN_BUCKETS ? least[kind_of(in)] : HUGE_VAL;
        if (b->start.n > 0 && !follows(p, b, i, full)) merge(p, b, wait_of, dead);
        add(p, b, i, wait_of[i]);
        if (ends[i]) merge(p, b, wait_of, dead);
    }
    for (int kind = 0; kind < KINDS; kind++)
        merge(p, &open[kind], wait_of, dead);
    int k = 0;
    for (int i = 0; i < n; i++) {
        to[i] = k;
        if (!dead[i]) p->instr.p[k++] = p->instr.p[i];
    }
    p->instr.n = k;
    for (int i = 0; i < k; i++)
        if (p->instr.p[i].kind == SYN_WAIT) p->instr.p[i].start = to[p->instr.p[i].start];
    for (int i = 0; i < k; i++) {
        syn_instr *in = &p->instr.p[i];
        if (in->kind == SYN_START && in->n_in > 1) syn_choose_form(p, c, slack, in);
    }
    syn_drop_scratch(p);
    syn_place_sym(p);
    hb_arena_free(scratch);
}
