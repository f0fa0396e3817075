// How a rank ends early: one line on stderr, then every rank goes.
//
//     rank 2 host b step 7 program.c:31: all_gather: src and dst differ in dim 1 (768, 760)

#ifndef HAP_RUNTIME_FAIL_H
#define HAP_RUNTIME_FAIL_H

#include "core/rank.h"

enum { HAP_EXIT_INPUT = 1, HAP_EXIT_USAGE = 2, HAP_EXIT_FAILED = 5 };

#if defined(__GNUC__)
#    define HAP_PRINTF(f, a) __attribute__((format(printf, f, a)))
#    define HAP_NORETURN     __attribute__((noreturn))
#else
#    define HAP_PRINTF(f, a)
#    define HAP_NORETURN
#endif

// Any rank alone may call it: prints where it stands and the message, aborts all ranks with code.
HAP_NORETURN HAP_PRINTF(3, 4) void hap_fail(hap_rank *r, int code, const char *format, ...);

// Fails with exit code 5 and the condition's message unless ok.
#define HAP_CK(r, ok, ...)                                                                         \
    do {                                                                                           \
        if (!(ok)) hap_fail((r), HAP_EXIT_FAILED, __VA_ARGS__);                                    \
    } while (0)

// Called by all ranks together after something that may have gone wrong on some: if any why is not
// "", the lowest such rank prints it (without the place in the program) and all exit with code.
void hap_agree(hap_rank *r, int code, const char *why);

// Writes a message to stderr in one piece, of at most 4 KiB; before at most 1 KiB. Of the text,
// whose names came from outside, without what a terminal would obey: control characters but ends of
// lines, marks of writing direction.
void hap_say(const char *before, const char *text, const char *after);

// Memory outside the step; fails rather than returning NULL.
void *hap_alloc(hap_rank *r, size_t bytes);
void *hap_grow(hap_rank *r, void *p, int *cap, int need, size_t item);

#endif
