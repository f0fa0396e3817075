#include "cuda/cuda_choice.h"

#include <stdlib.h>
#include <string.h>

static const double near = 0.99; // calls are to take less than this of what graphs take

cuda_way cuda_choice_next(const cuda_choice *c)
{
    if (c->made) return c->way;
    bool back = c->n / CUDA_WAYS % 2 == 1;
    return (c->n % CUDA_WAYS == 0) != back ? CUDA_BY_CALLS : CUDA_BY_GRAPHS;
}

bool cuda_choice_time(cuda_choice *c, double sec)
{
    c->sec[cuda_choice_next(c)][c->n / CUDA_WAYS] = sec;
    return ++c->n == CUDA_WAYS * CUDA_CHOICE_TURNS;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void cuda_choice_medians(const cuda_choice *c, double sec[CUDA_WAYS])
{
    for (int way = 0; way < CUDA_WAYS; way++) {
        double of[CUDA_CHOICE_TURNS];
        memcpy(of, c->sec[way], sizeof of);
        qsort(of, CUDA_CHOICE_TURNS, sizeof *of, by_size);
        sec[way] = of[CUDA_CHOICE_TURNS / 2];
    }
}

void cuda_choice_make(cuda_choice *c, const double sec[CUDA_WAYS])
{
    c->made = true;
    c->way = sec[CUDA_BY_CALLS] < near * sec[CUDA_BY_GRAPHS] ? CUDA_BY_CALLS : CUDA_BY_GRAPHS;
}
