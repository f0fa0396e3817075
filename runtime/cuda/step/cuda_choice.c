#include "cuda/step/cuda_choice.h"

#include <stdlib.h>
#include <string.h>

static const double near =
    0.99; // another way is to take less than this of what fewer launches take

static int ways(const cuda_choice *c)
{
    return c->whole ? CUDA_WAYS : CUDA_BY_WHOLE;
}

cuda_way cuda_choice_next(const cuda_choice *c)
{
    int way = c->n % ways(c);
    if (c->made) return c->way;
    bool back = c->n / ways(c) % 2 == 1;
    return (cuda_way)(back ? ways(c) - 1 - way : way);
}

bool cuda_choice_time(cuda_choice *c, double sec)
{
    c->sec[cuda_choice_next(c)][c->n / ways(c)] = sec;
    return ++c->n == ways(c) * CUDA_CHOICE_TURNS;
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
    int way = ways(c) - 1;
    for (int other = way - 1; other >= 0; other--)
        if (sec[other] < near * sec[way]) way = other;
    c->made = true;
    c->way = (cuda_way)way;
}
