// Faults of a stage's calls: of what it sends and receives, of the values that wait in its ring,
// of its sums and weights.

#include "tests/certify/mutate_stages_parts.h"

static const record *calls(const sf *x, int s)
{
    return x->rec[s];
}

static const rec_call *call(const sf *x, int s, int c)
{
    return &x->rec[s]->calls.p[c];
}

static void move_call(mut *m, int from, int to) // ahead of what stands there
{
    rec_call k = *mut_call(m, from);
    mut_insert_call(m, to, k);
    mut_remove_call(m, from < to ? from : from + 1);
}

static bool reads(const rec_call *k, int b)
{
    for (int i = 0; i < k->n_in && k->kind >= REC_OP; i++)
        if (k->in[i] == b) return true;
    return false;
}

static bool writes(const rec_call *k, int b)
{
    for (int i = 0; i < k->n_out; i++)
        if (k->out[i] == b) return true;
    return false;
}

// --- ports ---

// An end, one after the other: its stage as of x, and which call it is; -1.
static int an_end(sf *x, unsigned end)
{
    for (int s = 0; s < x->was->n; s++)
        for (int c = 0; c < calls(x, s)->calls.n; c++)
            if (sf_is_end(call(x, s, c), end) && sf_here(x, s)) return c;
    return -1;
}

static bool dropped(sf *x, unsigned end)
{
    int c = an_end(x, end);
    if (c >= 0) mut_remove_call(sf_calls(x, x->stage), c);
    return c >= 0;
}

static bool twice(sf *x, unsigned end)
{
    int c = an_end(x, end);
    if (c >= 0) mut_insert_call(sf_calls(x, x->stage), c + 1, *call(x, x->stage, c));
    return c >= 0;
}

static bool one_more(sf *x, unsigned end, const char *attr)
{
    int c = an_end(x, end);
    if (c >= 0)
        sf_set_attr(sf_calls(x, x->stage), c, attr, sf_attr(call(x, x->stage, c), attr) + 1);
    return c >= 0;
}

bool sf_send_dropped(sf *x)
{
    return dropped(x, IR_SEND);
}

bool sf_recv_dropped(sf *x)
{
    return dropped(x, IR_RECV);
}

bool sf_send_twice(sf *x)
{
    return twice(x, IR_SEND);
}

bool sf_recv_twice(sf *x)
{
    return twice(x, IR_RECV);
}

bool sf_send_port(sf *x)
{
    return one_more(x, IR_SEND, "port");
}

bool sf_recv_port(sf *x)
{
    return one_more(x, IR_RECV, "port");
}

bool sf_send_message(sf *x)
{
    return one_more(x, IR_SEND, "first");
}

bool sf_recv_message(sf *x)
{
    return one_more(x, IR_RECV, "first");
}

// Two messages of the same number and unlike values, by ports with as many of them.
bool sf_sends_traded(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int c = 0; c < calls(x, s)->calls.n; c++)
            for (int d = 0; d < c; d++) {
                const rec_call *k = call(x, s, c), *o = call(x, s, d);
                if (!sf_is_end(k, IR_SEND) || !sf_is_end(o, IR_SEND)) continue;
                int64_t one = sf_attr(k, "port"), other = sf_attr(o, "port");
                const ir_port *p = x->was->cut->ports.p;
                if (one == other || sf_attr(k, "first") != sf_attr(o, "first") ||
                    ir_in_slot(p[one].turn) != ir_in_slot(p[other].turn))
                    continue;
                uint64_t value = mut_walk(sf_calls(x, s), c)[k->in[0]];
                if (value == mut_walk(sf_calls(x, s), d)[o->in[0]] || !sf_here(x, s)) continue;
                sf_set_attr(sf_calls(x, s), c, "port", other);
                sf_set_attr(sf_calls(x, s), d, "port", one);
                return true;
            }
    return false;
}

static bool same_end(const rec_call *k, const rec_call *o)
{
    return k->kind == REC_OP && k->op == o->op && sf_attr(k, "port") == sf_attr(o, "port");
}

bool sf_send_late(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int c = 0; c < calls(x, s)->calls.n; c++) {
            const rec_call *k = call(x, s, c);
            if (!sf_is_end(k, IR_SEND)) continue;
            int w = c + 1, n = calls(x, s)->calls.n;
            while (w < n && !writes(call(x, s, w), k->in[0]) && !same_end(call(x, s, w), k))
                w++;
            if (w == n || same_end(call(x, s, w), k) || call(x, s, w)->kind != REC_OP ||
                !sf_here(x, s))
                continue;
            move_call(sf_calls(x, s), c, w + 1);
            return true;
        }
    return false;
}

bool sf_recv_early(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int c = 0; c < calls(x, s)->calls.n; c++) {
            const rec_call *k = call(x, s, c);
            if (!sf_is_end(k, IR_RECV)) continue;
            int r = c - 1;
            while (r > 0 && !reads(call(x, s, r), k->out[0]) && !same_end(call(x, s, r), k))
                r--;
            if (r <= 0 || same_end(call(x, s, r), k) || call(x, s, r)->kind != REC_OP) continue;
            if (!sf_calls(x, s)->needed[r] || !sf_here(x, s)) continue;
            move_call(sf_calls(x, s), c, r);
            return true;
        }
    return false;
}

// What comes back is made of what goes: by ports that join the same two stages.
bool sf_calls_circle(sf *x)
{
    const ir_port *p = x->was->cut->ports.p;
    for (int s = 0; s < x->was->n; s++)
        for (int c = 0; c < calls(x, s)->calls.n; c++) {
            const rec_call *k = call(x, s, c);
            if (!sf_is_end(k, IR_SEND) || p[sf_attr(k, "port")].turn != IR_SLOT) continue;
            int d = c + 1, n = calls(x, s)->calls.n, to = p[sf_attr(k, "port")].to;
            for (; d < n; d++) {
                const rec_call *o = call(x, s, d);
                if (sf_is_end(o, IR_RECV) && p[sf_attr(o, "port")].from == to &&
                    p[sf_attr(o, "port")].turn == IR_SLOT_BACK)
                    break;
            }
            if (d == n || sf_attr(call(x, s, d), "first") != sf_attr(k, "first") || !sf_here(x, s))
                continue;
            move_call(sf_calls(x, s), d, c);
            return true;
        }
    return false;
}

bool sf_stages_traded(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int t = 0; t < s; t++) {
            if (!sf_here(x, -1)) continue;
            mut one = *sf_calls(x, s);
            x->calls[s] = *sf_calls(x, t);
            x->calls[t] = one;
            return true;
        }
    return false;
}

// --- what waits in the ring ---

// The buffer of the same tensor in another place of the ring than that of b; -1: it is not in it.
static int other_place(const syn_program *p, int b)
{
    int n_ring = 0, nth = -1;
    for (int t = 0; t < p->tensors.n; t++) {
        if (t == b && p->tensors.p[t].ring) nth = n_ring;
        n_ring += p->tensors.p[t].ring;
    }
    if (p->g->depth < 2 || p->order.n == 0) return -1;
    if (b < p->tensors.n) return nth < 0 ? -1 : p->tensors.n + nth;
    if (b >= p->tensors.n + n_ring) return b - n_ring;
    for (int t = 0, k = b - p->tensors.n; t < p->tensors.n; t++)
        if (p->tensors.p[t].ring && k-- == 0) return t;
    return -1;
}

bool sf_ring_read(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int c = 0; c < calls(x, s)->calls.n; c++) {
            const rec_call *k = call(x, s, c);
            for (int i = 0; k->kind == REC_OP && i < k->n_in; i++) {
                int o = k->in[i] < 0 ? -1 : other_place(x->was->stage[s].program, k->in[i]);
                if (o < 0 || mut_in_place(k) || !sf_calls(x, s)->needed[c]) continue;
                const uint64_t *term = mut_walk(sf_calls(x, s), c);
                if (term[o] == term[k->in[i]] || !sf_here(x, s)) continue;
                mut_call(sf_calls(x, s), c)->in[i] = o;
                return true;
            }
        }
    return false;
}

bool sf_ring_written(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int c = 0; c < calls(x, s)->calls.n; c++) {
            const rec_call *k = call(x, s, c);
            for (int i = 0; k->kind == REC_OP && i < k->n_out; i++) {
                int b = k->out[i], o = other_place(x->was->stage[s].program, b);
                bool view = (ir_op_of((ir_op)k->op)->flags & IR_ZERO_COPY) != 0;
                if (o < 0 || view || mut_in_place(k) || mut_reader(sf_calls(x, s), b, c + 1) < 0)
                    continue;
                uint64_t was = mut_walk(sf_calls(x, s), c)[b];
                if (was == mut_walk(sf_calls(x, s), c + 1)[b] || !sf_here(x, s)) continue;
                mut_call(sf_calls(x, s), c)->out[i] = o;
                return true;
            }
        }
    return false;
}

// A buffer's last cut, of which two shares differ; NULL.
static const rec_dim *uneven(const rec_tensor *t, int *i)
{
    for (int d = t->rank - 1; d >= 0; d--)
        for (*i = 1; t->dim[d].axis >= 0 && *i < t->dim[d].n_table; (*i)++)
            if (t->dim[d].table[*i] != t->dim[d].table[*i - 1]) return &t->dim[d];
    return NULL;
}

// Of an op that has another buffer with this cut.
bool sf_ring_shares(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int b = x->was->stage[s].program->tensors.n; b < calls(x, s)->tensors.n; b++) {
            int i, c = 0, n = calls(x, s)->calls.n;
            const rec_tensor *t = calls(x, s)->tensors.p;
            const rec_dim *cut = uneven(&t[b], &i);
            while (cut && c < n && (call(x, s, c)->kind != REC_OP || !writes(call(x, s, c), b)))
                c++;
            if (!cut || c == n || call(x, s, c)->n_in == 0 || call(x, s, c)->in[0] == b ||
                mut_axis_cut(&t[call(x, s, c)->in[0]], cut->axis) < 0 || !sf_here(x, s))
                continue;
            rec_dim *d = &sf_calls(x, s)->r->tensors.p[b].dim[cut - t[b].dim];
            d->table = hb_copy(x->a, d->table, sizeof *d->table * (size_t)d->n_table);
            int64_t share = d->table[i];
            d->table[i] = d->table[i - 1];
            d->table[i - 1] = share;
            return true;
        }
    return false;
}

// --- sums over micro-batches ---

static bool adds_up(const rec_call *k)
{
    return k->kind == REC_OP && k->op == IR_OP_add && k->out[0] == k->in[0];
}

// The first part of the sum that call c begins; -1: it begins none.
static int first_part(const sf *x, int s, int c)
{
    const rec_call *k = call(x, s, c);
    if (k->kind != REC_OP || k->op != IR_OP_full) return -1;
    for (int i = c + 1; i < calls(x, s)->calls.n; i++) {
        if (adds_up(call(x, s, i)) && call(x, s, i)->out[0] == k->out[0]) return i;
        if (reads(call(x, s, i), k->out[0]) || writes(call(x, s, i), k->out[0])) return -1;
    }
    return -1;
}

// The beginning of a sum, or a part of one: its stage as of x, and which call it is; -1.
static int a_zero(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int c = 0; c < calls(x, s)->calls.n; c++)
            if (first_part(x, s, c) >= 0 && sf_here(x, s)) return c;
    return -1;
}

static int a_part(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int c = 0; c < calls(x, s)->calls.n; c++)
            if (adds_up(call(x, s, c)) && sf_here(x, s)) return c;
    return -1;
}

bool sf_sum_without_zero(sf *x)
{
    int c = a_zero(x);
    if (c >= 0) mut_remove_call(sf_calls(x, x->stage), c);
    return c >= 0;
}

bool sf_sum_zero_late(sf *x)
{
    int c = a_zero(x);
    if (c >= 0) move_call(sf_calls(x, x->stage), c, first_part(x, x->stage, c) + 1);
    return c >= 0;
}

bool sf_sum_lacks_part(sf *x)
{
    int c = a_part(x);
    if (c >= 0) mut_remove_call(sf_calls(x, x->stage), c);
    return c >= 0;
}

bool sf_sum_part_twice(sf *x)
{
    int c = a_part(x);
    if (c >= 0) mut_insert_call(sf_calls(x, x->stage), c + 1, *call(x, x->stage, c));
    return c >= 0;
}

// To a sum of the same dims and parts.
bool sf_sum_other(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int c = 0; c < calls(x, s)->calls.n; c++)
            for (int d = 0; d < c && adds_up(call(x, s, c)); d++) {
                const rec_tensor *t = calls(x, s)->tensors.p;
                int one = call(x, s, c)->out[0];
                if (!adds_up(call(x, s, d))) continue;
                int other = call(x, s, d)->out[0];
                if (one == other || !mut_same_dims(&t[one], &t[other]) || !sf_here(x, s)) continue;
                rec_call *k = mut_call(sf_calls(x, s), c);
                k->in[0] = k->out[0] = other;
                return true;
            }
    return false;
}

// The last part goes behind the sum's reader.
bool sf_sum_read_early(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int c = 0; c < calls(x, s)->calls.n; c++) {
            if (!adds_up(call(x, s, c))) continue;
            int b = call(x, s, c)->out[0], r = mut_reader(sf_calls(x, s), b, c + 1);
            if (r < 0 || r >= calls(x, s)->calls.n || adds_up(call(x, s, r)) ||
                !sf_calls(x, s)->needed[r] || !sf_here(x, s))
                continue;
            move_call(sf_calls(x, s), c, r + 1);
            return true;
        }
    return false;
}

// --- weights and their copies ---

static bool is_home(const record *r, int b)
{
    for (int c = 0; c < r->calls.n && r->calls.p[c].kind < REC_OP; c++)
        if (r->calls.p[c].kind == REC_PARAM && r->calls.p[c].in[0] == b) return true;
    return false;
}

static bool updates(const rec_call *k, int b)
{
    return mut_in_place(k) && writes(k, b);
}

bool sf_copy_of_next(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int c = 0; c < calls(x, s)->calls.n; c++) {
            const rec_call *k = call(x, s, c);
            if (!sf_is_end(k, IR_SEND) || !is_home(calls(x, s), k->in[0])) continue;
            int u = c + 1, n = calls(x, s)->calls.n;
            while (u < n && !updates(call(x, s, u), k->in[0]))
                u++;
            if (u == n || !sf_here(x, s)) continue;
            move_call(sf_calls(x, s), c, u + 1);
            return true;
        }
    return false;
}

bool sf_weight_of_next(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int u = 0; u < calls(x, s)->calls.n; u++) {
            const rec_call *k = call(x, s, u);
            for (int i = 0; i < k->n_out; i++) {
                int b = k->out[i], r = u - 1;
                if (!updates(k, b) || !is_home(calls(x, s), b)) continue;
                while (r > 0 && !reads(call(x, s, r), b))
                    r--;
                if (r <= 0 || !sf_calls(x, s)->needed[r] || !sf_here(x, s)) continue;
                move_call(sf_calls(x, s), u, r);
                return true;
            }
        }
    return false;
}
