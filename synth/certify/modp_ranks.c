// The kept ranks, and the shrunken tables.
//
// Coordinates of an axis are alike if their ranks are of the same classes and the same tables give
// them something and nothing; two of each kind are kept, the first ones, so that coordinate 0 is,
// and an axis of more than one coordinate keeps two. The kept ranks are the mesh of the kept
// coordinates. Every table becomes one of small entries over it: nothing stays nothing, something
// something, equal tables equal and unlike ones unlike, a table of axis 0 that is the sums by
// machine of one over both axes stays that, and all tables of one factor size sum to one small
// size.

#include "synth/certify/modp_model.h"
#include "synth/plan/search_limits.h"

#include <string.h>

// --- the record's tables, each once

static int cut_of(mp *m, hb_map *by_place, hb_map *by_content, const rec_dim *v)
{
    struct place {
        const int64_t *table;
        int64_t size, axis;
    } at = {v->table, v->n, v->axis};
    hb_str key = {(const char *)&at, sizeof at};
    int id = hb_map_get(by_place, key);
    if (id >= 0) return id;
    int64_t *content = HB_ARRAY(m->a, int64_t, v->n_table + 2);
    content[0] = v->n;
    content[1] = v->axis;
    memcpy(content + 2, v->table, sizeof *content * (size_t)v->n_table);
    hb_str text = {(const char *)content, sizeof *content * (size_t)(v->n_table + 2)};
    id = hb_map_get(by_content, text);
    if (id < 0) {
        id = m->cuts.n;
        hb_map_put(by_content, text, id);
        HB_PUSH(m->a, &m->cuts,
                (mp_cut){.axis = v->axis,
                         .n_table = v->n_table,
                         .size = v->n,
                         .table = content + 2,
                         .sums = -1});
    }
    hb_map_put(by_place, (hb_str){hb_copy(m->a, &at, sizeof at), sizeof at}, id);
    return id;
}

static bool find_cuts(mp *m)
{
    const record *r = m->r;
    hb_map *by_place = hb_map_new(m->a), *by_content = hb_map_new(m->a);
    m->cut = hb_alloc(m->a, sizeof *m->cut * (size_t)(r->tensors.n + 1));
    for (int i = 0; i < r->tensors.n; i++)
        for (int d = 0; d < r->tensors.p[i].rank; d++) {
            const rec_dim *v = &r->tensors.p[i].dim[d];
            m->cut[i][d] = -1;
            if (v->axis < 0) continue;
            bool both = v->axis == SYN_BOTH && r->n_axes == SYN_MAX_AXES;
            if ((!both && v->axis >= r->n_axes) ||
                v->n_table != (both ? r->n_ranks : r->size[v->axis]))
                return mp_fail(m, "tensor %d has a table of another mesh", i);
            int known = m->cuts.n;
            int id = cut_of(m, by_place, by_content, v);
            m->cut[i][d] = id;
            int64_t at = 0;
            for (int k = 0; id == known && k < v->n_table; k++) {
                if (v->table[k] < 0 || v->table[k] > v->n - at)
                    return mp_fail(m, "the table of tensor %d goes beyond its factor", i);
                at += v->table[k];
            }
            if (id == known && at != v->n)
                return mp_fail(m, "the table of tensor %d does not sum to its factor", i);
        }
    for (int i = 0, n = m->cuts.n; i < n; i++) { // sums by machine are tables of axis 0 as well
        if (m->cuts.p[i].axis != SYN_BOTH) continue;
        int64_t *sums = HB_ARRAY(m->a, int64_t, r->size[0]);
        for (int k = 0; k < r->n_ranks; k++)
            sums[k / r->size[1]] += m->cuts.p[i].table[k];
        rec_dim v = {.n = m->cuts.p[i].size, .axis = 0, .n_table = r->size[0], .table = sums};
        int id = cut_of(m, by_place, by_content, &v);
        m->cuts.p[i].sums = id;
    }
    return true;
}

// --- kinds of coordinates

static int coordinate(const record *r, int rank, int axis)
{
    if (r->n_axes == 1 || axis == SYN_BOTH) return rank;
    return axis == 0 ? rank / r->size[1] : rank % r->size[1];
}

static void keep_of_axis(mp *m, int axis)
{
    const record *r = m->r;
    int n = r->size[axis], kept = 0;
    uint64_t *kind = HB_ARRAY(m->a, uint64_t, n);
    for (int rank = 0; rank < r->n_ranks; rank++) {
        int at = coordinate(r, rank, axis);
        kind[at] = mp_mix(kind[at] ^ (uint64_t)r->class_of[rank]);
    }
    for (int i = 0; i < m->cuts.n; i++) {
        const mp_cut *c = &m->cuts.p[i];
        if (c->axis != axis && c->axis != SYN_BOTH) continue;
        for (int k = 0; k < c->n_table; k++) {
            int at = c->axis == axis ? k : coordinate(r, k, axis);
            kind[at] = mp_mix(kind[at] ^ (c->table[k] > 0 ? 0x51u : 0x52u));
        }
    }
    m->kept[axis] = HB_ARRAY(m->a, int, n);
    for (int at = 0; at < n; at++) {
        int alike = 0;
        for (int k = 0; k < kept && alike < SYN_MODP_RANKS; k++)
            alike += kind[m->kept[axis][k]] == kind[at];
        if (alike < SYN_MODP_RANKS || m->exact) m->kept[axis][kept++] = at;
    }
    m->n_kept[axis] = kept;
}

static void keep_ranks(mp *m)
{
    const record *r = m->r;
    for (int a = 0; a < r->n_axes; a++)
        keep_of_axis(m, a);
    int inner = r->n_axes == 2 ? m->n_kept[1] : 1;
    m->n_ranks = m->n_kept[SYN_BOTH] = m->n_kept[0] * inner;
    m->kept[SYN_BOTH] = HB_ARRAY(m->a, int, m->n_ranks);
    m->coord = HB_ARRAY(m->a, int, m->n_ranks *MP_COORDS);
    for (int k = 0; k < m->n_ranks; k++) {
        int *c = m->coord + k * MP_COORDS;
        c[0] = k / inner;
        c[1] = k % inner;
        c[SYN_BOTH] = k;
        m->kept[SYN_BOTH][k] =
            r->n_axes == 2 ? m->kept[0][c[0]] * r->size[1] + m->kept[1][c[1]] : m->kept[0][k];
    }
}

bool mp_ranks(mp *m)
{
    if (!find_cuts(m)) return false;
    keep_ranks(m);
    for (int i = 0; i < m->cuts.n; i++) {
        mp_cut *c = &m->cuts.p[i];
        int n = m->n_kept[c->axis];
        c->need = HB_ARRAY(m->a, int64_t, n);
        c->entry = HB_ARRAY(m->a, int64_t, n);
        for (int k = 0; k < n; k++)
            c->need[k] = c->table[m->kept[c->axis][k]] > 0;
    }
    for (int i = 0; i < m->cuts.n; i++) { // a machine's sum is no less than its devices need
        const mp_cut *c = &m->cuts.p[i];
        for (int k = 0; c->sums >= 0 && k < m->n_kept[0]; k++) {
            int64_t all = 0, *need = &m->cuts.p[c->sums].need[k];
            for (int d = 0; d < m->n_kept[1]; d++)
                all += c->need[k * m->n_kept[1] + d];
            if (all > *need) *need = all;
        }
    }
    return true;
}

// --- small entries

// Entries that sum to `total`, none below what is needed; what is over goes to those that are not
// empty, as the hash says.
static void deal(const int64_t *need, int n, int64_t total, uint64_t hash, int64_t *entry)
{
    int64_t over = total;
    int some = 0;
    for (int k = 0; k < n; k++) {
        entry[k] = need[k];
        over -= need[k];
        some += need[k] > 0;
    }
    for (; over > 0 && some > 0; over--) {
        int at = (int)((hash = mp_mix(hash)) % (uint64_t)some);
        for (int k = 0; k < n; k++)
            if (need[k] > 0 && at-- == 0) entry[k]++;
    }
}

static bool unlike_others(const mp *m, int i)
{
    const mp_cut *a = &m->cuts.p[i];
    for (int k = 0; k < i; k++) {
        const mp_cut *b = &m->cuts.p[k];
        if (a->size == b->size && a->axis == b->axis &&
            memcmp(a->entry, b->entry, sizeof *a->entry * (size_t)m->n_kept[a->axis]) == 0)
            return false;
    }
    return true;
}

static bool deal_one(mp *m, int i, int64_t small, uint64_t hash)
{
    mp_cut *c = &m->cuts.p[i];
    int n = m->n_kept[c->axis], inner = m->n_kept[1];
    for (int try = 0; try < SYN_MODP_TRIES; try++) {
        uint64_t h = mp_mix(hash ^ (uint64_t)try << 32);
        if (c->axis != SYN_BOTH) deal(c->need, n, small, h, c->entry);
        for (int k = 0; c->axis == SYN_BOTH && k < m->n_kept[0]; k++)
            deal(c->need + k * inner, inner, m->cuts.p[c->sums].entry[k], mp_mix(h ^ (uint64_t)k),
                 c->entry + k * inner);
        if (unlike_others(m, i)) return true;
    }
    return false;
}

static bool deal_all(mp *m, int64_t size, int64_t small, uint64_t hash)
{
    for (int pass = 0; pass < 2; pass++) // those over both axes divide the sums
        for (int i = 0; i < m->cuts.n; i++) {
            const mp_cut *c = &m->cuts.p[i];
            if (c->size == size && (c->axis == SYN_BOTH) == (pass == 1) &&
                !deal_one(m, i, small, mp_mix(hash ^ (uint64_t)i)))
                return false;
        }
    return true;
}

static void as_they_are(mp *m, int64_t size)
{
    for (int i = 0; i < m->cuts.n; i++) {
        const mp_cut *c = &m->cuts.p[i];
        if (c->size == size) memcpy(c->entry, c->table, sizeof *c->entry * (size_t)c->n_table);
    }
}

bool mp_cut_entries(mp *m, int64_t size, int64_t *small, bool grow)
{
    if (grow) *small = size < SYN_MODP_UNCUT ? size : SYN_MODP_UNCUT;
    for (int i = 0; grow && i < m->cuts.n; i++) {
        int64_t all = 0;
        if (m->cuts.p[i].size != size || m->cuts.p[i].axis == SYN_BOTH) continue;
        for (int k = 0; k < m->n_kept[m->cuts.p[i].axis]; k++)
            all += m->cuts.p[i].need[k];
        if (all > *small) *small = all;
    }
    for (int try = 0; try < SYN_MODP_TRIES && !m->exact; try++) {
        if (deal_all(m, size, *small, (uint64_t)try)) return true;
        if (grow && try % 2 && *small < size) ++*small;
    }
    if (m->n_ranks < m->r->n_ranks)
        return mp_fail(m,
                       "there are more unlike cuts of a factor of %lld than few ranks tell apart",
                       (long long)size);
    *small = size;
    as_they_are(m, size);
    return true;
}
