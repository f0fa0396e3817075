// Runs a libFuzzer entry without libFuzzer: each seed file of a folder as it is, then mutations of
// them (bytes flipped, cut, doubled, spliced from another seed), drawn from a fixed seed so that a
// failure repeats. Usage: fuzz_json SEED_FOLDER [MUTATIONS]; the failing input is left in
// fuzz-smoke.last in the build folder, since each input is written there before it is tried.

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/arena.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { LONGEST = 1 << 16 };

static uint64_t random_state = 0x9e3779b97f4a7c15;

static size_t below(size_t n) // xorshift64*
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (size_t)((random_state * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % n;
}

static size_t mutate(unsigned char *p, size_t n, hb_str other)
{
    static const char tokens[] = "{}[]\",:\\-+.eE0\n#&*!|>?%@\t\x80\xff";
    size_t at = n ? below(n) : 0, len = n ? 1 + below(n - at < 16 ? n - at : 16) : 0;
    switch (below(6)) {
    case 0: // a random byte
        if (n) p[at] = (unsigned char)below(256);
        return n;
    case 1: // a byte that means something
        if (n) p[at] = (unsigned char)tokens[below(sizeof tokens - 1)];
        return n;
    case 2: // cut out
        memmove(p + at, p + at + len, n - at - len);
        return n - len;
    case 3: // double
        if (n + len > LONGEST) return n;
        memmove(p + at + len, p + at, n - at);
        return n + len;
    case 4: // the end is missing
        return at;
    default: { // splice
        if (!other.n) return n;
        size_t from = below(other.n), take = 1 + below(other.n - from);
        if (at + take > LONGEST) return n;
        memcpy(p + at, other.p + from, take);
        return at + take > n ? at + take : n;
    }
    }
}

// The input in a block of its exact size, so that a sanitizer sees a read past its end.
static void try_input(const unsigned char *p, size_t n, const char *last)
{
    unsigned char *exact = malloc(n ? n : 1);
    if (!exact) abort();
    memcpy(exact, p, n);
    FILE *f = fopen(last, "wb");
    if (f) {
        fwrite(p, 1, n, f);
        fclose(f);
    }
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
}

int main(int argc, char **argv)
{
    hb_arena *a = hb_arena_new();
    HB_VEC(hb_str) seeds = {0};
    long mutations = argc > 2 ? strtol(argv[2], NULL, 10) : 500;
    const char *build = getenv("HAP_BUILD"), *name = strrchr(argv[0], '/');
    hb_str last = hb_fmt(a, "%s/%s.last", build ? build : "/tmp", name ? name + 1 : argv[0]);

    DIR *dir = argc > 1 ? opendir(argv[1]) : NULL;
    if (!dir) {
        fprintf(stderr, "usage: %s SEED_FOLDER [MUTATIONS]\n", argv[0]);
        return 2;
    }
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        hb_str text;
        const char *why;
        if (e->d_name[0] == '.') continue;
        if (!hb_read_file(a, hb_fmt(a, "%s/%s", argv[1], e->d_name).p, &text, &why)) {
            fprintf(stderr, "%s: %s\n", e->d_name, why);
            return 2;
        }
        if (text.n <= LONGEST) HB_PUSH(a, &seeds, text);
    }
    closedir(dir);
    if (!seeds.n) {
        fprintf(stderr, "%s: no seeds\n", argv[1]);
        return 2;
    }

    static unsigned char p[LONGEST];
    for (int i = 0; i < seeds.n; i++)
        try_input((const unsigned char *)seeds.p[i].p, seeds.p[i].n, last.p);
    for (long i = 0; i < mutations; i++) {
        hb_str seed = seeds.p[below((size_t)seeds.n)];
        size_t n = seed.n;
        if (n) memcpy(p, seed.p, n);
        for (size_t k = 1 + below(4); k > 0; k--)
            n = mutate(p, n, seeds.p[below((size_t)seeds.n)]);
        try_input(p, n, last.p);
    }
    printf("%d seeds and %ld mutations\n", seeds.n, mutations);
    remove(last.p);
    hb_arena_free(a);
    return 0;
}
