// Ranks that nothing tells apart: all of one class at which every table of the record has the same
// entry hold parts of the same sizes, so that one of them stands for all. Where a table runs over
// both axes, what the whole machine has counts, too. And what is asked of a
// table again and again: whether it is one, its largest entry, in what steps it cuts.

#include "synth/certify/check_model.h"

static hb_str bytes_of(const void *p, size_t n)
{
    return (hb_str){p, n};
}

static int64_t common(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static chk_table summary(const rec_dim *d)
{
    chk_table t = {.dim = d, .good = true};
    int64_t at = 0;
    for (int i = 0; i < d->n_table && t.good; i++) {
        int64_t v = d->table[i];
        t.good = v >= 0 && v <= d->n - at;
        if (!t.good) break;
        at += v;
        if (v > t.most) t.most = v;
        if (at != d->n) t.step = common(t.step, at);
    }
    t.good = t.good && at == d->n;
    return t;
}

typedef struct table_key {
    const int64_t *table;
    int64_t n;
    int n_table, axis;
} table_key;

chk_table chk_table_of(chk *c, const rec_dim *d)
{
    table_key key = {d->table, d->n, d->n_table, d->axis};
    int known = hb_map_get(c->table_at, bytes_of(&key, sizeof key));
    if (known < 0) {
        known = c->tables.n;
        HB_PUSH(c->a, &c->tables, summary(d));
        hb_map_put(c->table_at, bytes_of(hb_copy(c->a, &key, sizeof key), sizeof key), known);
    }
    return c->tables.p[known];
}

// Splits the kinds of ranks by a number each.
static void split(chk *c, int *kind, const int64_t *by)
{
    struct {
        int64_t by, kind;
    } key, last = {-1, -1};
    hb_map *seen = hb_map_new(c->a);
    int n = 0, at = -1;
    for (int r = 0; r < c->r->n_ranks; r++) {
        key.by = by[r];
        key.kind = kind[r];
        if (r == 0 || key.by != last.by || key.kind != last.kind) {
            at = hb_map_get(seen, bytes_of(&key, sizeof key));
            if (at < 0) {
                at = n++;
                hb_map_put(seen, bytes_of(hb_copy(c->a, &key, sizeof key), sizeof key), at);
            }
        }
        last = key;
        kind[r] = at;
    }
    c->n_kinds = n;
}

// Numbers machines by what a table over both axes gives their ranks.
static void number_machines(const chk *c, const rec_dim *d, int64_t *by)
{
    int n = c->r->size[1];
    hb_map *seen = hb_map_new(c->a);
    for (int r = 0; r < c->r->n_ranks; r++) {
        if (r % n != 0) {
            by[r] = by[r - 1];
            continue;
        }
        hb_str part = bytes_of(&d->table[r], sizeof *d->table * (size_t)n);
        if (hb_map_get(seen, part) < 0) hb_map_put(seen, part, r);
        by[r] = hb_map_get(seen, part);
    }
}

void chk_ranks(chk *c)
{
    int n = c->r->n_ranks, *kind = HB_ARRAY(c->a, int, n);
    int64_t *by = HB_ARRAY(c->a, int64_t, n);
    hb_map *seen = hb_map_new(c->a); // equal tables split alike
    for (int r = 0; r < n; r++)
        kind[r] = c->r->class_of[r];
    c->n_kinds = c->r->n_classes;
    for (int i = 0; i < c->tables.n; i++) {
        const rec_dim *d = c->tables.p[i].dim;
        hb_buf key = {.arena = c->a};
        hb_putn(&key, (const char *)&d->axis, sizeof d->axis);
        hb_putn(&key, (const char *)d->table, sizeof *d->table * (size_t)d->n_table);
        if (hb_map_get(seen, hb_done(&key)) >= 0) continue;
        hb_map_put(seen, hb_done(&key), i);
        for (int r = 0; r < n; r++)
            by[r] = d->table[chk_coord(c, r, d->axis)];
        split(c, kind, by);
        if (d->axis != SYN_BOTH) continue;
        number_machines(c, d, by);
        split(c, kind, by);
    }
    c->rank_of_kind = HB_ARRAY(c->a, int, c->n_kinds);
    for (int r = n - 1; r >= 0; r--)
        c->rank_of_kind[kind[r]] = r;
}
