#include <math.h>
#include <string.h>

#include "solver/minsum_parts.h"
#include "solver/solver_limits.h"

typedef struct slot {
    uint32_t hash;
    int number; // id + 1, 0 = empty
    int at, n;  // words
} slot;

struct ms_keys {
    hb_arena *arena;
    hb_arena *own; // of the slots, once they are more than the first; goes with them
    slot *slot;    // open addressing
    int n_slots, n_keys;
    HB_VEC(uint32_t) word;
};

ms_keys *ms_keys_new(hb_arena *a)
{
    ms_keys *k = HB_NEW(a, ms_keys);
    k->arena = a;
    k->n_slots = MS_FIRST_SLOTS;
    k->slot = HB_ARRAY(a, slot, k->n_slots);
    return k;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

static void rehash(ms_keys *k)
{
    const slot *old = k->slot;
    int n_old = k->n_slots;
    hb_arena *own = hb_arena_within(k->arena);
    k->n_slots *= 2;
    k->slot = HB_ARRAY(own, slot, k->n_slots);
    for (int i = 0; i < n_old; i++) {
        if (!old[i].number) continue;
        int s = (int)(old[i].hash & (uint32_t)(k->n_slots - 1));
        while (k->slot[s].number)
            s = (s + 1) & (k->n_slots - 1);
        k->slot[s] = old[i];
    }
    hb_arena_free(k->own);
    k->own = own;
}

static uint64_t hash_words(const uint32_t *word, int n)
{
    uint64_t h = (uint64_t)n;
    int i = 0;
    for (; i + 2 <= n; i += 2)
        h = mix(h, (uint64_t)word[i + 1] << 32 | word[i]);
    return i < n ? mix(h, word[i]) : h;
}

static bool same_words(const uint32_t *x, const uint32_t *y, int n)
{
    int i = 0;
    while (i < n && x[i] == y[i])
        i++;
    return i == n;
}

int ms_key_id(ms_keys *k, const uint32_t *word, int n, bool *is_new)
{
    uint64_t all = hash_words(word, n);
    uint32_t h = (uint32_t)(all ^ all >> 32);
    int s = (int)(h & (uint32_t)(k->n_slots - 1));
    for (; k->slot[s].number; s = (s + 1) & (k->n_slots - 1)) {
        const slot *q = &k->slot[s];
        if (q->hash != h || q->n != n || !same_words(k->word.p + q->at, word, n)) continue;
        *is_new = false;
        return q->number - 1;
    }
    *is_new = true;
    k->slot[s] = (slot){h, ++k->n_keys, k->word.n, n};
    while (k->word.cap - k->word.n < n)
        k->word.p = hb_grow(k->arena, k->word.p, &k->word.cap, sizeof *k->word.p);
    memcpy(k->word.p + k->word.n, word, sizeof *word * (size_t)n);
    k->word.n += n;
    int id = k->n_keys - 1;
    if (k->n_keys * 2 > k->n_slots) rehash(k);
    return id;
}

typedef struct source {
    const double *p;
    int rows, cols;
    const bool *row_ok, *col_ok;
} source;

struct ms_tables {
    hb_arena *arena;
    ms_keys *pointers; // (address, rows, cols) -> index into by_pointer
    HB_VEC(int) by_pointer;
    ms_keys *contents; // (hash, rows, cols) -> source
    HB_VEC(source) source;
    HB_VEC(int) by_content; // id of contents -> source
    ms_keys *parts;         // (source, live a, live b, transposed) -> index into by_part
    HB_VEC(int) by_part;
    HB_VEC(ms_table) table;
};

ms_tables *ms_tables_new(hb_arena *a)
{
    ms_tables *t = HB_NEW(a, ms_tables);
    t->arena = a;
    t->pointers = ms_keys_new(a);
    t->contents = ms_keys_new(a);
    t->parts = ms_keys_new(a);
    return t;
}

// Four chains, so that the multiplications overlap.
static uint64_t hash_of(const double *p, size_t n)
{
    uint64_t h[4] = {1, 2, 3, 4}, x;
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++) {
            memcpy(&x, p + i + k, sizeof x);
            h[k] = mix(h[k], x);
        }
    for (; i < n; i++) {
        memcpy(&x, p + i, sizeof x);
        h[i & 3] = mix(h[i & 3], x);
    }
    return mix(mix(h[0], h[1]), mix(h[2], h[3]));
}

static source look_at(hb_arena *a, const double *p, int rows, int cols)
{
    bool *row_ok = HB_ARRAY(a, bool, rows), *col_ok = HB_ARRAY(a, bool, cols);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) {
            double x = p[(size_t)r * (size_t)cols + (size_t)c];
            hb_assert(x > (double)-INFINITY); // false for NaN too
            if (x < (double)INFINITY) row_ok[r] = col_ok[c] = true;
        }
    return (source){p, rows, cols, row_ok, col_ok};
}

int ms_source(ms_tables *t, const double *p, int rows, int cols, const bool **row_ok,
              const bool **col_ok)
{
    uint64_t address = (uint64_t)(uintptr_t)p;
    uint32_t where[4] = {(uint32_t)address, (uint32_t)(address >> 32), (uint32_t)rows,
                         (uint32_t)cols};
    bool is_new;
    int at = ms_key_id(t->pointers, where, 4, &is_new), s;
    if (is_new) {
        size_t cells = (size_t)rows * (size_t)cols;
        uint64_t h = hash_of(p, cells);
        uint32_t what[4] = {(uint32_t)h, (uint32_t)(h >> 32), (uint32_t)rows, (uint32_t)cols};
        int content = ms_key_id(t->contents, what, 4, &is_new);
        bool same = false;
        if (!is_new) {
            s = t->by_content.p[content];
            same = memcmp(t->source.p[s].p, p, cells * sizeof *p) == 0;
        }
        if (!same) {
            s = t->source.n;
            HB_PUSH(t->arena, &t->source, look_at(t->arena, p, rows, cols));
        }
        if (is_new) HB_PUSH(t->arena, &t->by_content, s);
        HB_PUSH(t->arena, &t->by_pointer, s);
    }
    s = t->by_pointer.p[at];
    *row_ok = t->source.p[s].row_ok;
    *col_ok = t->source.p[s].col_ok;
    return s;
}

int ms_message(ms_tables *t, double cells)
{
    HB_PUSH(t->arena, &t->table, (ms_table){NULL, cells});
    return t->table.n - 1;
}

int ms_part(ms_tables *t, int s, const ms_live *a, const ms_live *b, bool transposed)
{
    if (a->n == 1 || b->n == 1) transposed = false; // the same cells in the same order
    uint32_t what[4] = {(uint32_t)s, (uint32_t)a->id, (uint32_t)b->id, transposed};
    bool is_new;
    int at = ms_key_id(t->parts, what, 4, &is_new);
    if (!is_new) return t->by_part.p[at];
    const source *src = &t->source.p[s];
    const double *p = src->p;
    if (!a->all || !b->all || transposed) {
        double *q = HB_ARRAY(t->arena, double, (size_t)a->n *(size_t)b->n);
        for (int i = 0; i < a->n; i++)
            for (int j = 0; j < b->n; j++)
                q[transposed ? j * a->n + i : i * b->n + j] =
                    p[(size_t)a->state[i] * (size_t)src->cols + (size_t)b->state[j]];
        p = q;
    }
    HB_PUSH(t->arena, &t->table, (ms_table){p, (double)a->n * b->n});
    HB_PUSH(t->arena, &t->by_part, t->table.n - 1);
    return t->table.n - 1;
}

ms_table *ms_table_at(ms_tables *t, int id)
{
    return &t->table.p[id];
}
