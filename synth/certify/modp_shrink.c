// The shrunken graph: a small size for every factor.
//
// All factors of one size are shrunk alike: to what the shrunken tables sum to where some table
// cuts them (modp_ranks.c), else to 2. Only a factor of size 1 has 1. Slices and pads keep that a
// part begins at or behind the start and ends at or before the end; where this or a reshape does
// not work out, the sizes concerned stay as they are.

#include "synth/certify/modp_model.h"
#include "synth/plan/search_limits.h"

static mp_size *find(const mp *m, int64_t size)
{
    int at = hb_map_get(m->size_at, (hb_str){(const char *)&size, sizeof size});
    return at < 0 ? NULL : &m->sizes.p[at];
}

static mp_size *of(const mp *m, int cls)
{
    return &m->sizes.p[m->size_of[cls]];
}

static int64_t least(int64_t size)
{
    return size < SYN_MODP_UNCUT ? size : SYN_MODP_UNCUT;
}

static void touch(mp *m, int64_t size)
{
    if (find(m, size)) return;
    hb_map_put(m->size_at, (hb_str){hb_copy(m->a, &size, sizeof size), sizeof size}, m->sizes.n);
    HB_PUSH(m->a, &m->sizes,
            (mp_size){.size = size, .small = m->exact ? size : least(size), .pinned = m->exact});
}

int64_t mp_small_dim(const mp *m, int t, int d)
{
    int64_t n = 1;
    const ir_dim_factors *f = &m->f->dim[t][d];
    for (int q = 0; q < f->n; q++)
        n *= of(m, f->cls[q])->small;
    return n;
}

static bool pin_dim(mp *m, int t, int d)
{
    bool more = false;
    const ir_dim_factors *f = &m->f->dim[t][d];
    for (int q = 0; q < f->n; q++) {
        mp_size *s = of(m, f->cls[q]);
        more = more || !s->pinned;
        s->pinned = true;
        s->small = s->size;
    }
    return more;
}

// Dim d of `whole` has the dim of `part` inside, with something before or behind.
static bool nest(mp *m, int whole, int part, int d, int64_t start)
{
    const ir_dim_factors *fw = &m->f->dim[whole][d], *fp = &m->f->dim[part][d];
    int64_t nw = m->g->tensors.p[whole].dim[d], np = m->g->tensors.p[part].dim[d];
    int64_t gap = (start > 0) + (start + np < nw);
    if (mp_small_dim(m, part, d) + gap == mp_small_dim(m, whole, d)) return false;
    if (mp_small_dim(m, part, d) == np && mp_small_dim(m, whole, d) == nw) return false;
    mp_size *w = fw->n == 1 ? of(m, fw->cls[0]) : NULL;
    mp_size *p = fp->n == 1 ? of(m, fp->cls[0]) : NULL;
    if (w && p && w != p && !w->pinned && !p->pinned) {
        if (!w->cut && (p->cut || p->small + gap > w->small) && p->small + gap <= nw)
            w->small = p->small + gap;
        else if (!p->cut && w->small - gap >= least(np) && w->small - gap <= np)
            p->small = w->small - gap;
        if (p->small + gap == w->small) return true;
    }
    bool more = pin_dim(m, whole, d);
    return pin_dim(m, part, d) || more;
}

// Channels of a convolution are groups of those of its weight.
static bool settle_groups(mp *m, int x, int w)
{
    int64_t c = mp_small_dim(m, w, 1), n = mp_small_dim(m, x, 1) / c;
    if (n * c == mp_small_dim(m, x, 1) && n > 0 && mp_small_dim(m, w, 0) % n == 0) return false;
    bool more = pin_dim(m, x, 1);
    more = pin_dim(m, w, 0) || more;
    return pin_dim(m, w, 1) || more;
}

static bool settle(mp *m, const ir_node *n) // true: something changed
{
    bool more = false;
    int x = n->in[0], y = n->out[0];
    int64_t have = 1, want = 1;
    if (n->op == IR_OP_reshape) {
        for (int d = 0; d < m->g->tensors.p[x].rank; d++)
            have *= mp_small_dim(m, x, d);
        for (int d = 0; d < m->g->tensors.p[y].rank; d++)
            want *= mp_small_dim(m, y, d);
        if (have == want) return false;
        for (int d = 0; d < m->g->tensors.p[x].rank; d++)
            more = pin_dim(m, x, d) || more;
        for (int d = 0; d < m->g->tensors.p[y].rank; d++)
            more = pin_dim(m, y, d) || more;
        return more;
    }
    if (n->op == IR_OP_rotary) { // halves
        int last = m->g->tensors.p[x].rank - 1;
        return mp_small_dim(m, x, last) % 2 ? pin_dim(m, x, last) : false;
    }
    if (ir_op_of(n->op)->role == IR_ROLE_conv)
        return settle_groups(m, n->op == IR_OP_conv_transposed ? y : x,
                             n->op == IR_OP_conv_dw ? y : n->in[1]);
    int d = (int)n->attr[0].i;
    if (n->op == IR_OP_slice) return nest(m, x, y, d, n->attr[1].i);
    if (n->op == IR_OP_pad) return nest(m, y, x, d, n->attr[1].i);
    if (n->op != IR_OP_split && n->op != IR_OP_concat) return false;
    bool split = n->op == IR_OP_split;
    int n_parts = split ? n->n_out : n->n_in, whole = split ? x : y;
    have = 0;
    for (int i = 0; i < n_parts; i++)
        have += mp_small_dim(m, split ? n->out[i] : n->in[i], d);
    if (have == mp_small_dim(m, whole, d)) return false;
    const ir_dim_factors *f = &m->f->dim[whole][d];
    for (int q = 0; q < f->n; q++) { // equal parts: as many as a factor says
        mp_size *z = of(m, f->cls[q]);
        if (z->size != n_parts || z->pinned) continue;
        z->pinned = true;
        z->small = z->size;
        return true;
    }
    more = pin_dim(m, whole, d);
    for (int i = 0; i < n_parts; i++)
        more = pin_dim(m, split ? n->out[i] : n->in[i], d) || more;
    return more;
}

bool mp_shrink(mp *m)
{
    m->size_at = hb_map_new(m->a);
    m->size_of = HB_ARRAY(m->a, int, m->f->n_classes + 1);
    for (int i = 0; i < m->f->n_classes; i++) {
        touch(m, m->f->cls[i].size);
        m->size_of[i] = (int)(find(m, m->f->cls[i].size) - m->sizes.p);
    }
    for (int i = 0; i < m->cuts.n; i++) {
        mp_size *s = find(m, m->cuts.p[i].size);
        if (!s) return mp_fail(m, "a table cuts no factor of the graph");
        if (!s->cut && !mp_cut_entries(m, s->size, &s->small, true)) return false;
        s->cut = true;
        if (s->small > s->size) s->pinned = true;
    }
    bool more = true;
    for (int round = 0; more; round++) {
        if (round == SYN_MODP_ROUNDS) return mp_fail(m, "the sizes of the graph cannot be shrunk");
        more = false;
        for (int n = 0; n < m->g->nodes.n; n++)
            more = settle(m, &m->g->nodes.p[n]) || more;
    }
    for (int i = 0; i < m->sizes.n; i++) {
        mp_size *s = &m->sizes.p[i];
        if (!s->cut || !s->pinned) continue;
        s->small = s->size;
        if (!mp_cut_entries(m, s->size, &s->small, false)) return false;
    }
    return true;
}

static const mp_index *mp_index_of(mp *m, int64_t outer, int64_t n, int64_t inner, int64_t first,
                                   int64_t count)
{
    const int64_t key[5] = {outer, n, inner, first, count};
    mp_index **b = &m->bucket[hb_hash_key(key, sizeof key) % SYN_MODP_BUCKETS];
    for (mp_index *i = *b; i; i = i->next)
        if (i->outer == outer && i->n == n && i->inner == inner && i->first == first &&
            i->count == count)
            return i;
    mp_index *x = HB_NEW(m->a, mp_index);
    *x = (mp_index){outer, n,    inner, first, count, outer * count * inner, outer * n * inner,
                    NULL,  NULL, *b};
    x->at = HB_ARRAY(m->a, int32_t, x->l + 1);
    x->of = HB_ARRAY(m->a, int32_t, x->g + 1);
    for (int64_t g = 0; g < x->g; g++)
        x->of[g] = -1;
    for (int64_t i = 0; i < x->l; i++) {
        int64_t part = count * inner, g = i / part * n * inner + first * inner + i % part;
        x->at[i] = (int32_t)g;
        x->of[g] = (int32_t)i;
    }
    *b = x;
    return x;
}

const mp_index *mp_whole(mp *m, int tensor, int dim)
{
    int64_t n = mp_small_dim(m, tensor, dim);
    return mp_index_of(m, 1, n, 1, 0, n);
}

bool mp_shape(mp *m, int t, int record_tensor, int rank, mp_part *out)
{
    const rec_tensor *s = &m->r->tensors.p[record_tensor];
    const ir_tensor *v = &m->g->tensors.p[t];
    if (s->rank != v->rank) return mp_fail(m, "tensor %d has not the rank of the value", s->id);
    *out = (mp_part){.rank = s->rank, .n = 1, .dtype = v->dtype};
    for (int d = 0; d < s->rank; d++) {
        const rec_dim *c = &s->dim[d];
        const ir_dim_factors *f = &m->f->dim[t][d];
        if (c->outer * c->n * c->inner != v->dim[d])
            return mp_fail(m, "tensor %d has not the dims of the value", s->id);
        if (c->axis < 0) {
            out->ix[d] = mp_whole(m, t, d);
        } else {
            int64_t outer = 1, inner = 1, full = 1, first = 0;
            int q = 0;
            for (; q < f->n; q++) { // of factors of size 1 beside it any will do
                if (full == c->outer && m->f->cls[f->cls[q]].size == c->n) break;
                full *= m->f->cls[f->cls[q]].size;
                outer *= of(m, f->cls[q])->small;
            }
            if (q == f->n) return mp_fail(m, "tensor %d is cut at no factor of the value", s->id);
            for (int k = q + 1; k < f->n; k++)
                inner *= of(m, f->cls[k])->small;
            const mp_cut *cut = &m->cuts.p[m->cut[record_tensor][d]];
            int at = m->coord[rank * MP_COORDS + cut->axis];
            for (int k = 0; k < at; k++)
                first += cut->entry[k];
            out->ix[d] = mp_index_of(m, outer, find(m, c->n)->small, inner, first, cut->entry[at]);
        }
        out->n *= out->ix[d]->l;
    }
    return true;
}
