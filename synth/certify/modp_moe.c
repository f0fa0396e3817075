// Meanings of the ops of a mixture of experts, loop by loop. Gates and slots go by the order of
// numbers as integers (mp_more), which is the same on all ranks; sums are over the entries a rank
// holds. The experts that top_index chooses are numbers, those that expert_linear reads are drawn
// (modp_graph.c): what holds for any choice holds for the one that is made.

#include "synth/certify/modp_model.h"

static bool first_of(const mp_part *x, int64_t row, int64_t i, int64_t j)
{
    uint64_t p = mp_get(x, row + i), q = mp_get(x, row + j);
    return p == q ? i < j : mp_more(p, q);
}

// How many entries of the row stand before entry i; only those that are not 0, if so asked.
static int64_t ahead(const mp_part *x, int64_t row, int64_t n, int64_t i, bool choices)
{
    int64_t k = 0;
    for (int64_t j = 0; j < n; j++)
        k += j != i && first_of(x, row, j, i) && !(choices && mp_get(x, row + j) == 0);
    return k;
}

static bool whole(mp *m, const mp_part *x, int d)
{
    return x->ix[d]->l == x->ix[d]->g || mp_fail(m, "sees a part of what it must see whole");
}

static bool gates(mp *m, const mp_call *c)
{
    bool back = c->op == IR_OP_top_gates_bwd;
    const mp_part *x = &c->in[back], *dy = &c->in[0];
    mp_part *y = &c->out[0];
    int last = x->rank - 1;
    if (y->rank != x->rank || dy->rank != x->rank) return mp_fail(m, "has other dims");
    for (int d = 0; d <= last; d++)
        if (!mp_same(m, x, d, y, d) || !mp_same(m, dy, d, y, d)) return false;
    if (!whole(m, x, last)) return false;
    int64_t n = x->ix[last]->l, k = c->attr[0].i;
    for (int64_t row = 0; row < x->n; row += n) {
        uint64_t sum = 0, dot = 0;
        for (int64_t i = 0; i < n; i++) {
            if (ahead(x, row, n, i, false) >= k) continue;
            sum = mp_add(sum, mp_get(x, row + i));
            dot = mp_add(dot, mp_mul(mp_get(x, row + i), mp_get(dy, row + i)));
        }
        uint64_t over = mp_inverse(sum), mean = mp_mul(dot, over);
        for (int64_t i = 0; i < n; i++) {
            if (ahead(x, row, n, i, false) >= k) continue;
            uint64_t v = back ? mp_sub(mp_get(dy, row + i), mean) : mp_get(x, row + i);
            y->v[row + i] = mp_mul(v, over);
        }
    }
    return true;
}

static bool slots(mp *m, const mp_call *c)
{
    const mp_part *x = &c->in[0];
    mp_part *y = &c->out[0];
    if (x->rank != 3 || y->rank != 4) return mp_fail(m, "has other dims");
    for (int d = 0; d < 3; d++)
        if (!mp_same(m, x, d, y, d) || (d > 0 && !whole(m, x, d))) return false;
    int64_t tokens = x->ix[1]->l, experts = x->ix[2]->l, held = y->ix[3]->l, all = y->ix[3]->g;
    for (int64_t b = 0; b < x->ix[0]->l; b++)
        for (int64_t e = 0; e < experts; e++) {
            int64_t slot = 0;
            for (int64_t choice = 0; choice < experts; choice++)
                for (int64_t s = 0; s < tokens && slot < all; s++) {
                    int64_t row = (b * tokens + s) * experts;
                    if (mp_get(x, row + e) == 0 || ahead(x, row, experts, e, true) != choice)
                        continue;
                    int64_t l = y->ix[3]->of[slot++];
                    if (l >= 0) y->v[(row + e) * held + l] = mp_get(x, row + e);
                }
        }
    return true;
}

static bool slots_back(mp *m, const mp_call *c)
{
    const mp_part *dy = &c->in[0], *x = &c->in[1];
    mp_part *y = &c->out[0];
    if (x->rank != y->rank + 1 || dy->rank != x->rank) return mp_fail(m, "has other dims");
    for (int d = 0; d < x->rank; d++)
        if (!mp_same(m, x, d, dy, d) || (d < y->rank && !mp_same(m, x, d, y, d))) return false;
    int64_t n = x->ix[y->rank]->l;
    for (int64_t i = 0; i < x->n; i++) // whether x is 0 is a coefficient
        y->v[i / n] = mp_add(
            y->v[i / n], mp_mul(mp_hash(m, IR_OP_expert_slots_bwd, mp_get(x, i)), mp_get(dy, i)));
    return true;
}

// weight[b,s,e,c] token[b,s,d] slot[e,b,c,d]: the third is the sum of the products of the others.
static bool moves(mp *m, const mp_call *c)
{
    mp_part *y = &c->out[0];
    bool dw = c->op == IR_OP_dispatch_dw, to = c->op == IR_OP_dispatch;
    const mp_part *w = dw ? y : &c->in[0],
                  *x = dw   ? &c->in[0]
                       : to ? &c->in[1]
                            : y,
                  *z = to ? y : &c->in[1];
    if (w->rank != 4 || x->rank != 3 || z->rank != 4) return mp_fail(m, "has other dims");
    if (!mp_same(m, w, 0, x, 0) || !mp_same(m, w, 1, x, 1) || !mp_same(m, w, 2, z, 0) ||
        !mp_same(m, w, 0, z, 1) || !mp_same(m, w, 3, z, 2) || !mp_same(m, x, 2, z, 3))
        return false;
    int64_t nb = w->ix[0]->l, ns = w->ix[1]->l, ne = w->ix[2]->l, nc = w->ix[3]->l;
    int64_t nd = x->ix[2]->l;
    for (int64_t b = 0; b < nb; b++)
        for (int64_t s = 0; s < ns; s++)
            for (int64_t e = 0; e < ne; e++)
                for (int64_t k = 0; k < nc; k++)
                    for (int64_t d = 0; d < nd; d++) {
                        int64_t iw = ((b * ns + s) * ne + e) * nc + k, ix = (b * ns + s) * nd + d;
                        int64_t iz = ((e * nb + b) * nc + k) * nd + d;
                        uint64_t *v = &y->v[dw ? iw : to ? iz : ix];
                        uint64_t p = dw ? mp_get(x, ix) : mp_get(w, iw);
                        uint64_t q = to ? mp_get(x, ix) : mp_get(z, iz);
                        *v = mp_add(*v, mp_mul(p, q));
                    }
    return true;
}

// An entry of the result is a keyed hash of its place in the row of choices and of the whole row.
static bool choices(mp *m, const mp_call *c)
{
    const mp_part *x = &c->in[0];
    mp_part *y = &c->out[0];
    int last = x->rank - 1;
    if (y->rank != x->rank) return mp_fail(m, "has other dims");
    for (int d = 0; d < last; d++)
        if (!mp_same(m, x, d, y, d)) return false;
    if (!whole(m, x, last) || !whole(m, y, last)) return false;
    int64_t n = x->ix[last]->l, k = y->ix[last]->l;
    for (int64_t r = 0; r < mp_count(x, last); r++) {
        uint64_t row = IR_OP_top_index;
        for (int64_t i = 0; i < n; i++)
            row = mp_hash(m, row, mp_get(x, r * n + i));
        for (int64_t j = 0; j < k; j++)
            y->v[r * k + j] = mp_hash(m, row, (uint64_t)j);
    }
    return true;
}

// The leading dims of t, all but its last `tail`, meet those of s.
static int32_t *leading(mp *m, const mp_part *s, const mp_part *t, int tail)
{
    if (t->rank >= tail) return mp_align(m, s, s->rank - 1, t, t->rank - tail, NULL, NULL);
    mp_fail(m, "has operands of other dims");
    return NULL;
}

static int64_t entries_before(const mp_part *x, int rank) // of all ranks
{
    int64_t n = 1;
    for (int d = 0; d < rank; d++)
        n *= x->ix[d]->g;
    return n;
}

// y[r, n] = sum over k of x[r, k] w[e, k, n] for the expert e of row r; the gradient adds x[r, k]
// y[r, n] to w[e, k, n]. Rows are those of y, in the gradient of x where it has more.
static bool expert_rows(mp *m, const mp_call *c)
{
    bool dw = c->op == IR_OP_expert_linear_dw, trans = !dw && c->attr[0].i == 1;
    const mp_part *x = &c->in[0], *at = &c->in[1], *y = dw ? &c->in[2] : &c->out[0];
    const mp_part *w = dw ? &c->out[0] : &c->in[2];
    mp_part *made = &c->out[0];
    int lx = x->rank - 1, ly = y->rank - 1;
    if (w->rank != 3 || lx < 0 || ly < 0) return mp_fail(m, "has operands of other dims");
    if (!mp_same(m, x, lx, w, 1 + trans) || !mp_same(m, y, ly, w, 2 - trans)) return false;
    const mp_part *rows = dw && entries_before(x, lx) > entries_before(y, ly) ? x : y;
    int32_t *rx = leading(m, rows, x, 1), *ry = rx ? leading(m, rows, y, 1) : NULL;
    int32_t *index = ry ? leading(m, rows, at, 0) : NULL;
    int64_t nk = x->ix[lx]->l, nn = y->ix[ly]->l, each = nk * nn;
    for (int64_t r = 0; index && r < mp_count(rows, rows->rank - 1); r++) {
        int64_t e = (int64_t)at->v[index[r]];
        int32_t l = e < 0 || e >= w->ix[0]->g ? -1 : w->ix[0]->of[e];
        for (int64_t i = 0; l >= 0 && i < each; i++) {
            int64_t k = i / nn, n = i % nn, iw = l * each + (trans ? n * nk + k : i);
            int64_t ix = rx[r] * nk + k, iy = ry[r] * nn + n;
            uint64_t *v = &made->v[dw ? iw : iy];
            *v = mp_add(*v, mp_mul(mp_get(x, ix), dw ? mp_get(y, iy) : mp_get(w, iw)));
        }
    }
    return index != NULL;
}

// Which row has which place of a room, and which places are empty, hangs on the experts that all
// rows of the group choose and on nothing else. So it is a coefficient: a keyed hash of these and
// of the numbers of expert, place and row.
static uint64_t group_of(mp *m, const mp_part *at, int64_t g)
{
    uint64_t h = IR_OP_to_rooms;
    int64_t rows = at->ix[1]->l;
    for (int64_t r = 0; r < rows; r++)
        h = mp_hash(m, h, mp_get(at, g * rows + r));
    return h;
}

static uint64_t place_of(mp *m, uint64_t group, const mp_part *room, int64_t e, int64_t c)
{
    return mp_hash(m, mp_hash(m, group, (uint64_t)room->ix[1]->at[e]), (uint64_t)c);
}

// room[g,e,c,k] of these choices at[g,r]: all rows and places are there.
static bool are_rooms(mp *m, const mp_part *room, const mp_part *at)
{
    if (room->rank != 4 || at->rank != 2) return mp_fail(m, "has other dims");
    return mp_same(m, room, 0, at, 0) && whole(m, room, 2) && whole(m, at, 1);
}

// row[g,r,k] to or from room[g,e,c,k].
static bool swap_rooms(mp *m, const mp_call *call)
{
    bool to = call->op == IR_OP_to_rooms;
    const mp_part *at = &call->in[1], *x = to ? &call->in[0] : &call->out[0];
    const mp_part *z = to ? &call->out[0] : &call->in[0];
    if (x->rank != 3) return mp_fail(m, "has other dims");
    if (!are_rooms(m, z, at) || !mp_same(m, x, 0, at, 0) || !mp_same(m, x, 1, at, 1) ||
        !mp_same(m, x, 2, z, 3))
        return false;
    int64_t ng = x->ix[0]->l, nr = x->ix[1]->l, nk = x->ix[2]->l, nc = z->ix[2]->l;
    int64_t ne = z->ix[1]->l;
    for (int64_t i = 0; i < ng * ne * nc; i++) {
        int64_t g = i / nc / ne, e = i / nc % ne, c = i % nc;
        uint64_t place = place_of(m, group_of(m, at, g), z, e, c);
        for (int64_t j = 0; j < nr * nk; j++) {
            int64_t ix = g * nr * nk + j, iz = i * nk + j % nk;
            uint64_t *v = &call->out[0].v[to ? iz : ix];
            uint64_t from = to ? mp_get(x, ix) : mp_get(z, iz);
            *v = mp_add(*v, mp_mul(mp_hash(m, place, (uint64_t)(j / nk)), from));
        }
    }
    return true;
}

// y[g,e,c,n] = sum over k of x[g,e,c,k] w[e,k,n]; the gradient adds x[g,e,c,k] y[g,e,c,n] to w.
static bool room_rows(mp *m, const mp_call *call)
{
    bool dw = call->op == IR_OP_room_linear_dw, trans = !dw && call->attr[0].i == 1;
    const mp_part *x = &call->in[0], *at = &call->in[1], *y = dw ? &call->in[2] : &call->out[0];
    const mp_part *w = dw ? &call->out[0] : &call->in[2];
    if (w->rank != 3) return mp_fail(m, "has other dims");
    if (!are_rooms(m, x, at) || !are_rooms(m, y, at) || !mp_same(m, x, 1, w, 0) ||
        !mp_same(m, y, 1, w, 0) || !mp_same(m, x, 2, y, 2) || !mp_same(m, x, 3, w, 1 + trans) ||
        !mp_same(m, y, 3, w, 2 - trans))
        return false;
    int64_t ne = x->ix[1]->l, nc = x->ix[2]->l, nk = x->ix[3]->l, nn = y->ix[3]->l;
    for (int64_t i = 0; i < x->ix[0]->l * ne * nc; i++) {
        int64_t g = i / nc / ne, e = i / nc % ne, c = i % nc;
        uint64_t used = place_of(m, group_of(m, at, g), x, e, c);
        for (int64_t j = 0; j < nk * nn; j++) {
            int64_t k = j / nn, n = j % nn, ix = i * nk + k, iy = i * nn + n;
            int64_t iw = e * nk * nn + (trans ? n * nk + k : j);
            uint64_t *v = &call->out[0].v[dw ? iw : iy];
            uint64_t p = mp_mul(mp_get(x, ix), dw ? mp_get(y, iy) : mp_get(w, iw));
            *v = mp_add(*v, mp_mul(used, p));
        }
    }
    return true;
}

mp_meaning *mp_moe(ir_op op)
{
    switch ((int)op) {
    case IR_OP_top_gates:
    case IR_OP_top_gates_bwd:
        return gates;
    case IR_OP_expert_slots:
        return slots;
    case IR_OP_expert_slots_bwd:
        return slots_back;
    case IR_OP_dispatch:
    case IR_OP_combine:
    case IR_OP_dispatch_dw:
        return moves;
    case IR_OP_top_index:
        return choices;
    case IR_OP_expert_linear:
    case IR_OP_expert_linear_dw:
        return expert_rows;
    case IR_OP_to_rooms:
    case IR_OP_from_rooms:
        return swap_rooms;
    case IR_OP_room_linear:
    case IR_OP_room_linear_dw:
        return room_rows;
    default:
        return NULL;
    }
}
