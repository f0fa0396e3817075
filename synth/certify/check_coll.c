// Parts 1 and 3 of the certificate, changes of state: slices, partials and collectives.
//
// The value and the dtype stay; on every axis that takes part the state changes exactly as the call
// says, on the others it stays:
//
//     hap_cut         R -> S on any axes, or a copy
//     hap_partial     R -> P(sum)
//     all_gather      S -> R
//     reduce_scatter  P(sum) -> S
//     all_reduce      P -> R, by the same reducer
//     all_to_all      S of one factor -> S of another
//     reshard           S -> S of the same factor by another table
//
// A factor cut over both axes is S on each of them: over axis 0 by the sums of its table, over axis
// 1 by the part of the table that belongs to the machine. So it changes over axis 1 alone, where
// axis 0 sees the same sums before and after, or over both axes at once; over axis 0 alone the
// ranks of a group hold no run of it.
//
// A form must be one that the runtime has for these tables, the scratch as large as docs/formats.md
// ("Scratch") says; what a one-sided put writes into another rank's memory lies in SEG_SYM. What a
// pair of ranks exchanges is computed once from the sender's tables and once from the receiver's;
// the sums must be the parts they hold.
//
// All ranks run one straight-line program, so the total order of collectives is the order of the
// calls on every rank, and every wait names an earlier start: program order and waits have no
// cycle.

#include "costmodel/device_defaults.h"
#include "synth/certify/check_model.h"

typedef struct move {
    chk *c;
    const rec_call *call;
    int k; // which pair of the list
    const chk_buffer *src, *dst;
    const rec_dim *from, *to; // the dims cut over the group, NULL where whole
    int from_dim, to_dim;
} move;

// What a group of ranks holds of a cut factor: one entry a member.
typedef struct parts {
    const int64_t *table;
    int n;
    int64_t sum;
} parts;

static hb_str pair_text(const move *m)
{
    return hb_fmt(m->c->a, "%.*s (pair %d)", HB_ARG(chk_name(m->c, m->src->value)), m->k);
}

static bool joint(const rec_dim *d)
{
    return d->axis == SYN_BOTH;
}

// The parts of the group of a rank over the axes of the mask, which cut d: all entries of its
// table, or those of one machine.
static parts parts_of(const chk *c, const rec_dim *d, unsigned axes, int rank)
{
    if (!joint(d) || axes == 3u) return (parts){d->table, d->n_table, d->n};
    parts p = {d->table + chk_coord(c, rank, 0) * c->r->size[1], c->r->size[1], 0};
    for (int i = 0; i < p.n; i++)
        p.sum += p.table[i];
    return p;
}

// Entries that coordinate i of axis 0 holds: of a cut over both axes, the sum of its machine.
static int64_t on_machine(const chk *c, const rec_dim *d, int i)
{
    return joint(d) ? parts_of(c, d, 2u, i * c->r->size[1]).sum : d->table[i];
}

// What one dim is cut by on one axis: the same dim, factor and table?
static bool same_on_axis(const chk *c, const chk_buffer *a, const chk_buffer *b, int axis)
{
    if (a->cut[axis] != b->cut[axis]) return false;
    if (a->cut[axis] < 0) return true;
    const rec_dim *x = &a->t->dim[a->cut[axis]], *y = &b->t->dim[b->cut[axis]];
    if (axis == 1 || (!joint(x) && !joint(y)) || x->table == y->table) return chk_same_cut(x, y);
    bool same = x->n == y->n && x->outer == y->outer && x->inner == y->inner;
    for (int i = 0; same && i < c->r->size[0]; i++)
        same = on_machine(c, x, i) == on_machine(c, y, i);
    return same;
}

static bool same_shape(move *m)
{
    const rec_tensor *s = m->src->t, *d = m->dst->t;
    if (s->dtype != d->dtype)
        return chk_fail(m->c, "%.*s changes from %s to %s", HB_ARG(pair_text(m)),
                        ir_dtype_name(s->dtype), ir_dtype_name(d->dtype));
    if (s->rank != d->rank)
        return chk_fail(m->c, "%.*s changes its rank from %d to %d", HB_ARG(pair_text(m)), s->rank,
                        d->rank);
    for (int i = 0; i < s->rank; i++) {
        int64_t a = s->dim[i].outer * s->dim[i].n * s->dim[i].inner;
        int64_t b = d->dim[i].outer * d->dim[i].n * d->dim[i].inner;
        if (a != b)
            return chk_fail(m->c, "dim %d of %.*s changes from %lld to %lld entries", i,
                            HB_ARG(pair_text(m)), (long long)a, (long long)b);
    }
    return true;
}

// Axes outside the mask: nothing changes. A P of the source stays in `partial`.
static bool others_stay(move *m, unsigned axes, char *partial)
{
    for (int a = 0; a < m->c->r->n_axes; a++) {
        if (axes >> a & 1u) continue;
        partial[a] = m->src->partial[a];
        if (!same_on_axis(m->c, m->src, m->dst, a))
            return chk_fail(m->c, "%.*s changes from %.*s to %.*s on axis %d, which takes no part",
                            HB_ARG(pair_text(m)), HB_ARG(chk_state(m->c, m->src, a)),
                            HB_ARG(chk_state(m->c, m->dst, a)), a);
    }
    return true;
}

static bool local_move(chk *c, const rec_call *call, move *m)
{
    *m = (move){.c = c, .call = call};
    if (call->n_in != 1 || call->n_out != 1) return chk_fail(c, "takes one tensor to one");
    if (!chk_read(c, call->in[0], "the source", -1)) return false;
    m->src = &c->buf[call->in[0]];
    m->dst = &c->buf[call->out[0]];
    if (call->in[0] == call->out[0] || chk_overlap(c, m->src, m->dst))
        return chk_fail(c, "the result shares bytes with its source");
    return same_shape(m);
}

static bool finish_local(move *m, const char *partial)
{
    int value = m->src->value;
    if (!chk_write(m->c, m->call->out[0], "the result", -1, 0)) return false;
    chk_hold(m->c, m->call->out[0], value, partial);
    return true;
}

bool chk_slice(chk *c, const rec_call *call)
{
    move m;
    char partial[SYN_MAX_AXES] = {0};
    if (!local_move(c, call, &m)) return false;
    for (int a = 0; a < c->r->n_axes; a++) {
        partial[a] = m.src->partial[a];
        if (same_on_axis(c, m.src, m.dst, a)) continue;
        if (m.src->cut[a] >= 0 || m.src->partial[a])
            return chk_fail(
                c, "%.*s is %.*s on axis %d, only a whole tensor can be cut without communication",
                HB_ARG(pair_text(&m)), HB_ARG(chk_state(c, m.src, a)), a);
        if (!chk_legal_cut(c, m.src->value, m.dst, a)) return false;
    }
    return finish_local(&m, partial);
}

static bool check_mask(chk *c, unsigned axes)
{
    if (axes == 0 || axes >> c->r->n_axes != 0)
        return chk_fail(c, "axis mask %u on a mesh of %d axes", axes, c->r->n_axes);
    return true;
}

bool chk_partial(chk *c, const rec_call *call)
{
    move m;
    char partial[SYN_MAX_AXES] = {0};
    if (!check_mask(c, call->axes) || !local_move(c, call, &m) ||
        !others_stay(&m, call->axes, partial))
        return false;
    for (int a = 0; a < c->r->n_axes; a++) {
        if (!(call->axes >> a & 1u)) {
            if (partial[a] == 'm')
                return chk_fail(c, "%.*s is P(max) on axis %d: zeros would be taken for values",
                                HB_ARG(pair_text(&m)), a);
            continue;
        }
        if (m.src->cut[a] >= 0 || m.src->partial[a] || m.dst->cut[a] >= 0)
            return chk_fail(
                c, "%.*s is %.*s on axis %d, the call needs R", HB_ARG(pair_text(&m)),
                HB_ARG(chk_state(c, m.src->cut[a] >= 0 || m.src->partial[a] ? m.src : m.dst, a)),
                a);
        partial[a] = 's';
    }
    ir_dtype t = m.src->t->dtype;
    if (t != IR_F32 && t != IR_BF16 && t != IR_F16)
        return chk_fail(c, "%.*s is %s, partial sums are floats", HB_ARG(pair_text(&m)),
                        ir_dtype_name(t));
    return finish_local(&m, partial);
}

// --- collectives

// Equal shards in every group?
static bool even(const chk *c, const rec_dim *d, unsigned axes)
{
    bool alike = axes == 3u || !joint(d); // all groups, else those of a machine
    for (int rank = 0; rank < c->r->n_ranks; rank += alike ? c->r->n_ranks : c->r->size[1]) {
        parts p = parts_of(c, d, axes, rank);
        for (int i = 1; i < p.n; i++)
            if (p.table[i] != p.table[0]) return false;
    }
    return true;
}

static bool form_exists(cost_coll coll, cost_form form)
{
    unsigned shards =
        1u << COST_EVEN | 1u << COST_PADDED | 1u << COST_GROUPED | 1u << COST_SENDRECV;
    bool put = cost_is_put(form), one = form < COST_PUTS;
    switch (coll) {
    case COST_ALL_GATHER:
        return put || (one && (shards >> form & 1u));
    case COST_REDUCE_SCATTER:
        return put || (one && ((shards | 1u << COST_EVEN_FLAT) >> form & 1u));
    case COST_ALL_REDUCE:
        return put || form == COST_FLAT || form == COST_TWO_LEVEL;
    case COST_ALL_TO_ALL:
        return put || form == COST_EVEN || form == COST_SENDRECV;
    case COST_RESHARD:
        return form == COST_EVEN || form == COST_SENDRECV;
    }
    return false;
}

static int64_t group_size(const chk *c, unsigned axes)
{
    if (c->r->n_axes == 1 || axes == 3u) return c->r->n_ranks;
    return c->r->size[axes == 2u ? 1 : 0];
}

// Each copy in flight goes to another member. Other ranks write into dst, but for sums: those are
// added up from the scratch.
static bool check_put(const move *m)
{
    const rec_call *k = m->call;
    const cost_form_text text = cost_form_name(k->form);
    const char *name = text.s;
    int n = (int)group_size(m->c, k->axes), most = n > 1 ? n - 1 : 1;
    if (k->reduce_max) return chk_fail(m->c, "has no form %s", name);
    if (cost_copies(k->form) < 1 || cost_copies(k->form) > most)
        return chk_fail(m->c, "form %s: of %d members 1 to %d copies are in flight", name, n, most);
    if (k->coll != COST_REDUCE_SCATTER && m->dst->t->seg != 0)
        return chk_fail(m->c, "form %s writes %.*s in other ranks, outside SEG_SYM", name,
                        HB_ARG(pair_text(m)));
    if (k->scratch >= 0 && m->c->buf[k->scratch].t->seg != 0)
        return chk_fail(m->c, "form %s writes the scratch in other ranks, outside SEG_SYM", name);
    return true;
}

static bool check_form(move *m)
{
    chk *c = m->c;
    const rec_call *k = m->call;
    const cost_form_text text = cost_form_name(k->form);
    const char *name = text.s;
    if (!form_exists(k->coll, k->form)) return chk_fail(c, "has no form %s", name);
    if (k->form == COST_TWO_LEVEL && k->axes != 3u)
        return chk_fail(c, "form %s needs a mesh of two axes and both of them", name);
    if (cost_is_put(k->form)) return check_put(m);
    bool shards = k->coll == COST_ALL_GATHER || k->coll == COST_REDUCE_SCATTER;
    if (k->form != COST_EVEN || !shards) return true; // the native all-to-all takes any parts
    const rec_dim *side[2] = {m->from, m->to};
    for (int s = 0; s < 2; s++)
        if (side[s] && !even(c, side[s], k->axes))
            return chk_fail(c, "form %s on the unequal shards of %.*s", name, HB_ARG(pair_text(m)));
    return true;
}

// What all members of a group send to j, by the sender's part cut by the receiver's table, and what
// j's part of the result holds; what i sends, and what its part of the source holds: in elements of
// the two factors, the rest of the tensor being the same on both sides.
static bool other_amounts(const move *m, int i)
{
    return chk_fail(m->c, "member %d sends and receives other amounts than it holds of %.*s", i,
                    HB_ARG(pair_text(m)));
}

// An all-to-all's i sends j the product of their entries: sums over i and j, one factor each.
static bool cross_bytes(const move *m, const parts *from, const parts *to)
{
    int64_t all_from = 0, all_to = 0;
    for (int i = 0; i < from->n; i++) {
        all_from += from->table[i];
        all_to += to->table[i];
    }
    for (int i = 0; i < from->n; i++)
        if (from->table[i] * all_to != from->table[i] * to->sum ||
            to->table[i] * all_from != to->table[i] * from->sum)
            return other_amounts(m, i);
    return true;
}

// A reshard's i sends j what both ranges hold: one merge of the two rows of ranges.
static bool range_bytes(const move *m, const parts *from, const parts *to)
{
    int i = 0, j = 0;
    int64_t at = 0, end_i = 0, end_j = 0, out = 0, in = 0;
    while (i < from->n || j < to->n) {
        bool next_i = j == to->n || (i < from->n && end_i + from->table[i] <= end_j + to->table[j]);
        int64_t upto = next_i ? end_i + from->table[i] : end_j + to->table[j];
        if (i < from->n && j < to->n) {
            out += upto - at;
            in += upto - at;
            at = upto;
        }
        if (next_i) {
            if (out != from->table[i]) return other_amounts(m, i);
            end_i = upto;
            out = 0;
            i++;
        } else {
            if (in != to->table[j]) return other_amounts(m, j);
            end_j = upto;
            in = 0;
            j++;
        }
    }
    return true;
}

static bool check_bytes(const move *m)
{
    const chk *c = m->c;
    unsigned axes = m->call->axes;
    if (m->call->coll != COST_ALL_TO_ALL && m->call->coll != COST_RESHARD) return true;
    bool alike = axes == 3u || (!joint(m->from) && !joint(m->to)); // all groups?
    for (int i = 0; i < (alike ? 1 : c->r->size[0]); i++) {        // else those of the machines
        int rank = i * (c->r->n_axes == 2 ? c->r->size[1] : 1);
        parts from = parts_of(c, m->from, axes, rank), to = parts_of(c, m->to, axes, rank);
        if (!(m->call->coll == COST_ALL_TO_ALL ? cross_bytes : range_bytes)(m, &from, &to))
            return false;
    }
    return true;
}

// Local size of a dim on a rank.
static int64_t local_dim(const chk *c, const rec_dim *d, int rank)
{
    return d->outer * (d->axis < 0 ? d->n : d->table[chk_coord(c, rank, d->axis)]) * d->inner;
}

// The largest entry of the parts of d.
static int64_t largest(chk *c, const rec_dim *d, const parts *p)
{
    if (p->n == d->n_table) return chk_table_of(c, d).most;
    int64_t most = 0;
    for (int i = 0; i < p->n; i++)
        if (p->table[i] > most) most = p->table[i];
    return most;
}

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

// Scratch of one pair on one rank's group: docs/formats.md, "Scratch".
static int64_t scratch_bytes(const move *m, int rank)
{
    const chk *c = m->c;
    const rec_tensor *t = m->src->t;
    int64_t item = ir_dtype_bytes(t->dtype);
    bool put = cost_is_put(m->call->form);
    if (m->call->coll == COST_ALL_REDUCE) {
        if (m->call->form == COST_FLAT) return 0;
        int64_t n = !put ? c->r->size[1] : group_size(c, m->call->axes);
        int64_t part = (chk_local(c, t, rank) + n - 1) / n * item;
        return put ? n * round_up(part, COST_SCRATCH_ALIGN) : part;
    }
    // The tensor as the group holds it together; dims that no member cuts are as this rank has
    // them.
    parts from = {0}, to = {0};
    if (m->from) from = parts_of(c, m->from, m->call->axes, rank);
    if (m->to) to = parts_of(c, m->to, m->call->axes, rank);
    int64_t full = item, outer = 1;
    int lead = m->from ? m->from_dim : m->to_dim;
    for (int d = 0; d < t->rank; d++) {
        const rec_dim *v = &t->dim[d], *w = m->dst->t->dim + d;
        int64_t n = v == m->from ? v->outer * from.sum * v->inner
                    : w == m->to ? w->outer * to.sum * w->inner
                                 : local_dim(c, v, rank);
        full *= n;
        if (d < lead) outer *= n;
    }
    outer *= m->from ? m->from->outer : m->to->outer;
    int64_t n = m->from ? from.n : to.n, packed = outer == 1 ? 0 : full;
    int64_t most_from = from.sum > 0 ? full / from.sum * largest(m->c, m->from, &from) : 0;
    int64_t most_to = to.sum > 0 ? full / to.sum * largest(m->c, m->to, &to) : 0;
    switch (m->call->coll) {
    case COST_ALL_GATHER:
        if (put) return 0;
        return m->call->form == COST_PADDED ? (n + 1) * most_from : packed;
    case COST_REDUCE_SCATTER:
        if (put) return n * round_up(most_to, COST_SCRATCH_ALIGN);
        if (m->call->form == COST_PADDED) return (n + 1) * most_to;
        if (m->call->form == COST_SENDRECV) return packed + most_to;
        if (m->call->form == COST_EVEN_FLAT) return (n + 1) * ((full / item + n - 1) / n) * item;
        return packed;
    case COST_ALL_TO_ALL:
    case COST_RESHARD:
        return put ? 0 : most_from + most_to;
    case COST_ALL_REDUCE:
        break;
    }
    return 0;
}

// States on the axes that take part, a comma between.
static hb_str states_text(const move *m, const chk_buffer *b, bool with_partial)
{
    hb_buf out = {.arena = m->c->a};
    for (int a = 0; a < m->c->r->n_axes; a++) {
        if (!(m->call->axes >> a & 1u)) continue;
        hb_str s = b->cut[a] >= 0 ? chk_cut_text(m->c, b->cut[a], &b->t->dim[b->cut[a]])
                   : with_partial ? chk_state(m->c, b, a)
                                  : HB_STR("whole");
        hb_printf(&out, "%s%.*s", out.n > 0 ? ", " : "", HB_ARG(s));
    }
    return hb_done(&out);
}

static bool wrong_states(const move *m, const char *need)
{
    unsigned axes = m->call->axes;
    return chk_fail(m->c, "%.*s goes from %.*s to %.*s on axis %s, the call needs %s",
                    HB_ARG(pair_text(m)), HB_ARG(states_text(m, m->src, true)),
                    HB_ARG(states_text(m, m->dst, false)),
                    axes == 3u   ? "0 and 1"
                    : axes == 2u ? "1"
                                 : "0",
                    need);
}

// The dim of a buffer that the axes of the mask cut, -1 if none. False if that is not one factor
// whose parts a group holds as one run.
static bool find_cut(const move *m, const chk_buffer *b, int *dim, const rec_dim **cut)
{
    unsigned axes = m->call->axes;
    *dim = b->cut[axes == 1u ? 0 : 1];
    *cut = *dim < 0 ? NULL : &b->t->dim[*dim];
    if (axes == 3u && (b->cut[0] != *dim || (*cut && !joint(*cut))))
        return wrong_states(m, "one factor cut over both axes, or none");
    if (axes == 1u && *cut && joint(*cut))
        return wrong_states(m, "axis 1 too: the factor is cut over both");
    return true;
}

static bool find_cuts(move *m)
{
    return find_cut(m, m->src, &m->from_dim, &m->from) && find_cut(m, m->dst, &m->to_dim, &m->to);
}

static bool reduce_all(move *m, char *partial)
{
    char need = m->call->reduce_max ? 'm' : 's';
    for (int a = 0; a < m->c->r->n_axes; a++) {
        if (!(m->call->axes >> a & 1u)) continue;
        if (m->src->partial[a] != need || m->dst->cut[a] >= 0 || m->src->cut[a] >= 0)
            return wrong_states(m, need == 'm' ? "P(max) to R" : "P(sum) to R");
        partial[a] = 0;
    }
    for (int a = 0; a < m->c->r->n_axes; a++) // a sum of maxima is no maximum of sums
        if (partial[a] && partial[a] != need)
            return chk_fail(m->c, "%.*s is also %.*s on axis %d", HB_ARG(pair_text(m)),
                            HB_ARG(chk_state(m->c, m->src, a)), a);
    return true;
}

// Are all axes that take part P(sum) (a reduction) or none (all else)?
static bool source_is(const move *m, char want)
{
    for (int a = 0; a < m->c->r->n_axes; a++)
        if ((m->call->axes >> a & 1u) && m->src->partial[a] != want) return false;
    return true;
}

static bool same_factor(const move *m)
{
    return m->from_dim == m->to_dim && m->from->n == m->to->n && m->from->outer == m->to->outer &&
           m->from->inner == m->to->inner;
}

// One pair: the change of state; *partial becomes the state of the destination.
static bool transition(move *m, char *partial)
{
    const rec_call *k = m->call;
    if (!others_stay(m, k->axes, partial)) return false;
    if (k->reduce_max && k->coll != COST_ALL_REDUCE)
        return chk_fail(m->c, "there is no such collective");
    if (k->coll == COST_ALL_REDUCE) return reduce_all(m, partial);
    if (!find_cuts(m)) return false;
    for (int i = 0; i < m->c->r->n_axes; i++)
        if (k->axes >> i & 1u) partial[i] = 0;
    switch (k->coll) {
    case COST_ALL_GATHER:
        if (!m->from || m->to) return wrong_states(m, "S to R");
        break;
    case COST_REDUCE_SCATTER:
        if (m->from || !m->to || !source_is(m, 's')) return wrong_states(m, "P(sum) to S");
        break;
    case COST_ALL_TO_ALL:
        if (!m->from || !m->to || same_factor(m))
            return wrong_states(m, "S to S of another factor");
        break;
    case COST_RESHARD:
        if (!m->from || !m->to || !same_factor(m))
            return wrong_states(m, "S to S of the same factor");
        break;
    case COST_ALL_REDUCE:
        break;
    }
    if (m->to && !chk_legal_cut(m->c, m->src->value, m->dst, k->axes == 1u ? 0 : 1)) return false;
    return check_bytes(m);
}

// The two cut factors of an all-to-all inside one dim must not overlap.
static bool check_nesting(move *m)
{
    if (m->call->coll != COST_ALL_TO_ALL || m->from_dim != m->to_dim) return true;
    const rec_dim *a = m->from, *b = m->to;
    if (a->inner % (b->n * b->inner) == 0 || b->inner % (a->n * a->inner) == 0) return true;
    return chk_fail(m->c, "not supported: the two factors of %.*s overlap", HB_ARG(pair_text(m)));
}

// Bytes are free for the whole flight: sources frozen, destinations and scratch taken.
static bool take_off(chk *c, const rec_call *k, const int *values, const char *partial)
{
    for (int i = 0; i < k->n_in; i++) {
        chk_buffer *s = &c->buf[k->in[i]];
        bool in_place = k->in[i] == k->out[i] || chk_overlap(c, s, &c->buf[k->out[i]]);
        if (in_place && (k->coll != COST_ALL_REDUCE || !chk_same_range(c, s, &c->buf[k->out[i]])))
            return chk_fail(c, "the destination of pair %d shares bytes with its source", i);
        if (in_place) continue;
        s->frozen++;
        s->frozen_by = c->at;
        chk_enlist(c, k->in[i]);
    }
    for (int i = 0; i < k->n_out; i++) {
        if (!chk_write(c, k->out[i], "the destination of pair", i, 0)) return false;
        chk_hold(c, k->out[i], values[i], partial + i * SYN_MAX_AXES);
        c->buf[k->out[i]].busy = c->at;
    }
    if (k->scratch < 0) return true;
    if (!chk_write(c, k->scratch, "the scratch", -1, 0)) return false;
    c->buf[k->scratch].busy = c->at;
    return true;
}

bool chk_start(chk *c, const rec_call *k)
{
    if (!check_mask(c, k->axes)) return false;
    if (k->n_in < 1 || k->n_in != k->n_out)
        return chk_fail(c, "has %d sources and %d destinations", k->n_in, k->n_out);
    int *values = HB_ARRAY(c->a, int, k->n_in);
    char *partial = HB_ARRAY(c->a, char, k->n_in *SYN_MAX_AXES); // by pair and axis
    int64_t *need = HB_ARRAY(c->a, int64_t, c->n_kinds);
    for (int i = 0; i < k->n_in; i++) {
        move m = {.c = c, .call = k, .k = i, .src = &c->buf[k->in[i]], .dst = &c->buf[k->out[i]]};
        if (!chk_read(c, k->in[i], "the source of pair", i)) return false;
        values[i] = m.src->value;
        if (!same_shape(&m) || !transition(&m, partial + i * SYN_MAX_AXES) || !check_nesting(&m) ||
            !check_form(&m))
            return false;
        for (int r = 0; r < c->n_kinds; r++)
            need[r] += round_up(scratch_bytes(&m, c->rank_of_kind[r]), COST_SCRATCH_ALIGN);
    }
    int64_t most = 0, have = -1;
    for (int r = 0; r < c->n_kinds; r++)
        if (need[r] > most) most = need[r];
    if (k->scratch >= 0) {
        const chk_buffer *s = &c->buf[k->scratch];
        for (int r = 0; r < c->n_kinds; r++) {
            int64_t b = chk_local(c, s->t, c->rank_of_kind[r]) * ir_dtype_bytes(s->t->dtype);
            if (have < 0 || b < have) have = b;
        }
    }
    if (most > 0 && have < most)
        return chk_fail(c, "form %s needs %lld bytes of scratch, it has %lld",
                        cost_form_name(k->form).s, (long long)most,
                        (long long)(have < 0 ? 0 : have));
    return take_off(c, k, values, partial);
}
