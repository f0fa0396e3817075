// Which form each collective of a program has, and where its buffers lie for it.
//
// What a transport writes from another rank lies in SEG_SYM, as large on every rank as on the class
// that needs most: dst of an all-gather or all-to-all by one-sided puts, scratch of a
// reduce-scatter, both of an all-reduce. The source of an all-reduce lies there too, so that it can
// be done in place; so do views of such buffers, which are the same bytes.

#include "synth/price/transport.h"

#include <math.h>
#include <string.h>

syn_transfer *syn_transfers(hb_arena *a, const syn_program *p, const syn_instr *in)
{
    syn_transfer *list = HB_ARRAY(a, syn_transfer, in->n_in);
    for (int i = 0; i < in->n_in; i++) {
        const syn_tensor *from = &p->tensors.p[in->in[i]], *to = &p->tensors.p[in->out[i]];
        list[i] = (syn_transfer){from->value, from->dtype, from->state, to->state};
    }
    return list;
}

syn_move syn_move_of(const syn_instr *in)
{
    return (syn_move){.kind = SYN_MOVE_COLL,
                      .axes = in->axes,
                      .coll = in->coll,
                      .reduce_max = in->reduce_max,
                      .form = in->form};
}

uint64_t syn_move_key(const syn_program *p, const syn_instr *in)
{
    const syn_tensor *from = &p->tensors.p[in->in[0]], *to = &p->tensors.p[in->out[0]];
    const ir_tensor *t = &p->g->tensors.p[from->value];
    int64_t key[8 + 2 * IR_MAX_RANK + 12];
    int n = 0;
    key[n++] = (int64_t)in->coll << 32 | (int64_t)in->form << 8 | (int64_t)in->axes;
    key[n++] = ir_dtype_bytes(from->dtype);
    for (int d = 0; d < t->rank; d++)
        key[n++] = t->dim[d];
    for (int side = 0; side < 2; side++)
        for (int x = 0; x < p->mesh->n_axes; x++) {
            const syn_axis_state *s = &(side ? to : from)->state.ax[x];
            key[n++] = s->kind;
            if (s->kind != SYN_S) continue;
            key[n++] = (int64_t)s->dim << 32 | s->pos;
            key[n++] = s->cut;
            // What stands before the factor in its dim decides whether it leads.
            key[n++] = s->pos > 0 ? p->f->cls[p->f->dim[from->value][s->dim].cls[0]].size : 0;
        }
    return hb_hash_key(key, sizeof *key * (size_t)n);
}

int64_t syn_scratch_bytes(const syn_program *p, const syn_costs *c, const syn_instr *in)
{
    hb_arena *scratch = hb_arena_new();
    syn_move move = syn_move_of(in);
    int64_t bytes = syn_list_scratch(c, &move, syn_transfers(scratch, p, in), in->n_in);
    hb_arena_free(scratch);
    return bytes;
}

static void set_scratch(syn_program *p, syn_instr *in, int64_t bytes)
{
    if (bytes == 0) {
        in->scratch = -1;
        return;
    }
    if (in->scratch < 0) {
        syn_tensor t = {.value = -1, .role = SYN_ROLE_SCRATCH, .dtype = IR_F32, .family = -1};
        HB_PUSH(p->arena, &p->tensors, t);
        in->scratch = p->tensors.n - 1;
    }
    for (int k = 0; k < p->mesh->n_classes; k++)
        p->tensors.p[in->scratch].bytes[k] = bytes;
}

// The tensor of a list that must come first.
static int least_slack(const syn_program *p, const syn_slack *slack, const syn_instr *in)
{
    int least = p->tensors.p[in->in[0]].value;
    for (int i = 1; slack && i < in->n_in; i++) {
        int v = p->tensors.p[in->in[i]].value;
        if (slack->sec[v] < slack->sec[least]) least = v;
    }
    return least;
}

void syn_choose_form(syn_program *p, const syn_costs *c, const syn_slack *slack, syn_instr *in)
{
    hb_arena *scratch = hb_arena_new();
    cost_forms x;
    syn_move move = syn_move_of(in);
    syn_list_forms(c, &move, syn_transfers(scratch, p, in), in->n_in, &x);
    int first = least_slack(p, slack, in);
    cost_forms priced = x;
    for (int f = 0; f < x.n; f++)
        priced.sec[f] = (x.form[f] == COST_TWO_LEVEL) != (in->form == COST_TWO_LEVEL)
                            ? HUGE_VAL
                            : syn_sending_seconds(c, in->axes, cost_is_put(x.form[f]), x.sec[f],
                                                  syn_taking(slack), first);
    int best = cost_cheapest(&priced);
    in->form = x.form[best];
    in->sec[0] = syn_instr_times(p, in) * x.sec[best];
    set_scratch(p, in, syn_scratch_bytes(p, c, in));
    hb_arena_free(scratch);
}

void syn_set_form(syn_program *p, const syn_costs *c, syn_instr *in, cost_form form)
{
    in->form = form;
    hb_arena *scratch = hb_arena_new();
    syn_move move = syn_move_of(in);
    in->sec[0] = syn_instr_times(p, in) *
                 syn_list_seconds(c, &move, syn_transfers(scratch, p, in), in->n_in);
    set_scratch(p, in, syn_scratch_bytes(p, c, in));
    hb_arena_free(scratch);
}

bool syn_has_puts(const syn_program *p)
{
    for (int i = 0; i < p->instr.n; i++)
        if (p->instr.p[i].kind == SYN_START && cost_is_put(p->instr.p[i].form)) return true;
    return false;
}

// The form of the library that takes the least scratch, the cheapest of those; and its scratch.
static cost_form smallest_form(syn_program *p, const syn_costs *c, const syn_instr *in,
                               int64_t *bytes, double *seconds)
{
    hb_arena *scratch = hb_arena_new();
    const syn_transfer *list = syn_transfers(scratch, p, in);
    syn_move move = syn_move_of(in);
    int best = -1;
    cost_forms x;
    syn_list_forms(c, &move, list, in->n_in, &x);
    for (int f = 0; f < x.n; f++) {
        if (cost_is_put(x.form[f]) || isinf(x.sec[f])) continue;
        move.form = x.form[f];
        int64_t takes = syn_list_scratch(c, &move, list, in->n_in);
        if (best >= 0 && (takes > *bytes || (takes == *bytes && x.sec[f] >= x.sec[best]))) continue;
        best = f;
        *bytes = takes;
    }
    hb_assert(best >= 0);
    *seconds = syn_instr_times(p, in) * x.sec[best];
    hb_arena_free(scratch);
    return x.form[best];
}

// The same, asked once for equal moves.
typedef struct small {
    cost_form form;
    int64_t bytes;
    double sec;
} small;

typedef struct smalls {
    hb_arena *arena;
    hb_map *at;
    HB_VEC(small) known;
} smalls;

static small find_smallest(smalls *k, syn_program *p, const syn_costs *c, const syn_instr *in)
{
    uint64_t h = syn_move_key(p, in) + (uint64_t)in->turn;
    hb_str key = {(const char *)&h, sizeof h};
    int at = in->n_in == 1 ? hb_map_get(k->at, key) : -1;
    if (at >= 0) return k->known.p[at];
    small x = {.bytes = 0};
    x.form = smallest_form(p, c, in, &x.bytes, &x.sec);
    if (in->n_in == 1) hb_map_put(k->at, hb_str_n(k->arena, key.p, key.n), k->known.n);
    HB_PUSH(k->arena, &k->known, x);
    return x;
}

// Bytes that a destination in SEG_SYM takes on the class with the smallest part, beyond that part.
static int64_t uneven_bytes(const syn_program *p, const syn_instr *in)
{
    int64_t sum = 0;
    for (int i = 0; i < in->n_out; i++) {
        const int64_t *bytes = p->tensors.p[in->out[i]].bytes;
        int64_t most = bytes[0], least = bytes[0];
        for (int k = 1; k < p->mesh->n_classes; k++) {
            most = bytes[k] > most ? bytes[k] : most;
            least = bytes[k] < least ? bytes[k] : least;
        }
        sum += most - least;
    }
    return sum;
}

bool syn_spare_scratch(syn_program *p, const syn_costs *c)
{
    bool any = false;
    hb_arena *arena = hb_arena_new();
    smalls known = {.arena = arena, .at = hb_map_new(arena)};
    for (int i = 0; i < p->instr.n; i++) {
        syn_instr *in = &p->instr.p[i];
        if (in->kind != SYN_START || !cost_is_put(in->form)) continue;
        int64_t mine = in->scratch >= 0 ? p->tensors.p[in->scratch].bytes[0] : 0;
        if (in->coll != COST_REDUCE_SCATTER) mine += uneven_bytes(p, in);
        small x = find_smallest(&known, p, c, in);
        if (x.bytes >= mine) continue;
        in->form = x.form;
        in->sec[0] = x.sec;
        set_scratch(p, in, x.bytes);
        any = true;
    }
    hb_arena_free(arena);
    if (!any) return false;
    syn_drop_scratch(p);
    syn_place_sym(p);
    return true;
}

// --- segments ---

static bool same_bytes(const syn_program *p, const syn_tensor *x, const syn_tensor *y)
{
    return memcmp(x->bytes, y->bytes, sizeof *x->bytes * (size_t)p->mesh->n_classes) == 0;
}

// Two buffers that may be the same bytes: what is true of one becomes true of the other.
static void share(syn_program *p, int from, int to)
{
    syn_tensor *x = &p->tensors.p[from], *y = &p->tensors.p[to];
    if (x->sym && y->role == SYN_ROLE_VALUE && same_bytes(p, x, y)) y->sym = true;
}

static bool is_view(const syn_program *p, const syn_instr *in)
{
    return in->kind == SYN_OP && ir_op_of(p->g->nodes.p[in->node].op)->flags & IR_ZERO_COPY;
}

void syn_drop_scratch(syn_program *p)
{
    int n = 0, *to = HB_ARRAY(p->arena, int, p->tensors.n + 1);
    for (int i = 0; i < p->instr.n; i++)
        if (p->instr.p[i].kind == SYN_START && p->instr.p[i].scratch >= 0)
            to[p->instr.p[i].scratch] = 1;
    for (int t = 0; t < p->tensors.n; t++) {
        bool kept = p->tensors.p[t].role != SYN_ROLE_SCRATCH || to[t];
        to[t] = kept ? n : -1;
        if (kept) p->tensors.p[n++] = p->tensors.p[t];
    }
    if (n == p->tensors.n) return;
    p->tensors.n = n;
    for (int i = 0; i < p->instr.n; i++) {
        syn_instr *in = &p->instr.p[i];
        for (int k = 0; k < in->n_in; k++)
            if (in->in[k] >= 0) in->in[k] = to[in->in[k]];
        for (int k = 0; k < in->n_out; k++)
            in->out[k] = to[in->out[k]];
        if (in->kind == SYN_START && in->scratch >= 0) in->scratch = to[in->scratch];
    }
    for (int t = 0; t < p->g->tensors.n; t++) {
        if (p->home[t] >= 0) p->home[t] = to[p->home[t]];
        if (p->grad[t] >= 0) p->grad[t] = to[p->grad[t]];
    }
    if (p->loss >= 0) p->loss = to[p->loss];
}

void syn_place_sym(syn_program *p)
{
    for (int t = 0; p->has_sym && t < p->tensors.n; t++)
        p->tensors.p[t].sym = false;
    p->has_sym = syn_has_puts(p);
    if (!p->has_sym) return;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind != SYN_START || !cost_is_put(in->form)) continue;
        for (int k = 0; k < in->n_out && in->coll != COST_REDUCE_SCATTER; k++)
            p->tensors.p[in->out[k]].sym = true;
        if (in->scratch >= 0) p->tensors.p[in->scratch].sym = true;
        for (int k = 0; k < in->n_in && in->coll == COST_ALL_REDUCE; k++)
            share(p, in->out[k], in->in[k]);
    }
    for (int i = p->instr.n - 1; i >= 0; i--)
        if (is_view(p, &p->instr.p[i])) share(p, p->instr.p[i].out[0], p->instr.p[i].in[0]);
    for (int i = 0; i < p->instr.n; i++)
        if (is_view(p, &p->instr.p[i])) share(p, p->instr.p[i].in[0], p->instr.p[i].out[0]);
}
