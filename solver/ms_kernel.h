// The inner loops of the min-sum solver, in the version that this processor runs fastest. All
// versions give the same bits. Inside solver/ only.

#ifndef HAP_SOLVER_MS_KERNEL_H
#define HAP_SOLVER_MS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "solver/solver_limits.h"

// Rows of tables and vectors over states that begin at multiples of so many doubles, and have as
// many, run over whole vectors. What lies behind the last state is finite and not read.
static inline int ms_padded(int n)
{
    return (n + MS_LANES - 1) / MS_LANES * MS_LANES;
}

// An edge as seen from one end.
typedef struct ms_half {
    double *own, *to;    // messages to this end, to the other
    const double *table; // [own][padded other]
    int other, width;    // variable there, its padded domain
} ms_half;

// A variable of n states in a pass, and its edges: it hands over to later variables, or with `back`
// to earlier ones.
typedef struct ms_visit {
    int v, n, n_halves;
    bool back;
    const double *u; // its costs, padded
    const ms_half *half;
    double share; // of its potential that goes to each
} ms_visit;

// A column of a table that a state is compared with others by: its own cell, and how often.
typedef struct ms_column {
    const double *p;
    double own, times;
} ms_column;

// Minima over the same states at one place of the outer loops after the other: b and c go on by so
// many doubles each time.
typedef struct ms_many {
    const double *b[2], *c[2]; // [own], [own][inner]; the second ones may be NULL
    int b_step[2], c_step[2];
    int own, inner, times;
    double *sum; // room of own doubles
} ms_many;

typedef struct ms_kernels {
    // out[i] = min over x < own of b[x] + c[x][i] (+ d[x][i], if d is not NULL), i < inner.
    void (*min_rows)(double *restrict out, const double *restrict b, const double *restrict c,
                     const double *restrict d, int own, int inner);
    // The same `times` in a row, of b[0] + b[1] and of c[0] + c[1].
    void (*min_many)(double *restrict out, const ms_many *m);
    // th = u + messages; then to each edge h = share * th - own, to[k] = min over i < n of
    // h[i] + table[i][k]; with `settle` own becomes -h. All rows padded.
    void (*visit)(const ms_visit *v, double *restrict th, double *restrict h, bool settle);
    double (*least)(const double *x, int n); // n >= 1
    // min over i of x[i] - y[i]; where both are infinite i does not count.
    double (*least_difference)(const double *x, const double *y, int n);
    // room[k] = own - u[k] + sum over columns of times * (own there - p[k]), k < rows; bit k of may
    // (rows / 64 + 1 words): is it at least 0.
    void (*rooms)(double *restrict room, uint64_t *restrict may, double own,
                  const double *restrict u, const ms_column *c, int n, int rows);
    // The first column of least cost of each row.
    void (*cheapest)(int *restrict at, const double *restrict p, int rows, int cols);
    // The transposed table.
    void (*turn)(double *restrict to, const double *restrict p, int rows, int cols);
    bool (*costs)(const double *p, size_t n); // is none of these NaN or -inf?
    void (*add)(double *out, const double *x, const double *y, int n); // x + y; out may be x
} ms_kernels;

const ms_kernels *ms_best_kernels(void);
const ms_kernels *ms_kernels_of(int which); // 0, 1, ..: each version; NULL: not here

#endif
