#include "clusters/join_classes.h"

#include <math.h>

// Memory and links beside speed: ratios of work follow speed first.
static const double REST = 0.3;

// Some classes that are joined, and the nearest others.
typedef struct part {
    cl_class c;
    int slowest; // whose name it has
    int n;       // classes in it; 0: it is in another
    int near;    // -1: none can join it
    double far;
} part;

// How much more the faster ones count: plans do without the slow ones sooner.
static const double FAST = 4;

// Geometric mean of flop/s and bytes/s.
static double pace(const cl_class *c)
{
    return sqrt(c->f32 * c->memory_bandwidth);
}

static double apart(double a, double b)
{
    return a > 0 && b > 0 ? fabs(log(a / b)) : 0;
}

// What joining loses: shares of speed and memory, times the ranks that lose them. It counts less
// where devices are slow, since plans may do without those. HUGE_VAL: they cannot be joined.
static double distance(const part *a, const part *b, double fastest)
{
    const cl_class *x = &a->c, *y = &b->c;
    if (x->kind != y->kind || x->sms != y->sms || x->threads != y->threads ||
        x->plan_only != y->plan_only || (x->f32 > 0) != (y->f32 > 0) ||
        (x->tf32 > 0) != (y->tf32 > 0) || (x->bf16 > 0) != (y->bf16 > 0) ||
        (x->fp16 > 0) != (y->fp16 > 0))
        return HUGE_VAL;
    double speed = fmax(apart(x->f32, y->f32), apart(x->bf16, y->bf16)) +
                   apart(x->memory_bandwidth, y->memory_bandwidth),
           rest = apart((double)x->capacity, (double)y->capacity) +
                  apart(x->link_bandwidth, y->link_bandwidth);
    int ranks = x->n_ranks < y->n_ranks ? x->n_ranks : y->n_ranks;
    double share = fmax(pace(x), pace(y)) / fastest;
    return (speed + REST * rest) * (ranks > 0 ? ranks : 1) * pow(share, FAST);
}

static void find_near(part *p, int n, int i, double fastest)
{
    p[i].near = -1;
    p[i].far = HUGE_VAL;
    for (int k = 0; k < n; k++) {
        if (k == i || p[k].n == 0) continue;
        double d = distance(&p[i], &p[k], fastest);
        if (d >= p[i].far) continue;
        p[i].far = d;
        p[i].near = k;
    }
}

static void least(double *x, double y)
{
    if (y < *x) *x = y;
}

static void most_of(double *x, double y)
{
    if (y > *x) *x = y;
}

// a gets what b has, at the slower of both.
static void join(part *a, const part *b, int n_a, int n_b)
{
    cl_class *x = &a->c;
    const cl_class *y = &b->c;
    if (y->f32 < x->f32) {
        a->slowest = b->slowest;
        x->model = y->model;
        x->curve_name = y->curve_name;
    }
    least(&x->f32, y->f32);
    least(&x->tf32, y->tf32);
    least(&x->bf16, y->bf16);
    least(&x->fp16, y->fp16);
    least(&x->memory_bandwidth, y->memory_bandwidth);
    most_of(&x->slowdown, y->slowdown);
    least(&x->link_bandwidth, y->link_bandwidth);
    most_of(&x->link_latency, y->link_latency);
    most_of(&x->launch_overhead, y->launch_overhead);
    most_of(&x->put_overhead, y->put_overhead);
    if (y->capacity < x->capacity) {
        x->capacity = y->capacity;
        x->memory = y->memory;
        x->reserve = y->reserve;
    }
    x->emulated = x->emulated || y->emulated;
    x->n_ranks += y->n_ranks;
    a->n = n_a + n_b;
}

int cl_join_classes(hb_arena *a, cl_class *cls, int n, int most, int *to)
{
    part *p = HB_ARRAY(a, part, n + 1);
    double fastest = 0;
    int left = n, *in = HB_ARRAY(a, int, n + 1), *number = HB_ARRAY(a, int, n + 1);
    for (int i = 0; i < n; i++)
        p[in[i] = i] = (part){.c = cls[i], .slowest = i, .n = 1};
    for (int i = 0; i < n; i++)
        fastest = fmax(fastest, pace(&cls[i]));
    for (int i = 0; i < n && n > most; i++)
        find_near(p, n, i, fastest);
    for (; left > most; left--) {
        int best = -1;
        for (int i = 0; i < n; i++)
            if (p[i].n > 0 && p[i].near >= 0 && (best < 0 || p[i].far < p[best].far)) best = i;
        if (best < 0) break;
        int one = best < p[best].near ? best : p[best].near, two = best + p[best].near - one;
        join(&p[one], &p[two], p[one].n, p[two].n);
        p[two].n = 0;
        for (int i = 0; i < n; i++)
            if (in[i] == two) in[i] = one;
        for (int i = 0; i < n; i++)
            if (p[i].n > 0 && (i == one || p[i].near == one || p[i].near == two))
                find_near(p, n, i, fastest);
    }
    int at = 0;
    for (int i = 0; i < n; i++) {
        if (p[i].n == 0) continue;
        if (p[i].n > 1) p[i].c.name = hb_fmt(a, "%.*s~%d", HB_ARG(cls[p[i].slowest].name), p[i].n);
        number[i] = at++;
    }
    for (int i = 0; i < n; i++)
        to[i] = number[in[i]];
    for (int i = 0; i < n; i++)
        if (p[i].n > 0) cls[number[i]] = p[i].c;
    return left;
}
