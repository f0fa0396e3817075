#include "ir/base/arena.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#ifdef __GLIBC__
#    include <malloc.h>
#endif

// Chunks are a singly linked list, newest first; only the newest has room. Chunk sizes double up to
// 1 MiB; a larger request gets a chunk of its own, put behind the newest so that its room stays.

enum { FIRST_CHUNK = 4096, LARGEST_CHUNK = 1 << 20, ALIGNMENT = 16 };

typedef struct chunk chunk;
struct chunk {
    chunk *next;
    size_t used, cap;
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

struct hb_arena {
    chunk *head;
    size_t next_cap;
    hb_arena *parent, *inner, *next; // inner: its first arena within; next: of the parent's
};

// Exit code 3, as where no plan exists: hapc could make none.
static _Noreturn void out_of_memory(size_t bytes)
{
    fprintf(stderr,
            "hapc: error: out of memory: %zu bytes more were asked for. Planning takes less with "
            "fewer layers or with --strategy, --mesh, --micro-batches or --recompute given.\n",
            bytes);
    exit(3);
}

static void *taken(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p) out_of_memory(bytes);
    return p;
}

// The next phase asks for what the last one freed: handing pages back and forth costs more than
// many a phase.
static void keep_pages(void)
{
#ifdef __GLIBC__
    static bool done;
    if (!done) {
        mallopt(M_MMAP_THRESHOLD, 64 << 20);
        mallopt(M_TRIM_THRESHOLD, 512 << 20);
    }
    done = true;
#endif
}

hb_arena *hb_arena_new(void)
{
    keep_pages();
    hb_arena *a = taken(sizeof *a);
    *a = (hb_arena){.next_cap = FIRST_CHUNK};
    return a;
}

static void enter_parent(hb_arena *a, hb_arena *b)
{
    b->parent = a;
    b->next = a->inner;
    a->inner = b;
}

hb_arena *hb_arena_within(hb_arena *a)
{
    hb_arena *b = hb_arena_new();
    enter_parent(a, b);
    return b;
}

static void leave_parent(hb_arena *a)
{
    hb_arena **link = &a->parent->inner;
    while (*link != a)
        link = &(*link)->next;
    *link = a->next;
}

void hb_arena_free(hb_arena *a)
{
    if (!a) return;
    if (a->parent) leave_parent(a);
    while (a->inner)
        hb_arena_free(a->inner);
    for (chunk *c = a->head, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(a);
}

void hb_arena_join(hb_arena *a, hb_arena *b)
{
    hb_assert(!b->parent && a != b);
    enter_parent(a, b);
}

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

// Not zeroed: for what is overwritten at once.
static void *alloc_raw(hb_arena *a, size_t bytes)
{
    if (bytes > PTRDIFF_MAX - LARGEST_CHUNK) out_of_memory(bytes);
    size_t size = aligned(bytes);
    chunk *c = a->head;
    if (!c || c->cap - c->used < size) {
        bool own = size > a->next_cap / 2;
        size_t cap = own ? size : a->next_cap;
        chunk *fresh = taken(sizeof *fresh + cap);
        *fresh = (chunk){.cap = cap};
        if (own && c) {
            fresh->next = c->next;
            c->next = fresh;
        } else {
            fresh->next = c;
            a->head = fresh;
        }
        if (!own && a->next_cap < LARGEST_CHUNK) a->next_cap *= 2;
        c = fresh;
    }
    void *p = c->bytes + c->used;
    c->used += size;
    return p;
}

void *hb_alloc(hb_arena *a, size_t bytes)
{
    void *p = alloc_raw(a, bytes);
    memset(p, 0, bytes);
    return p;
}

void *hb_copy(hb_arena *a, const void *p, size_t bytes)
{
    void *copy = alloc_raw(a, bytes);
    if (bytes) memcpy(copy, p, bytes);
    return copy;
}

void *hb_grow(hb_arena *a, void *p, int *cap, size_t elem)
{
    int old = *cap;
    hb_assert(old <= INT32_MAX / 2);
    *cap = old ? 2 * old : 8;
    void *wider = alloc_raw(a, (size_t)*cap * elem);
    if (old) memcpy(wider, p, (size_t)old * elem);
    return wider;
}

void *hb_room(hb_arena *a, size_t elem, int n)
{
    return alloc_raw(a, elem * (size_t)n);
}

// Of a vector that has a chunk of its own.
void *hb_fit(hb_arena *a, void *p, int *cap, size_t elem, int n)
{
    size_t had = aligned(elem * (size_t)*cap), size = aligned(elem * (size_t)n);
    chunk **link = &a->head;
    while (*link && (*link)->bytes != p)
        link = &(*link)->next;
    if (!*link || (*link)->cap != had || size == 0 || size >= had) return p;
    chunk *c = realloc(*link, sizeof *c + size);
    if (!c) return p;
    c->used = c->cap = size;
    *link = c;
    *cap = n;
    return c->bytes;
}

hb_str hb_str_n(hb_arena *a, const char *p, size_t n)
{
    char *copy = hb_alloc(a, n + 1);
    if (n) memcpy(copy, p, n);
    return (hb_str){copy, n};
}

hb_str hb_str_c(hb_arena *a, const char *c)
{
    return hb_str_n(a, c, strlen(c));
}

bool hb_str_eq(hb_str a, hb_str b)
{
    return a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n));
}

bool hb_str_is(hb_str a, const char *c)
{
    return hb_str_eq(a, (hb_str){c, strlen(c)});
}

int hb_str_cmp(hb_str a, hb_str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.p, b.p, n) : 0;
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

// Greedy with one point of return: a later '*' makes earlier choices final, so O(pattern * text).
bool hb_glob(hb_str pattern, hb_str text)
{
    size_t p = 0, t = 0, star = SIZE_MAX, resume = 0;
    while (t < text.n) {
        if (p < pattern.n && pattern.p[p] == '*') {
            star = p++;
            resume = t;
        } else if (p < pattern.n && (pattern.p[p] == '?' || pattern.p[p] == text.p[t])) {
            p++, t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.n && pattern.p[p] == '*')
        p++;
    return p == pattern.n;
}

hb_str hb_fmt(hb_arena *a, const char *fmt, ...)
{
    hb_buf b = {.arena = a};
    va_list ap;
    va_start(ap, fmt);
    hb_vprintf(&b, fmt, ap);
    va_end(ap);
    return hb_done(&b);
}

static inline uint64_t hash_word(uint64_t h, uint64_t w)
{
    h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 33;
    h *= UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ h >> 29;
}

enum { LANES = 4 };

// Multiply and fold, word by word, as the finalizer of MurmurHash3 does; of what is long in lanes,
// whose multiplications overlap.
uint64_t hb_hash_key(const void *p, size_t n)
{
    const unsigned char *b = p;
    uint64_t h = n * UINT64_C(0x9e3779b97f4a7c15), w;
    if (n >= 2 * LANES * sizeof w) {
        uint64_t lane[LANES] = {h, h + 1, h + 2, h + 3};
        for (; n >= LANES * sizeof w; n -= LANES * sizeof w)
            for (int k = 0; k < LANES; k++, b += sizeof w) {
                memcpy(&w, b, sizeof w);
                lane[k] = hash_word(lane[k], w);
            }
        for (int k = 0; k < LANES; k++)
            h = hash_word(h, lane[k]);
    }
    for (; n >= sizeof w; n -= sizeof w, b += sizeof w) {
        memcpy(&w, b, sizeof w);
        h = hash_word(h, w);
    }
    if (n == 0) return h;
    w = 0;
    memcpy(&w, b, n);
    return hash_word(h, w);
}

uint64_t hb_hash(const void *p, size_t n)
{
    const unsigned char *byte = p;
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < n; i++)
        h = (h ^ byte[i]) * UINT64_C(1099511628211);
    return h;
}

static void reserve(hb_buf *b, size_t more)
{
    if (b->cap - b->n > more) return; // one byte stays for the NUL
    size_t cap = b->cap ? b->cap : 64;
    while (cap - b->n <= more)
        cap *= 2;
    char *wider = hb_alloc(b->arena, cap);
    if (b->n) memcpy(wider, b->p, b->n);
    b->p = wider;
    b->cap = cap;
}

void hb_putn(hb_buf *b, const char *s, size_t n)
{
    reserve(b, n);
    if (n) memcpy(b->p + b->n, s, n);
    b->n += n;
    b->p[b->n] = '\0';
}

void hb_putc(hb_buf *b, char c)
{
    reserve(b, 1);
    b->p[b->n++] = c;
    b->p[b->n] = '\0';
}

void hb_puts(hb_buf *b, const char *s)
{
    hb_putn(b, s, strlen(s));
}

void hb_vprintf(hb_buf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    hb_assert(n >= 0);
    reserve(b, (size_t)n);
    vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
    va_end(again);
    b->n += (size_t)n;
}

void hb_printf(hb_buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    hb_vprintf(b, fmt, ap);
    va_end(ap);
}

hb_str hb_done(const hb_buf *b)
{
    return (hb_str){b->p ? b->p : "", b->n};
}

// Open addressing with linear probing, at most half full. A free slot has value -1.
typedef struct slot {
    hb_str key;
    uint64_t hash;
    int value;
} slot;

enum { FIRST_SLOTS = 16 };

struct hb_map {
    hb_arena *arena, *own; // own: of the slots, once they are more than the first; goes with them
    slot *slots;
    size_t n, cap; // cap is a power of two
};

static slot *slots_new(hb_arena *a, size_t cap)
{
    slot *slots = HB_ARRAY(a, slot, cap);
    for (size_t i = 0; i < cap; i++)
        slots[i].value = -1;
    return slots;
}

// The slot that holds the key, or the free one where it would go.
static slot *slot_find(slot *slots, size_t cap, hb_str key, uint64_t hash)
{
    size_t i = hash & (cap - 1);
    while (slots[i].value != -1 && !(slots[i].hash == hash && hb_str_eq(slots[i].key, key)))
        i = (i + 1) & (cap - 1);
    return &slots[i];
}

hb_map *hb_map_new(hb_arena *a)
{
    hb_map *m = HB_NEW(a, hb_map);
    m->arena = a;
    m->cap = FIRST_SLOTS;
    m->slots = slots_new(a, m->cap);
    return m;
}

void hb_map_put(hb_map *m, hb_str key, int value)
{
    hb_assert(value != -1); // -1 means absent
    if (2 * (m->n + 1) > m->cap) {
        hb_arena *own = hb_arena_within(m->arena);
        slot *old = m->slots;
        size_t old_cap = m->cap;
        m->cap *= 2;
        m->slots = slots_new(own, m->cap);
        for (size_t i = 0; i < old_cap; i++)
            if (old[i].value != -1) *slot_find(m->slots, m->cap, old[i].key, old[i].hash) = old[i];
        hb_arena_free(m->own);
        m->own = own;
    }
    uint64_t hash = hb_hash_key(key.p, key.n);
    slot *s = slot_find(m->slots, m->cap, key, hash);
    if (s->value == -1) m->n++;
    *s = (slot){key, hash, value};
}

int hb_map_get(const hb_map *m, hb_str key)
{
    return slot_find(m->slots, m->cap, key, hb_hash_key(key.p, key.n))->value;
}

_Noreturn void hb_bug(const char *what, const char *file, int line)
{
    fflush(stdout);
    fprintf(stderr, "hapc: internal error: %s\n  at %s:%d; please report\n", what, file, line);
    exit(4);
}

bool hb_read_file(hb_arena *a, const char *path, hb_str *text, const char **why)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        *why = strerror(errno);
        return false;
    }
    hb_buf b = {.arena = a};
    size_t want = 1 << 16;
    struct stat st;
    if (!fstat(fileno(f), &st) && S_ISREG(st.st_mode) && st.st_size > 0) want = (size_t)st.st_size;
    for (;;) {
        reserve(&b, want);
        size_t got = fread(b.p + b.n, 1, want, f);
        b.n += got;
        b.p[b.n] = '\0';
        if (got < want) break;
        want = 1 << 16;
    }
    bool ok = !ferror(f);
    if (!ok) *why = strerror(errno);
    fclose(f);
    *text = hb_done(&b);
    return ok;
}

bool hb_write_file(const char *path, hb_str text)
{
    hb_arena *a = hb_arena_new();
    hb_str tmp = hb_fmt(a, "%s.tmp", path);
    FILE *f = fopen(tmp.p, "wb");
    bool ok = f != NULL;
    int why = errno;
    if (f) {
        ok = !text.n || fwrite(text.p, 1, text.n, f) == text.n;
        why = errno;
        if (fclose(f) && ok) {
            ok = false;
            why = errno;
        }
        if (ok && rename(tmp.p, path)) {
            ok = false;
            why = errno;
        }
        if (!ok) remove(tmp.p);
    }
    hb_arena_free(a);
    errno = why;
    return ok;
}
