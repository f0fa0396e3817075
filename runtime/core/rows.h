// The files of one input as one list of rows.
//
//     F.npy           rows of the input's shape; or, of a [rows, T] input, one stream that is cut
//                     into rows of T
//     F.bin           tokens without a header (--tokens says of which type): the same as a stream
//     F+1             a stream begun one element later: the next tokens of F's rows
//     "data/*.bin"    several files, in the order of their names; an input may also be named often
//
// Rows do not go across files. Integers are widened to the input's type. Files are mapped: a rank
// reads the pages of its own rows.

#ifndef HAP_RUNTIME_ROWS_H
#define HAP_RUNTIME_ROWS_H

#include "core/npy.h"
#include "core/rank.h"

typedef struct hap_rows_file {
    hap_npy npy;
    char *path;
    int64_t shift;       // elements left out at its beginning
    int64_t rows, first; // of its rows, the number of the first among all
} hap_rows_file;

typedef struct hap_rows {
    const hap_tensor *t;
    int n;
    hap_rows_file *file;
    bool stream;
    int64_t rows;     // of all files
    int64_t elements; // of a row
} hap_rows;

// Adds the files that `name` stands for. False with one message in why.
bool hap_rows_add(hap_rows *r, const hap_tensor *t, const char *input, const char *name,
                  hap_item tokens, char *why, int n);
int64_t hap_rows_shift(const hap_rows *r); // the largest of its files
// Counts rows, where every stream leaves out `shift` elements in all.
void hap_rows_count(hap_rows *r, int64_t shift);
// Elements [from, from + n) of a row, as the input's type.
void hap_rows_read(const hap_rows *r, int64_t row, int64_t from, int64_t n, void *to);
void hap_rows_close(hap_rows *r);

#endif
