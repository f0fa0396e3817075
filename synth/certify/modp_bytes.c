// Which buffers lose their bytes to a write.
//
// The symmetric segment is one space of bytes, the local segment one a class. A space keeps its
// buffers by first byte, and over them a tree of the greatest end of those that hold something: a
// write looks below a node only if something there ends behind its start.

#include <stdlib.h>
#include <string.h>

#include "synth/certify/modp_model.h"

typedef struct place {
    int64_t first, end;
    int id;
} place;

typedef struct space {
    int cls, n, leaves; // leaves: a power of two
    place *place;       // by first byte
    int64_t *ends;      // [2 * leaves] by node; 0: nothing
    int *slot;          // by buffer, -1
} space;

typedef struct held {
    int64_t bytes[CL_MAX_CLASSES]; // largest part of a class
    int content;
    bool on;
} held;

struct mp_bytes {
    mp *m;
    held *buf;
    int n_spaces;
    space space[1 + CL_MAX_CLASSES];
    HB_VEC(int) hit;
};

// --- sizes

typedef struct largest {
    int64_t by_class[CL_MAX_CLASSES];
} largest;

// Entries of the cut dims of a tensor, multiplied: the most of every class.
static largest largest_of(const mp *m, const rec_tensor *t)
{
    const record *r = m->r;
    largest out = {{0}};
    for (int rank = 0; rank < r->n_ranks; rank++) {
        int64_t n = 1, *most = &out.by_class[r->class_of[rank]];
        for (int d = 0; d < t->rank; d++) {
            const rec_dim *v = &t->dim[d];
            if (v->axis < 0) continue;
            n *= v->table[r->n_axes == 1 || v->axis == SYN_BOTH ? rank
                          : v->axis == 0                        ? rank / r->size[1]
                                                                : rank % r->size[1]];
        }
        if (n > *most) *most = n;
    }
    return out;
}

static void find_sizes(mp_bytes *b)
{
    mp *m = b->m;
    hb_map *at = hb_map_new(m->a); // cuts of a tensor's dims -> index of `known`
    HB_VEC(largest) known = {0};
    for (int i = 0; i < m->r->tensors.n; i++) {
        const rec_tensor *t = &m->r->tensors.p[i];
        int64_t rest = ir_dtype_bytes(t->dtype);
        int key[IR_MAX_RANK] = {0}, n = 0;
        for (int d = 0; d < t->rank; d++) {
            rest *= t->dim[d].outer * t->dim[d].inner * (t->dim[d].axis < 0 ? t->dim[d].n : 1);
            if (m->cut[i][d] >= 0) key[n++] = m->cut[i][d] + 1;
        }
        int k = hb_map_get(at, (hb_str){(const char *)key, sizeof key});
        if (k < 0) {
            k = known.n;
            hb_map_put(at, (hb_str){hb_copy(m->a, key, sizeof key), sizeof key}, k);
            HB_PUSH(m->a, &known, largest_of(m, t));
        }
        for (int c = 0; c < m->r->n_classes; c++)
            b->buf[i].bytes[c] = known.p[k].by_class[c] * rest;
    }
}

// --- spaces

static int by_first(const void *x, const void *y)
{
    const place *a = x, *b = y;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return a->id - b->id;
}

static void add_space(mp_bytes *b, int seg, int cls)
{
    const record *r = b->m->r;
    space *s = &b->space[b->n_spaces++];
    *s = (space){.cls = cls, .leaves = 1};
    s->place = HB_ARRAY(b->m->a, place, r->tensors.n + 1);
    s->slot = HB_ARRAY(b->m->a, int, r->tensors.n + 1);
    for (int i = 0; i < r->tensors.n; i++) {
        int64_t bytes = b->buf[i].bytes[cls], at = r->tensors.p[i].off[cls];
        for (int c = 0; seg == 0 && c < r->n_classes; c++)
            if (b->buf[i].bytes[c] > bytes) bytes = b->buf[i].bytes[c];
        s->slot[i] = -1;
        if (r->tensors.p[i].seg == seg && bytes > 0) s->place[s->n++] = (place){at, at + bytes, i};
    }
    qsort(s->place, (size_t)s->n, sizeof *s->place, by_first);
    for (int i = 0; i < s->n; i++)
        s->slot[s->place[i].id] = i;
    while (s->leaves < s->n)
        s->leaves *= 2;
    s->ends = HB_ARRAY(b->m->a, int64_t, 2 * s->leaves);
}

static bool alike(const mp_bytes *b, int x, int y)
{
    for (int i = 0; i < b->m->r->tensors.n; i++)
        if (b->buf[i].bytes[x] != b->buf[i].bytes[y] ||
            b->m->r->tensors.p[i].off[x] != b->m->r->tensors.p[i].off[y])
            return false;
    return true;
}

mp_bytes *mp_bytes_new(mp *m)
{
    mp_bytes *b = HB_NEW(m->a, mp_bytes);
    b->m = m;
    b->buf = HB_ARRAY(m->a, held, m->r->tensors.n + 1);
    find_sizes(b);
    add_space(b, 0, 0);
    for (int c = 0; c < m->r->n_classes; c++) { // classes in which all lies alike share one
        bool seen = false;
        for (int s = 1; s < b->n_spaces && !seen; s++)
            seen = alike(b, c, b->space[s].cls);
        if (!seen) add_space(b, 1, c);
    }
    return b;
}

bool mp_bytes_share(const mp_bytes *b, int x, int y, bool *same)
{
    const rec_tensor *s = &b->m->r->tensors.p[x], *t = &b->m->r->tensors.p[y];
    bool any = false;
    *same = s->seg == t->seg;
    for (int c = 0; s->seg == t->seg && c < b->m->r->n_classes; c++) {
        int64_t n = b->buf[x].bytes[c], k = b->buf[y].bytes[c];
        *same = *same && s->off[c] == t->off[c] && n == k;
        any = any || (n > 0 && k > 0 && s->off[c] < t->off[c] + k && t->off[c] < s->off[c] + n);
    }
    return any;
}

// --- writes

static void set(mp_bytes *b, int id, bool on)
{
    if (b->buf[id].on == on) return;
    b->buf[id].on = on;
    for (int i = 0; i < b->n_spaces; i++) {
        space *s = &b->space[i];
        if (s->slot[id] < 0) continue;
        int k = s->leaves + s->slot[id];
        s->ends[k] = on ? s->place[s->slot[id]].end : 0;
        for (k /= 2; k > 0; k /= 2) {
            int64_t l = s->ends[2 * k], r = s->ends[2 * k + 1];
            s->ends[k] = l > r ? l : r;
        }
    }
}

// Buffers below node k, places [lo, lo + n), that share a byte with p.
static void find(mp_bytes *b, const space *s, const place *p, int k, int lo, int n)
{
    if (s->ends[k] <= p->first || s->place[lo].first >= p->end) return;
    if (n == 1) {
        HB_PUSH(b->m->a, &b->hit, s->place[lo].id);
        return;
    }
    find(b, s, p, 2 * k, lo, n / 2);
    if (lo + n / 2 < s->n) find(b, s, p, 2 * k + 1, lo + n / 2, n / 2);
}

void mp_bytes_write(mp_bytes *b, int id, int content, void (*lost)(void *user, int id), void *user)
{
    b->hit.n = 0;
    for (int i = 0; i < b->n_spaces; i++) {
        const space *s = &b->space[i];
        if (s->slot[id] >= 0) find(b, s, &s->place[s->slot[id]], 1, 0, s->leaves);
    }
    for (int i = 0; i < b->hit.n; i++) {
        int o = b->hit.p[i];
        bool same;
        if (o == id || !b->buf[o].on || !mp_bytes_share(b, o, id, &same) ||
            (same && b->buf[o].content == content))
            continue;
        set(b, o, false);
        lost(user, o);
    }
    b->buf[id].content = content;
    set(b, id, true);
}
