// Which buffers lose their bytes to a write: live buffers by where they lie, in cells of a segment.
//
// The symmetric segment is one space, the local segment one a class. A cell lists the buffers that
// were written there; entries of an earlier life stay until they are met.

#include "synth/modp_model.h"

enum { CELLS = 2048 };

typedef struct entry {
    int id, life;
} entry;

typedef struct cell {
    HB_VEC(entry) list;
} cell;

typedef struct held {
    int64_t bytes[CL_MAX_CLASSES];
    int content, life; // life 0: holds nothing
} held;

struct mp_bytes {
    mp *m;
    held *buf;
    int64_t size[1 + CL_MAX_CLASSES]; // bytes of a cell
    cell *space[1 + CL_MAX_CLASSES];
    int lives;
};

typedef struct most {
    int64_t by_class[CL_MAX_CLASSES];
} most;

// Entries of the cut dims of a tensor, multiplied: the most of every class.
static most largest(const mp *m, const rec_tensor *t)
{
    const record *r = m->r;
    most out = {{0}};
    for (int rank = 0; rank < r->n_ranks; rank++) {
        int64_t n = 1, *have = &out.by_class[r->class_of[rank]];
        for (int d = 0; d < t->rank; d++) {
            const rec_dim *v = &t->dim[d];
            if (v->axis < 0) continue;
            n *= v->table[r->n_axes == 1 || v->axis == SYN_BOTH ? rank
                          : v->axis == 0                        ? rank / r->size[1]
                                                                : rank % r->size[1]];
        }
        if (n > *have) *have = n;
    }
    return out;
}

mp_bytes *mp_bytes_new(mp *m)
{
    const record *r = m->r;
    mp_bytes *b = HB_NEW(m->a, mp_bytes);
    b->m = m;
    b->buf = HB_ARRAY(m->a, held, r->tensors.n + 1);
    hb_map *at = hb_map_new(m->a); // cuts of a tensor's dims -> index of `known`
    HB_VEC(most) known = {0};
    for (int i = 0; i < r->tensors.n; i++) {
        const rec_tensor *t = &r->tensors.p[i];
        int64_t rest = ir_dtype_bytes(t->dtype);
        int key[IR_MAX_RANK] = {0}, n = 0;
        for (int d = 0; d < t->rank; d++) {
            rest *= t->dim[d].outer * t->dim[d].inner * (t->dim[d].axis < 0 ? t->dim[d].n : 1);
            if (m->cut[i][d] >= 0) key[n++] = m->cut[i][d] + 1;
        }
        hb_str text = {(const char *)key, sizeof key};
        int k = hb_map_get(at, text);
        if (k < 0) {
            k = known.n;
            hb_map_put(at, (hb_str){hb_copy(m->a, key, sizeof key), sizeof key}, k);
            HB_PUSH(m->a, &known, largest(m, t));
        }
        for (int c = 0; c < r->n_classes; c++)
            b->buf[i].bytes[c] = known.p[k].by_class[c] * rest;
    }
    for (int s = 0; s <= r->n_classes; s++) {
        int64_t all = s == 0 ? r->sym_bytes : r->local_bytes[s - 1];
        b->size[s] = all / CELLS + 1;
        b->space[s] = HB_ARRAY(m->a, cell, CELLS + 1);
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

static int64_t cell_at(const mp_bytes *b, int space, int64_t byte)
{
    int64_t at = byte / b->size[space];
    return at < 0 ? 0 : at > CELLS ? CELLS : at;
}

void mp_bytes_write(mp_bytes *b, int id, int content, void (*lost)(void *user, int id), void *user)
{
    const rec_tensor *t = &b->m->r->tensors.p[id];
    held *h = &b->buf[id];
    int classes = b->m->r->n_classes;
    h->life = ++b->lives;
    h->content = content;
    for (int c = 0; c < classes; c++) {
        int space = t->seg == 0 ? 0 : 1 + c;
        if (h->bytes[c] == 0) continue;
        int64_t last = cell_at(b, space, t->off[c] + h->bytes[c] - 1);
        for (int64_t at = cell_at(b, space, t->off[c]); at <= last; at++) {
            cell *k = &b->space[space][at];
            int kept = 0;
            bool listed = false;
            for (int i = 0; i < k->list.n; i++) {
                entry e = k->list.p[i];
                held *o = &b->buf[e.id];
                bool same;
                if (o->life != e.life) continue; // an earlier life
                if (e.id != id && mp_bytes_share(b, e.id, id, &same) &&
                    !(same && o->content == content)) {
                    o->life = 0;
                    lost(user, e.id);
                    continue;
                }
                listed = listed || e.id == id;
                k->list.p[kept++] = e;
            }
            k->list.n = kept;
            if (!listed) HB_PUSH(b->m->a, &k->list, (entry){id, h->life});
        }
    }
}
