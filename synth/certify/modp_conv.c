// Meanings of the rows with windows. Places, windows and their sizes are whole on every rank, and
// are shrunk without regard to each other: the place that a window's entry is on is taken modulo
// the number of places, so that no entry falls outside. Channels are as kernels have them: a rank's
// part of x and of y is groups of those of the weight.

#include "synth/certify/modp_model.h"
#include "synth/plan/search_limits.h"

// What is whole: dims [first, rank) of x.
static bool whole(mp *m, const mp_part *x, int first)
{
    for (int d = first; d < x->rank; d++)
        if (x->ix[d]->l != x->ix[d]->g) return mp_fail(m, "cuts places that windows move along");
    return true;
}

// Places of the entries of all windows: [windows][entries], of windows over `size` entries that
// move along two dims of x and stand at two of y.
static const int64_t *places(mp *m, const mp_call *c, const mp_index *const *x,
                             const mp_index *const *y, const int64_t *size)
{
    const int64_t *stride = c->attr[ir_attr_index(c->op, "stride")].v;
    const int64_t *dilation = c->attr[ir_attr_index(c->op, "dilation")].v;
    int64_t *to = HB_ARRAY(m->tmp, int64_t, y[0]->l * y[1]->l * size[0] * size[1] + 1), *at = to;
    for (int64_t i = 0; i < y[0]->l; i++)
        for (int64_t j = 0; j < y[1]->l; j++)
            for (int64_t p = 0; p < size[0]; p++)
                for (int64_t q = 0; q < size[1]; q++)
                    *at++ = (i * stride[0] + p * dilation[0]) % x[0]->g * x[1]->l +
                            (j * stride[1] + q * dilation[1]) % x[1]->g;
    return to;
}

typedef struct conv {
    const mp_part *x, *w, *y;
    int64_t g, c, o; // groups, and channels of a group, on this rank
} conv;

// Do groups [0, g) of n entries each hold, of global groups `of` of `each`, the entries of `at`?
static bool groups(mp *m, const mp_index *x, const int64_t *of, int64_t n, int64_t each,
                   const mp_index *at)
{
    bool good = true;
    for (int64_t l = 0; good && l < x->l; l++) {
        int64_t entry = at ? at->at[l % n] : x->at[l] % each;
        good = x->at[l] == of[l / n] * each + entry;
    }
    return good || mp_fail(m, "has channels of other groups than its weight");
}

static bool conv_of(mp *m, const mp_part *x, const mp_part *w, const mp_part *y, conv *v)
{
    if (x->rank != 4 || w->rank != 4 || y->rank != 4)
        return mp_fail(m, "has operands of other dims");
    if (!whole(m, x, 2) || !whole(m, w, 2) || !whole(m, y, 2)) return false;
    if (x->ix[0] != y->ix[0]) return mp_fail(m, "has images cut differently");
    if (w->ix[0] != y->ix[1]) return mp_fail(m, "has channels cut differently");
    int64_t c = w->ix[1]->g, n_groups = x->ix[1]->g / (c ? c : 1);
    *v = (conv){.x = x, .w = w, .y = y, .c = w->ix[1]->l};
    if (c == 0 || n_groups == 0 || n_groups * c != x->ix[1]->g || y->ix[1]->g % n_groups)
        return mp_fail(m, "has %lld channels for a weight of %lld", (long long)x->ix[1]->g,
                       (long long)c);
    v->g = v->c ? x->ix[1]->l / v->c : 0;
    v->o = v->g ? y->ix[1]->l / v->g : 0;
    if (v->g * v->c != x->ix[1]->l || (v->g && v->g * v->o != y->ix[1]->l))
        return mp_fail(m, "has no whole groups of channels");
    if (v->g * v->o == 0) return true;
    int64_t *of = HB_ARRAY(m->tmp, int64_t, v->g + 1), o = y->ix[1]->g / n_groups;
    for (int64_t g = 0; g < v->g; g++)
        of[g] = y->ix[1]->at[g * v->o] / o;
    return groups(m, x->ix[1], of, v->c, c, w->ix[1]) && groups(m, y->ix[1], of, v->o, o, NULL);
}

// One image and one group of channels, convolution or the weight's gradient: w [o][n_seen] and y
// [o][n] of n windows that see [n][n_seen] of x, c * entries each.
static void multiply(ir_op op, const conv *v, int64_t n, int64_t n_seen, const uint64_t *seen,
                     uint64_t *w, uint64_t *y)
{
    for (int64_t o = 0; o < v->o; o++, w += n_seen, y += n) {
        for (int64_t i = 0; i < n && op == IR_OP_conv; i++) {
            mp_wide s = 0;
            for (int64_t q = 0; q < n_seen; q++) {
                s += (mp_wide)seen[i * n_seen + q] * w[q];
                if (q % SYN_MODP_FOLD == SYN_MODP_FOLD - 1) s = mp_fold(s);
            }
            y[i] = mp_narrow(s);
        }
        for (int64_t q = 0; q < n_seen && op == IR_OP_conv_dw; q++) {
            mp_wide s = w[q];
            for (int64_t i = 0; i < n; i++) {
                s += (mp_wide)seen[i * n_seen + q] * y[i];
                if (i % SYN_MODP_FOLD == SYN_MODP_FOLD - 1) s = mp_fold(s);
            }
            w[q] = mp_narrow(s);
        }
    }
}

// What window i gives back to the entries that it sees: the sum over the group's outputs.
static void give_back(const conv *v, int64_t n, int64_t n_seen, int64_t i, const uint64_t *w,
                      const uint64_t *y, mp_wide *sum, uint64_t *seen)
{
    for (int64_t q = 0; q < n_seen; q++)
        sum[q] = 0;
    for (int64_t o = 0; o < v->o; o++)
        for (int64_t q = 0; q < n_seen; q++) {
            sum[q] += (mp_wide)w[o * n_seen + q] * y[o * n + i];
            if (o % SYN_MODP_FOLD == SYN_MODP_FOLD - 1) sum[q] = mp_fold(sum[q]);
        }
    for (int64_t q = 0; q < n_seen; q++)
        seen[q] = mp_narrow(sum[q]);
}

static bool convolution(mp *m, const mp_call *c)
{
    conv v = {0};
    const mp_part *x = c->op == IR_OP_conv_transposed ? &c->out[0] : &c->in[0];
    const mp_part *w = c->op == IR_OP_conv_dw ? &c->out[0] : &c->in[1];
    const mp_part *y = c->op == IR_OP_conv              ? &c->out[0]
                       : c->op == IR_OP_conv_transposed ? &c->in[0]
                                                        : &c->in[1];
    if (!conv_of(m, x, w, y, &v)) return false;
    int64_t wide = x->ix[2]->l * x->ix[3]->l, at = y->ix[2]->l * y->ix[3]->l;
    int64_t size[] = {w->ix[2]->l, w->ix[3]->l}, entries = size[0] * size[1];
    int64_t n_seen = v.c * entries, images = x->ix[0]->l;
    const int64_t *to = places(m, c, x->ix + 2, y->ix + 2, size);
    uint64_t *seen = HB_ARRAY(m->tmp, uint64_t, at * n_seen + 1);
    mp_wide *sum = HB_ARRAY(m->tmp, mp_wide, n_seen + 1);
    for (int64_t n = 0; n < images * v.g; n++) {
        uint64_t *of_x = x->v + n * v.c * wide, *of_y = y->v + n * v.o * at,
                 *of_w = w->v + n % v.g * v.o * n_seen;
        bool back = c->op == IR_OP_conv_transposed;
        for (int64_t i = 0; i < at; i++) {
            uint64_t *own = seen + i * n_seen;
            if (back) give_back(&v, at, n_seen, i, of_w, of_y, sum, own);
            for (int64_t q = 0; q < n_seen; q++) {
                uint64_t *entry = &of_x[q / entries * wide + to[i * entries + q % entries]];
                if (back)
                    *entry = mp_add(*entry, own[q]);
                else
                    own[q] = *entry;
            }
        }
        if (!back) multiply(c->op, &v, at, n_seen, seen, of_w, of_y);
    }
    if (c->op != IR_OP_conv || c->n_in < 3) return true;
    const mp_part *bias = &c->in[2];
    if (bias->rank != 1 || bias->ix[0] != y->ix[1])
        return mp_fail(m, "has a bias cut in another way than its channels");
    for (int64_t e = 0; e < y->n; e++)
        y->v[e] = mp_add(y->v[e], bias->v[e / at % y->ix[1]->l]);
    return true;
}

// The largest entry of a window, and for the gradient its place.
static bool max_pool(mp *m, const mp_call *c)
{
    bool back = c->op == IR_OP_max_pool_bwd;
    const mp_part *x = &c->in[back], *y = back ? &c->in[0] : &c->out[0];
    int lead = x->rank - 2;
    if (x->rank < 2 || x->rank != y->rank) return mp_fail(m, "has operands of other dims");
    if (!whole(m, x, lead) || !whole(m, y, lead)) return false;
    for (int d = 0; d < x->rank; d++)
        if ((d < lead && x->ix[d] != y->ix[d]) || (back && c->out[0].ix[d] != x->ix[d]))
            return mp_fail(m, "has images cut differently");
    int64_t wide = x->ix[lead]->l * x->ix[lead + 1]->l, at = y->ix[lead]->l * y->ix[lead + 1]->l;
    const int64_t *size = c->attr[0].v, n = size[0] * size[1];
    const int64_t *to = places(m, c, x->ix + lead, y->ix + lead, size);
    for (int64_t e = 0; e < y->n; e++) {
        int64_t first = e / at * wide, best = -1;
        for (int64_t k = 0; k < n; k++) {
            int64_t entry = first + to[e % at * n + k];
            if (best < 0 || mp_more(x->v[entry], x->v[best])) best = entry;
        }
        if (back)
            c->out[0].v[best] = mp_add(c->out[0].v[best], y->v[e]);
        else
            y->v[e] = x->v[best];
    }
    return true;
}

mp_meaning *mp_conv(ir_op op)
{
    switch ((int)op) {
    case IR_OP_conv:
    case IR_OP_conv_transposed:
    case IR_OP_conv_dw:
        return convolution;
    case IR_OP_max_pool:
    case IR_OP_max_pool_bwd:
        return max_pool;
    default:
        return NULL;
    }
}
