#include "costmodel/pair_links.h"

#include <math.h>
#include <string.h>

#include "costmodel/device_defaults.h"

typedef struct state {
    int made, sent;      // how many
    double matmul, left; // of the next matmul and of the next message
    uint32_t came;       // chunks, as bits
} state;

static bool computes(const pair_sender *p, const state *s)
{
    return s->made < p->n_matmuls;
}

static bool sends(const pair_sender *p, const state *s)
{
    return s->sent < p->n_messages && p->message[s->sent].behind <= s->made;
}

// When what rank r passes on next is there.
static double there(const pair_sender *p, const state *s, int r, double flag,
                    double (*ends)[COST_MAX_PAIR_RANKS])
{
    uint32_t after = p->message[s->sent].after;
    double last = 0;
    if (after & ~s->came) return (double)INFINITY;
    for (int k = 0; k < COST_MAX_CHUNKS && after; k++)
        if (after >> k & 1) last = fmax(last, ends[k][r] + flag);
    return last;
}

static void next_matmul(const pair_sender *p, state *s)
{
    if (computes(p, s)) s->matmul = p->matmul[s->made];
}

static void next_message(const pair_sender *p, state *s)
{
    if (s->sent < p->n_messages) s->left = p->message[s->sent].sec;
}

// From one end to the next all go on at their rates.
void pair_links_run(int n, pair_sender *rank, double flag, double (*ends)[COST_MAX_PAIR_RANKS])
{
    state all[COST_MAX_PAIR_RANKS];
    double now = 0;
    memset(all, 0, sizeof all);
    for (int r = 0; r < n; r++) {
        rank[r].made = rank[r].sent = 0;
        next_matmul(&rank[r], &all[r]);
        next_message(&rank[r], &all[r]);
    }
    for (;;) {
        double dt = (double)INFINITY, slow[COST_MAX_PAIR_RANKS][2];
        int into[COST_MAX_PAIR_RANKS] = {0};
        bool computing[COST_MAX_PAIR_RANKS], sending[COST_MAX_PAIR_RANKS];
        for (int r = 0; r < n; r++) {
            computing[r] = computes(&rank[r], &all[r]);
            double from = sends(&rank[r], &all[r]) ? there(&rank[r], &all[r], r, flag, ends)
                                                   : (double)INFINITY;
            sending[r] = from <= now * (1 + COST_ROUNDING_FEW);
            if (!sending[r]) dt = fmin(dt, from - now);
            if (sending[r]) into[rank[r].message[all[r].sent].to]++;
        }
        for (int r = 0; r < n; r++) {
            bool both = computing[r] && sending[r];
            slow[r][0] = both ? rank[r].beside.compute : 1;
            slow[r][1] = both ? rank[r].beside.communication : 1;
            if (computing[r]) dt = fmin(dt, all[r].matmul * slow[r][0]);
            if (!sending[r]) continue;
            slow[r][1] *= into[rank[r].message[all[r].sent].to];
            dt = fmin(dt, all[r].left * slow[r][1]);
        }
        if (!(dt < (double)INFINITY)) break;
        now += dt;
        double least = COST_ROUNDING_FEW * now;
        for (int r = 0; r < n; r++) {
            pair_sender *p = &rank[r];
            state *s = &all[r];
            if (computing[r]) s->matmul -= dt / slow[r][0];
            if (sending[r]) s->left -= dt / slow[r][1];
            if (computing[r] && s->matmul <= least) {
                p->made = now;
                s->made++;
                next_matmul(p, s);
            }
            if (sending[r] && s->left <= least) {
                const pair_message *m = &p->message[s->sent++];
                ends[m->chunk][m->to] = p->sent = now;
                all[m->to].came |= UINT32_C(1) << m->chunk;
                next_message(p, s);
            }
        }
    }
    for (int r = 0; r < n; r++) // what is passed on is in order
        hb_assert(all[r].sent == rank[r].n_messages);
}
