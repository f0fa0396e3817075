#include "cli/drift.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NEED = 1 << 10 };
static const double ALIKE = 1.15; // ranks that are nearer to each other are as slow as each other

void drift_begin(drift *x, hb_arena *a, int n_ranks, const double *planned)
{
    int need = x->need > 0 ? x->need : DRIFT_WINDOWS;
    *x = (drift){.n = n_ranks,
                 .planned = planned,
                 .need = need,
                 .off = HB_ARRAY(a, int, n_ranks),
                 .ln = HB_ARRAY(a, double, n_ranks),
                 .own = HB_ARRAY(a, double, 2 * n_ranks)};
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Times of what is predicted, of most ranks: the lower median.
static double usual(const drift *x)
{
    double *v = x->own + x->n;
    int n = 0;
    for (int r = 0; r < x->n; r++)
        if (x->planned[r] > 0 && x->own[r] > 0) v[n++] = x->own[r] / x->planned[r];
    if (n > 0) qsort(v, (size_t)n, sizeof *v, by_size);
    return n > 0 ? v[(n - 1) / 2] : 0;
}

static void take_rank(drift *x, int r, double most)
{
    double times = x->planned[r] > 0 && most > 0 ? x->own[r] / x->planned[r] / most : 0;
    int way = times > DRIFT_OFF ? 1 : times > 0 && times < 1 / DRIFT_OFF ? -1 : 0;
    if (way == 0 || x->off[r] * way < 0) {
        x->off[r] = 0;
        x->ln[r] = 0;
    }
    if (way == 0) return;
    x->off[r] += way;
    x->ln[r] += log(times);
}

static bool is_off(const drift *x, int r)
{
    return abs(x->off[r]) >= x->need;
}

static bool take_window(drift *x)
{
    double most = usual(x);
    bool any = false, calm = true;
    for (int r = 0; r < x->n; r++) {
        take_rank(x, r, most);
        any = any || is_off(x, r);
        calm = calm && x->off[r] == 0;
    }
    x->calm = calm ? 0 : x->calm + 1;
    return any;
}

// The next whole number or real of a line; false: there is none.
static bool whole(const char **p, int64_t *x)
{
    char *end;
    *x = strtoll(*p, &end, 10);
    bool ok = end != *p && (*end == ' ' || !*end);
    *p = end;
    return ok;
}

static bool real(const char **p, double *x)
{
    char *end;
    *x = strtod(*p, &end);
    bool ok = end != *p && (*end == ' ' || !*end) && isfinite(*x) && *x >= 0;
    *p = end;
    return ok;
}

bool drift_hear(drift *x, const char *line)
{
    int64_t step, left, first;
    double sec, own;
    if (strncmp(line, "pace ", 5) != 0) return false;
    line += 5;
    if (!whole(&line, &step) || !whole(&line, &left) || !real(&line, &sec) || !whole(&line, &first))
        return false;
    if (first == 0) x->heard = 0;
    if (first != x->heard) return false;
    while (x->heard < x->n && real(&line, &own))
        x->own[x->heard++] = own;
    if (x->heard < x->n) return false;
    x->heard = 0;
    x->step = step;
    x->left = left;
    x->step_sec = sec;
    return take_window(x);
}

double drift_of(const drift *x, int rank)
{
    if (!is_off(x, rank)) return 1;
    double own = x->ln[rank] / abs(x->off[rank]), sum = 0;
    int n = 0;
    for (int r = 0; r < x->n; r++) {
        double ln = is_off(x, r) ? x->ln[r] / abs(x->off[r]) : HUGE_VAL;
        if (fabs(ln - own) > log(ALIKE)) continue;
        sum += ln;
        n++;
    }
    return exp(sum / n);
}

void drift_rest(drift *x)
{
    for (int r = 0; r < x->n; r++) {
        x->off[r] = 0;
        x->ln[r] = 0;
    }
    if (x->need < MOST_NEED) x->need *= 2;
}
