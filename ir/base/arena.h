// Memory of the compiler half: arenas, strings, growing vectors.
//
// Everything hapc allocates lives in an arena and dies with it; nothing is freed one by one, but
// for the slots that a map leaves as it grows and room that HB_FIT gives back. Memory comes zeroed
// and is never NULL (out of memory ends the process, with a message and exit code 3). One arena a
// phase.
//
//     hb_arena *a = hb_arena_new();
//     int *v = HB_ARRAY(a, int, 10);
//     hb_str s = hb_fmt(a, "rank %d", 3);
//     hb_arena_free(a);

#ifndef HAP_IR_BASE_ARENA_H
#define HAP_IR_BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hb_arena hb_arena;

hb_arena *hb_arena_new(void);
hb_arena *hb_arena_within(hb_arena *a);       // dies with a, or is freed before; not to be joined
void hb_arena_free(hb_arena *a);              // NULL is fine
void hb_arena_join(hb_arena *a, hb_arena *b); // from now on b dies with a; it may be used till then
void *hb_alloc(hb_arena *a, size_t bytes);    // zeroed, 16-byte aligned
void *hb_copy(hb_arena *a, const void *p, size_t bytes);

#define HB_NEW(a, T)      ((T *)hb_alloc((a), sizeof(T)))
#define HB_ARRAY(a, T, n) ((T *)hb_alloc((a), sizeof(T) * (size_t)(n)))

// A string is a pointer and a length. Strings made by this module are also NUL-terminated, so `.p`
// may be handed to C functions. The empty string has n == 0 and p == "" (or NULL if zeroed memory).
typedef struct hb_str {
    const char *p;
    size_t n;
} hb_str;

#define HB_STR(lit) ((hb_str){"" lit, sizeof(lit) - 1})
#define HB_ARG(s)   (int)(s).n, (s).p ? (s).p : "" // for "%.*s"

hb_str hb_str_c(hb_arena *a, const char *c);           // copies
hb_str hb_str_n(hb_arena *a, const char *p, size_t n); // copies
bool hb_str_eq(hb_str a, hb_str b);
bool hb_str_is(hb_str a, const char *c);
int hb_str_cmp(hb_str a, hb_str b);        // bytewise, shorter first
bool hb_glob(hb_str pattern, hb_str text); // '*' any run, '?' one byte
hb_str hb_fmt(hb_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
uint64_t hb_hash(const void *p, size_t n);     // FNV-1a, 64 bit
uint64_t hb_hash_key(const void *p, size_t n); // eight bytes at a time, for tables in memory only

// Growing text.
typedef struct hb_buf {
    hb_arena *arena;
    char *p; // always NUL-terminated once something was added
    size_t n, cap;
} hb_buf;

void hb_putc(hb_buf *b, char c);
void hb_puts(hb_buf *b, const char *s);
void hb_putn(hb_buf *b, const char *s, size_t n);
void hb_printf(hb_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void hb_vprintf(hb_buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
hb_str hb_done(const hb_buf *b);

// Growing vector of T: declare HB_VEC(T) v = {0}; push with HB_PUSH(arena, &v, value).
#define HB_VEC(T)                                                                                  \
    struct {                                                                                       \
        T *p;                                                                                      \
        int n, cap;                                                                                \
    }
#define HB_PUSH(a, v, ...)                                                                         \
    do {                                                                                           \
        if ((v)->n == (v)->cap) (v)->p = hb_grow((a), (v)->p, &(v)->cap, sizeof *(v)->p);          \
        (v)->p[(v)->n++] = (__VA_ARGS__);                                                          \
    } while (0)
// An empty vector with room for n elements from the start.
#define HB_ROOM(a, v, n_) ((v)->p = hb_room((a), sizeof *(v)->p, (n_)), (v)->n = 0, (v)->cap = (n_))
// Gives back what a large vector has beyond room for n elements, no fewer than it holds. It may
// move.
#define HB_FIT(a, v, n_) ((v)->p = hb_fit((a), (v)->p, &(v)->cap, sizeof *(v)->p, (n_)))
void *hb_grow(hb_arena *a, void *p, int *cap, size_t elem); // doubles *cap, copies
void *hb_room(hb_arena *a, size_t elem, int n);             // room for elements, not zeroed
void *hb_fit(hb_arena *a, void *p, int *cap, size_t elem, int n);

// Name -> int, for interning and lookups. Missing keys give -1.
typedef struct hb_map hb_map;
hb_map *hb_map_new(hb_arena *a);
void hb_map_put(hb_map *m, hb_str key, int value); // key bytes must outlive the map
int hb_map_get(const hb_map *m, hb_str key);

// A bug: always on; prints expression, file:line, "please report", exits 4.
#define hb_assert(e) ((e) ? (void)0 : hb_bug(#e, __FILE__, __LINE__))
_Noreturn void hb_bug(const char *what, const char *file, int line);

// Whole files. hb_read_file gives false and fills *why ("No such file or directory") on failure.
bool hb_read_file(hb_arena *a, const char *path, hb_str *text, const char **why);
// Writes to path.tmp and renames; false on failure with errno set.
bool hb_write_file(const char *path, hb_str text);

#endif
