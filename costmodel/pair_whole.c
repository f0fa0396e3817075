#include "costmodel/pair_whole.h"

#include <math.h>

#include "costmodel/device_defaults.h"

typedef enum { IDLE, PRODUCT, SUM } task;

typedef struct device {
    task now;
    double left; // seconds of the task, alone
    int made, added;
} device;

typedef struct state {
    double now;
    device of[CL_MAX_CLASSES];    // by kind
    int next;                     // message
    double left;                  // of the one under way; negative: none is
    double came[COST_MAX_CHUNKS]; // when the owners see a part's rows
} state;

static int messages(const pair_whole *x)
{
    return x->back ? 2 * x->n : x->n;
}

// The part of message i; *sums: on its way back.
static int part_of(const pair_whole *x, int i, bool *sums)
{
    *sums = x->back && i > 0 && (i % 2 == 0 || i == 2 * x->n - 1);
    if (!x->back) return i;
    return i == 2 * x->n - 1 ? x->n - 1 : i % 2 ? (i + 1) / 2 : *sums ? i / 2 - 1 : 0;
}

// The link is free of the message so long before it has come.
static double ahead_of(const pair_whole *x, int part)
{
    return x->back ? fmin(x->ahead, x->message[part] / 2) : 0;
}

static bool ready(const pair_whole *x, const state *s)
{
    bool sums;
    int part = part_of(x, s->next, &sums), behind = part + 1 + x->late;
    if (behind > x->n) behind = x->n;
    for (int c = 0; c < x->n_kinds; c++)
        if (sums ? s->of[c].added <= part : s->of[c].made < behind) return false;
    return true;
}

static void begin(const pair_whole *x, state *s)
{
    for (int c = 0; c < x->n_kinds; c++) {
        device *d = &s->of[c];
        if (d->now != IDLE) continue;
        if (x->back && d->added < x->n && s->came[d->added] <= s->now) {
            d->now = SUM;
            d->left = x->sum[d->added];
        } else if (d->made < x->n) {
            d->now = PRODUCT;
            d->left = x->matmul[d->made][c];
        }
    }
    bool sums;
    if (s->left >= 0 || s->next == messages(x) || !ready(x, s)) return;
    const int part = part_of(x, s->next, &sums);
    s->left = x->message[part] - ahead_of(x, part);
}

static void end(pair_whole *x, state *s, int c)
{
    device *d = &s->of[c];
    if (d->now == SUM) d->added++;
    if (d->now == PRODUCT && ++d->made == x->n) x->made[c] = s->now;
    d->now = IDLE;
}

// From one event to the next all go on at their rates.
void pair_whole_run(pair_whole *x)
{
    state s = {.left = -1};
    double slow = 1, last = 0;
    for (int k = 0; k < x->n; k++)
        s.came[k] = (double)INFINITY;
    for (int c = 0; c < x->n_kinds; c++)
        slow = fmax(slow, x->beside[c].communication);
    x->total = x->sent = 0;
    for (;;) {
        begin(x, &s);
        bool sends = s.left >= 0, computes = false;
        double dt = (double)INFINITY, rate[CL_MAX_CLASSES];
        for (int c = 0; c < x->n_kinds; c++) {
            const device *d = &s.of[c];
            rate[c] = sends && d->now == PRODUCT ? x->beside[c].compute : 1;
            computes = computes || d->now == PRODUCT;
            if (d->now != IDLE) dt = fmin(dt, d->left * rate[c]);
        }
        double link = computes ? slow : 1;
        if (sends) dt = fmin(dt, s.left * link);
        for (int k = 0; k < x->n; k++)
            if (s.came[k] > s.now) dt = fmin(dt, s.came[k] - s.now);
        if (!(dt < (double)INFINITY)) break;
        s.now += dt;
        double least = COST_ROUNDING_FEW * s.now;
        for (int c = 0; c < x->n_kinds; c++) {
            if (s.of[c].now == IDLE) continue;
            s.of[c].left -= dt / rate[c];
            if (s.of[c].left <= least) end(x, &s, c);
        }
        if (!sends) continue;
        s.left -= dt / link;
        if (s.left > least) continue;
        bool sums;
        int part = part_of(x, s.next++, &sums);
        const double come = s.now + ahead_of(x, part) + x->flag;
        if (x->back && !sums) s.came[part] = come;
        x->sent += x->message[part];
        last = fmax(last, come);
        s.left = -1;
    }
    x->total = fmax(s.now + x->flag, last);
}
