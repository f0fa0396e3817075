// Diagnostics for bad input, printed like a good compiler's:
//
//     lab.yaml:7:12: error: unknown unit 'GBps'
//        link: {bandwidth: 20 GBps}
//                             ^
//     hint: did you mean 'GB/s'?
//
// Readers collect up to HB_DIAG_MAX errors and go on; the caller prints them and exits 1.

#ifndef HAP_IR_BASE_DIAG_H
#define HAP_IR_BASE_DIAG_H

#include <stdio.h>

#include "ir/base/arena.h"

enum { HB_DIAG_MAX = 20 };

typedef struct hb_source {
    hb_str name; // as the user wrote the path
    hb_str text; // may be empty: then no line is quoted
} hb_source;

typedef struct hb_pos {
    int line, col; // from 1; {0, 0} = the file as a whole
} hb_pos;

typedef struct hb_diag hb_diag;

hb_diag *hb_diag_new(hb_arena *a);
void hb_error(hb_diag *d, const hb_source *src, hb_pos at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void hb_hint(hb_diag *d, const char *fmt, ...) // belongs to the last error
    __attribute__((format(printf, 2, 3)));
int hb_diag_count(const hb_diag *d);
void hb_diag_print(const hb_diag *d, FILE *out); // nothing if there is none
// Closest of n names within edit distance 2 (or a third of the length), NULL if none.
const char *hb_nearest(hb_str wrong, const char *const *names, int n);

#endif
