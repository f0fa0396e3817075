// Which live buffers lie on given bytes.
//
// SEG_SYM is one space of bytes, SEG_LOCAL one a class (classes in which everything lies alike
// share one). All places are known from the start, so a space is an array of its buffers by first
// byte, with a tree over it that says where the live ones end: a query descends only to live
// buffers that begin before the range's end and end behind its start.

#include <stdlib.h>

#include "synth/certify/check_model.h"

struct chk_space {
    int cls;     // class whose offsets these are; SEG_SYM: 0
    int n, wide; // buffers; leaves of the tree, a power of two
    struct chk_place {
        int64_t first, end;
        int buffer;
    } * place;     // by first byte
    int64_t *ends; // [2 * wide] node k: the greatest end of a live buffer below, 0 none
    int *slot;     // by buffer: its place, -1
};

static int by_first(const void *x, const void *y)
{
    const struct chk_place *a = x, *b = y;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return a->buffer - b->buffer;
}

// Bytes of a buffer in a space: SEG_SYM lies at one offset, with the largest part.
static int64_t bytes_in(const chk *c, const chk_buffer *b, int cls)
{
    int64_t most = b->bytes[cls];
    for (int k = 0; b->t->seg == 0 && k < c->r->n_classes; k++)
        if (b->bytes[k] > most) most = b->bytes[k];
    return most;
}

static chk_space *space_of(chk *c, int seg, int cls)
{
    chk_space *s = HB_NEW(c->a, chk_space);
    *s = (chk_space){.cls = cls, .wide = 1};
    s->place = HB_ARRAY(c->a, struct chk_place, c->n_buffers);
    s->slot = HB_ARRAY(c->a, int, c->n_buffers);
    for (int i = 0; i < c->n_buffers; i++) {
        const chk_buffer *b = &c->buf[i];
        int64_t bytes = bytes_in(c, b, cls);
        s->slot[i] = -1;
        if (b->t->seg == seg && bytes > 0)
            s->place[s->n++] = (struct chk_place){b->t->off[cls], b->t->off[cls] + bytes, i};
    }
    qsort(s->place, (size_t)s->n, sizeof *s->place, by_first);
    for (int i = 0; i < s->n; i++)
        s->slot[s->place[i].buffer] = i;
    while (s->wide < s->n)
        s->wide *= 2;
    s->ends = HB_ARRAY(c->a, int64_t, 2 * s->wide);
    return s;
}

static bool alike(const chk *c, int x, int y)
{
    for (int i = 0; i < c->n_buffers; i++) {
        const chk_buffer *b = &c->buf[i];
        if (b->bytes[x] != b->bytes[y] || b->t->off[x] != b->t->off[y]) return false;
    }
    return true;
}

void chk_spaces(chk *c)
{
    c->space[c->n_spaces++] = space_of(c, 0, 0);
    for (int k = 0; k < c->r->n_classes; k++) {
        bool seen = false;
        for (int i = 1; i < c->n_spaces && !seen; i++)
            seen = alike(c, k, c->space[i]->cls);
        if (!seen) c->space[c->n_spaces++] = space_of(c, 1, k);
    }
}

static void set_end(chk_space *s, int slot, int64_t end)
{
    int k = s->wide + slot;
    s->ends[k] = end;
    for (k /= 2; k > 0; k /= 2)
        s->ends[k] = s->ends[2 * k] > s->ends[2 * k + 1] ? s->ends[2 * k] : s->ends[2 * k + 1];
}

static void set_live(chk *c, int b, bool live)
{
    c->buf[b].live = live;
    for (int i = 0; i < c->n_spaces; i++) {
        chk_space *s = c->space[i];
        if (s->slot[b] >= 0) set_end(s, s->slot[b], live ? s->place[s->slot[b]].end : 0);
    }
}

void chk_enlist(chk *c, int b)
{
    if (c->buf[b].live) return;
    c->buf[b].since = ++c->n_enlisted;
    set_live(c, b, true);
}

void chk_delist(chk *c, int b)
{
    if (c->buf[b].live) set_live(c, b, false);
}

// Live buffers of the places [lo, lo + n) below node k that begin before `upto` and end behind
// `first`.
static void descend(chk *c, const chk_space *s, int k, int lo, int n, int upto, int64_t first)
{
    if (lo >= upto || s->ends[k] <= first) return;
    if (n > 1) {
        descend(c, s, 2 * k, lo, n / 2, upto, first);
        descend(c, s, 2 * k + 1, lo + n / 2, n / 2, upto, first);
        return;
    }
    int b = s->place[lo].buffer;
    if (c->buf[b].found == c->n_queries) return;
    c->buf[b].found = c->n_queries;
    HB_PUSH(c->a, &c->hit, b);
}

static int places_before(const chk_space *s, int64_t end)
{
    int lo = 0, hi = s->n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (s->place[mid].first < end)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

// In the order in which they became live, so that a message names the oldest.
static void sort_hits(chk *c)
{
    for (int i = 1; i < c->hit.n; i++)
        for (int k = i; k > 0 && c->buf[c->hit.p[k]].since < c->buf[c->hit.p[k - 1]].since; k--) {
            int b = c->hit.p[k];
            c->hit.p[k] = c->hit.p[k - 1];
            c->hit.p[k - 1] = b;
        }
}

void chk_find_live(chk *c, int b)
{
    c->hit.n = 0;
    c->n_queries++;
    if (c->buf[b].live) {
        c->buf[b].found = c->n_queries;
        HB_PUSH(c->a, &c->hit, b);
    }
    for (int i = 0; i < c->n_spaces; i++) {
        const chk_space *s = c->space[i];
        if (s->slot[b] < 0) continue;
        const struct chk_place *p = &s->place[s->slot[b]];
        descend(c, s, 1, 0, s->wide, places_before(s, p->end), p->first);
    }
    int n = 0; // SEG_SYM's places are the largest parts: not every hit shares a byte
    for (int i = 0; i < c->hit.n; i++)
        if (c->hit.p[i] == b || chk_overlap(c, &c->buf[c->hit.p[i]], &c->buf[b]))
            c->hit.p[n++] = c->hit.p[i];
    c->hit.n = n;
    sort_hits(c);
}
