// Faults of buffers: their cuts, sizes, types and places; and of what is declared before the step.

#include <math.h>
#include <string.h>

#include "tests/certify/mutate_parts.h"

typedef struct shared {
    int tensor, axis;
} shared;

static bool find_shared(mut *m, shared *s)
{
    int c = mut_choose(m, mut_is_op);
    if (c < 0) return false;
    const rec_call *k = mut_call(m, c);
    int n = k->n_in + k->n_out, at = mut_pick(m, n * SYN_MAX_AXES);
    for (int i = 0; i < n * SYN_MAX_AXES; i++) {
        int slot = (at + i) % n, axis = (at + i) / n % SYN_MAX_AXES;
        int id = slot < k->n_in ? k->in[slot] : k->out[slot - k->n_in];
        if (mut_axis_cut(&m->r->tensors.p[id], axis) < 0) continue;
        for (int o = 0; o < n; o++) {
            int other = o < k->n_in ? k->in[o] : k->out[o - k->n_in];
            if (other == id || mut_axis_cut(&m->r->tensors.p[other], axis) < 0) continue;
            *s = (shared){id, axis};
            return true;
        }
    }
    return false;
}

static rec_dim *shared_dim(mut *m, const shared *s)
{
    rec_tensor *t = &m->r->tensors.p[s->tensor];
    rec_dim *d = &t->dim[mut_axis_cut(t, s->axis)];
    d->table = hb_copy(m->a, d->table, sizeof *d->table * (size_t)d->n_table);
    return d;
}

bool mut_swap_table(mut *m)
{
    shared s;
    if (!find_shared(m, &s)) return false;
    rec_dim *d = shared_dim(m, &s);
    int i = mut_pick(m, d->n_table), j = mut_pick(m, d->n_table);
    int64_t t = d->table[i];
    if (t == d->table[j]) return false;
    d->table[i] = d->table[j];
    d->table[j] = t;
    return true;
}

bool mut_bad_table(mut *m)
{
    shared s;
    if (!find_shared(m, &s)) return false;
    rec_dim *d = shared_dim(m, &s);
    d->table[mut_pick(m, d->n_table)] += mut_pick(m, 2) ? 1 : -1;
    return true;
}

bool mut_uncut_dim(mut *m)
{
    shared s;
    if (!find_shared(m, &s)) return false;
    rec_dim *d = shared_dim(m, &s);
    *d = (rec_dim){.n = d->outer * d->n * d->inner, .outer = 1, .inner = 1, .axis = -1};
    return true;
}

bool mut_other_factor(mut *m)
{
    shared s;
    if (!find_shared(m, &s)) return false;
    rec_dim *d = shared_dim(m, &s);
    if (d->n % 2 != 0 || d->n < 4) return false;
    d->n /= 2;
    *(mut_pick(m, 2) ? &d->outer : &d->inner) *= 2;
    int64_t left = d->n;
    for (int i = 0; i < d->n_table; i++) {
        d->table[i] = i + 1 < d->n_table ? d->n / d->n_table : left;
        left -= d->table[i];
    }
    return true;
}

bool mut_other_axis(mut *m)
{
    shared s;
    if (m->r->n_axes < 2 || m->r->size[0] != m->r->size[1] || !find_shared(m, &s)) return false;
    if (mut_axis_cut(&m->r->tensors.p[s.tensor], 1 - s.axis) >= 0) return false; // or joint
    shared_dim(m, &s)->axis = 1 - s.axis;
    return true;
}

// A buffer cut over both axes, of an op call of which another buffer is cut so; NULL.
static rec_dim *joint_dim(mut *m)
{
    shared s;
    for (int try = 0; try < 20; try++) {
        if (!find_shared(m, &s)) return NULL;
        rec_dim *d = shared_dim(m, &s);
        if (d->axis == SYN_BOTH) return d;
    }
    return NULL;
}

bool mut_joint_order(mut *m)
{
    rec_dim *d = joint_dim(m);
    if (!d) return false;
    const int64_t *was = hb_copy(m->a, d->table, sizeof *was * (size_t)d->n_table);
    for (int i = 0; i < d->n_table; i++)
        d->table[i % m->r->size[1] * m->r->size[0] + i / m->r->size[1]] = was[i];
    return memcmp(was, d->table, sizeof *was * (size_t)d->n_table) != 0;
}

bool mut_joint_shift(mut *m)
{
    rec_dim *d = joint_dim(m);
    if (!d) return false;
    const int64_t *was = hb_copy(m->a, d->table, sizeof *was * (size_t)d->n_table);
    for (int i = 0; i < d->n_table; i++)
        d->table[(i + 1) % d->n_table] = was[i];
    return memcmp(was, d->table, sizeof *was * (size_t)d->n_table) != 0;
}

bool mut_joint_split(mut *m)
{
    rec_dim *d = joint_dim(m);
    if (!d) return false;
    int axis = mut_pick(m, SYN_MAX_AXES), n = m->r->size[axis];
    int64_t *sums = HB_ARRAY(m->a, int64_t, n);
    for (int i = 0; i < d->n_table; i++)
        sums[axis == 0 ? i / m->r->size[1] : i % m->r->size[1]] += d->table[i];
    d->axis = axis;
    d->n_table = n;
    d->table = sums;
    return true;
}

// A change over axis 1 alone between a cut over both axes and its sums by machine.
static bool meets_sums(mut *m, int c)
{
    const rec_call *k = mut_call(m, c);
    if (!m->needed[c] || (k->kind != REC_SLICE && (k->kind != REC_START || k->axes != 2u)))
        return false;
    const rec_tensor *x = &m->r->tensors.p[k->in[0]], *y = &m->r->tensors.p[k->out[0]];
    int s = mut_axis_cut(x, 0), d = mut_axis_cut(y, 0);
    return s >= 0 && s == d && (x->dim[s].axis == SYN_BOTH) != (y->dim[d].axis == SYN_BOTH);
}

bool mut_joint_sums(mut *m)
{
    int c = mut_choose(m, meets_sums);
    if (c < 0) return false;
    const rec_call *k = mut_call(m, c);
    int id = k->in[0], at = mut_axis_cut(&m->r->tensors.p[id], 0);
    if (m->r->tensors.p[id].dim[at].axis == SYN_BOTH) id = k->out[0];
    shared s = {id, 0};
    rec_dim *d = shared_dim(m, &s);
    int64_t first = d->table[0], last = d->table[d->n_table - 1];
    d->table[0] = last;
    d->table[d->n_table - 1] = first;
    return first != last;
}

// A tensor that some needed op call reads or writes.
static rec_tensor *used_tensor(mut *m)
{
    int c = mut_choose(m, mut_is_op);
    if (c < 0) return NULL;
    const rec_call *k = mut_call(m, c);
    int i = mut_pick(m, k->n_in + k->n_out);
    return &m->r->tensors.p[i < k->n_in ? k->in[i] : k->out[i - k->n_in]];
}

bool mut_wrong_size(mut *m)
{
    rec_tensor *t = used_tensor(m);
    if (!t || t->rank == 0) return false;
    rec_dim *d = &t->dim[mut_pick(m, t->rank)];
    d->n++;
    if (d->axis >= 0) {
        d->table = hb_copy(m->a, d->table, sizeof *d->table * (size_t)d->n_table);
        d->table[mut_pick(m, d->n_table)]++;
    }
    return true;
}

bool mut_wrong_dtype(mut *m)
{
    rec_tensor *t = used_tensor(m);
    if (!t) return false;
    t->dtype = (ir_dtype)(((int)t->dtype + 1 + mut_pick(m, IR_N_DTYPES - 1)) % IR_N_DTYPES);
    return true;
}

static void put_at(mut *m, int id, const rec_tensor *where)
{
    rec_tensor *t = &m->r->tensors.p[id];
    t->seg = where->seg;
    for (int i = 0; i < m->r->n_classes; i++)
        t->off[i] = where->off[i];
}

static bool wire(mut *m, int id)
{
    for (int c = 0; c < m->r->calls.n; c++) {
        const rec_call *k = mut_call(m, c);
        if (k->kind != REC_START) continue;
        for (int i = 0; i < k->n_in; i++)
            if (k->in[i] == id || k->out[i] == id) return true;
    }
    return false;
}

// Has every rank at least one byte of it?
static bool everywhere(const rec_tensor *t)
{
    for (int d = 0; d < t->rank; d++) {
        if (t->dim[d].n == 0) return false;
        for (int i = 0; i < t->dim[d].n_table; i++)
            if (t->dim[d].table[i] == 0) return false;
    }
    return true;
}

bool mut_overlap(mut *m)
{
    int c = mut_choose(m, mut_droppable);
    if (c < 0 || mut_in_place(mut_call(m, c))) return false;
    int x = mut_call(m, c)->out[0];
    uint64_t after = mut_walk(m, c + 1)[x];
    const uint64_t *term = mut_walk(m, c);
    int n = m->r->tensors.n, at = mut_pick(m, n);
    for (int i = 0; i < n; i++) {
        int y = (at + i) % n;
        const rec_tensor *ty = &m->r->tensors.p[y];
        if (y == x || !term[y] || term[y] == after || mut_reader(m, y, c + 1) < 0 ||
            (ty->seg == 1 && wire(m, x)) || !everywhere(ty) || !everywhere(&m->r->tensors.p[x]))
            continue;
        put_at(m, x, ty);
        return true;
    }
    return false;
}

// A call between start and wait writes on bytes that the collective sends or fills.
bool mut_in_flight(mut *m)
{
    int s = mut_choose(m, mut_is_start);
    if (s < 0) return false;
    const rec_call *k = mut_call(m, s);
    int w = mut_wait_of(m, s), p = mut_pick(m, k->n_in), y = mut_pick(m, 2) ? k->in[p] : k->out[p];
    for (int c = s + 1; c < w; c++) {
        if (!mut_droppable(m, c) || mut_in_place(mut_call(m, c))) continue;
        int x = mut_call(m, c)->out[0];
        if (x == y || !everywhere(&m->r->tensors.p[x]) || !everywhere(&m->r->tensors.p[y]))
            continue;
        put_at(m, x, &m->r->tensors.p[y]);
        return true;
    }
    return false;
}

static bool has_scratch(mut *m, int c)
{
    return mut_is_start(m, c) && mut_call(m, c)->scratch >= 0;
}

bool mut_scratch_on_data(mut *m)
{
    int c = mut_choose(m, has_scratch);
    if (c < 0) return false;
    const rec_tensor *s = &m->r->tensors.p[mut_call(m, c)->in[0]];
    for (int d = 0; d < s->rank; d++)
        if (s->dim[d].axis >= 0) return false; // a part may be empty on every rank of a class
    if (mut_global_bytes(s) == 0) return false;
    put_at(m, mut_call(m, c)->scratch, s);
    return true;
}

// Forms that need scratch whatever the shapes, as long as anything moves.
static bool always_scratch(mut *m, int c)
{
    const rec_call *k = mut_call(m, c);
    if (!has_scratch(m, c)) return false;
    // A one-sided put sums in slots of scratch, and writes all else where it belongs.
    if (cost_is_put(k->form)) return true;
    return k->coll == COST_ALL_TO_ALL || k->coll == COST_RESHARD || k->form == COST_PADDED ||
           k->form == COST_EVEN_FLAT || k->form == COST_TWO_LEVEL;
}

bool mut_no_scratch(mut *m)
{
    int c = mut_choose(m, always_scratch);
    if (c < 0) return false;
    mut_call(m, c)->scratch = -1;
    return true;
}

bool mut_small_scratch(mut *m)
{
    int c = mut_choose(m, always_scratch);
    if (c < 0) return false;
    rec_tensor *t = &m->r->tensors.p[mut_call(m, c)->scratch];
    t->dim[0].n = 4 / ir_dtype_bytes(t->dtype);
    return true;
}

bool mut_misaligned(mut *m)
{
    rec_tensor *t = used_tensor(m);
    if (!t) return false;
    for (int i = 0; i < m->r->n_classes; i++)
        t->off[i] += 64;
    return true;
}

bool mut_outside(mut *m)
{
    rec_tensor *t = used_tensor(m);
    if (!t || mut_global_bytes(t) == 0) return false;
    for (int i = 0; i < m->r->n_classes; i++) // some rank of some class holds a part
        t->off[i] = t->seg == 0 ? m->r->sym_bytes : m->r->local_bytes[i];
    return true;
}

bool mut_not_symmetric(mut *m)
{
    int c = mut_choose(m, mut_is_start);
    if (c < 0 || m->r->n_classes < 2) return false;
    if (m->r->tensors.p[mut_call(m, c)->in[0]].seg != 0) return false;
    m->r->tensors.p[mut_call(m, c)->in[0]].off[1] += 4096;
    m->r->sym_bytes += 4096;
    return true;
}

static bool is_put(mut *m, int c)
{
    return mut_is_start(m, c) && cost_is_put(mut_call(m, c)->form);
}

bool mut_put_to_local(mut *m)
{
    int c = mut_choose(m, is_put);
    if (c < 0) return false;
    const rec_call *k = mut_call(m, c);
    bool sums = k->scratch >= 0 && (k->coll == COST_REDUCE_SCATTER || mut_pick(m, 2) == 0);
    if (!sums && k->coll == COST_REDUCE_SCATTER) return false; // of nothing
    rec_tensor *t = &m->r->tensors.p[sums ? k->scratch : k->out[0]];
    if (t->seg != 0) return false;
    t->seg = 1;
    for (int i = 0; i < m->r->n_classes; i++) {
        t->off[i] = m->r->local_bytes[i];
        m->r->local_bytes[i] += (mut_global_bytes(t) + 255) / 256 * 256;
    }
    return true;
}

// A random declaration of one of the kinds in the mask; NULL.
static rec_call *declaration(mut *m, unsigned kinds)
{
    int n = mut_first_step(m), at = n > 0 ? mut_pick(m, n) : 0;
    for (int i = 0; i < n; i++)
        if (kinds >> mut_call(m, (at + i) % n)->kind & 1u) return mut_call(m, (at + i) % n);
    return NULL;
}

bool mut_wrong_fill(mut *m)
{
    rec_call *k = declaration(m, 1u << REC_PARAM | 1u << REC_BUFFER | 1u << REC_CONST);
    if (!k) return false;
    int i = 1 + mut_pick(m, 2);
    if (k->num[0] == 0 && i == 2) return false; // a constant has one number
    k->num[i] = nextafter(k->num[i], 10);
    if (k->text.n > 0) k->text = HB_STR("consts.safetensors#something else");
    return true;
}

bool mut_wrong_rate(mut *m)
{
    rec_call *k = declaration(m, 1u << REC_SCHEDULE);
    if (!k) return false;
    k->num[mut_pick(m, IR_SCHEDULE)] += 1;
    return true;
}

bool mut_wrong_batch(mut *m)
{
    rec_call *k = declaration(m, 1u << REC_BATCH);
    if (!k) return false;
    k->num[0] += 1;
    return true;
}

bool mut_swap_names(mut *m)
{
    rec_call *a = declaration(m, 1u << REC_PARAM | 1u << REC_STATE);
    rec_call *b = declaration(m, 1u << REC_PARAM | 1u << REC_STATE);
    if (!a || !b || a == b) return false;
    hb_str t = a->name;
    a->name = b->name;
    b->name = t;
    return true;
}

bool mut_no_declaration(mut *m)
{
    rec_call *k = declaration(m, 1u << REC_PARAM | 1u << REC_STATE | 1u << REC_LOSS |
                                     1u << REC_BATCH | 1u << REC_SCHEDULE | 1u << REC_ALIAS);
    if (!k || (k->kind == REC_BATCH && !(k->num[0] > 0))) return false; // a graph without a batch
    mut_remove_call(m, (int)(k - m->r->calls.p));
    return true;
}

static bool wrong_result(mut *m, rec_kind kind)
{
    rec_call *k = declaration(m, 1u << kind);
    if (!k) return false;
    const uint64_t *term = mut_walk(m, m->r->calls.n);
    int n = m->r->tensors.n, at = mut_pick(m, n), now = k->in[0];
    for (int i = 0; i < n; i++) {
        int o = (at + i) % n;
        if (!term[o] || term[o] == term[now]) continue;
        k->in[0] = o;
        return true;
    }
    return false;
}

bool mut_wrong_loss(mut *m)
{
    return wrong_result(m, REC_LOSS);
}

bool mut_wrong_gradient(mut *m)
{
    return wrong_result(m, REC_GRAD);
}
