// What overlapped pairs lose: `gap`, what a further chunk adds to a matmul, where the matmul is
// the longer; and `flag`, from when the last message is there until its matmul begins, where the
// transfer is. Measured on an all-gather and a matmul, in chunks of one member or of its fourths.

#include "core/comm.h"
#include "profile/profile.h"

enum { REPEATS = 3, FOURTHS = 4 };

typedef struct pair_case {
    int64_t part, k, n; // x [part of each rank, k], w [k, n]
    bool gathers, multiplies;
    int n_chunks; // 0: one after the other
    int64_t (*chunks)[3];
} pair_case;

// Seconds of one; negative: it does not fit.
static double measure(profile *p, const pair_case *c)
{
    int n_ranks = p->r->n_ranks;
    hap_dtype t = p->device.gpu ? HAP_BF16 : HAP_F32;
    bool fits = true;
    profile_begin(p);
    int64_t *table = profile_own(p, sizeof *table * (size_t)n_ranks), all = c->part * n_ranks;
    for (int i = 0; i < n_ranks; i++)
        table[i] = c->part;
    for (int i = 0; fits && i < REPEATS; i++) {
        hap_tensor *x = profile_cut(p, PROFILE_IN, t, 2, HAP_DIMS(CUT(0, all, table), WHOLE(c->k)));
        hap_tensor *full = profile_tensor(p, PROFILE_SYM, t, 2, (int64_t[]){all, c->k});
        hap_tensor *w = profile_tensor(p, PROFILE_IN, t, 2, (int64_t[]){c->k, c->n});
        hap_tensor *y = profile_tensor(p, PROFILE_OUT, t, 2, (int64_t[]){all, c->n});
        hap_tensor *part = profile_tensor(p, PROFILE_IN, t, 2, (int64_t[]){c->part, c->k});
        hap_tensor *y_part = profile_tensor(p, PROFILE_OUT, t, 2, (int64_t[]){c->part, c->n});
        fits = x && full && w && y && part && y_part;
        if (!fits) break;
        if (c->gathers && c->multiplies) {
            profile_add_gathered(p, FORM_PUT(1), c->n_chunks, (const int64_t(*)[3])c->chunks, NULL,
                                 full, x, w, y);
        } else if (c->gathers) {
            hap_coll_call g = {.kind = HAP_ALL_GATHER, .axes = AXIS(0), .form = FORM_PUT(1)};
            profile_add_coll(p, &g, full, x);
            profile_add(p, CALL_WAIT);
        } else {
            profile_add_matmul(p, y_part, part, w);
        }
    }
    if (hap_comm_min(p->r, fits) != 1) return -1;
    return profile_run(p) / REPEATS;
}

// Chunks: own rows, then those of every other rank, in fourths or whole.
void profile_pairs(profile *p)
{
    int64_t chunks[2][1 + FOURTHS * 64][3];
    int n[2], n_ranks = p->r->n_ranks;
    if (!p->peers || n_ranks > 64) return;
    for (int i = 0; i < 2; i++) {
        int parts = i ? FOURTHS : 1;
        n[i] = 1 + parts * (n_ranks - 1);
        for (int k = 0; k < n[i]; k++) {
            chunks[i][k][0] = k ? 1 + (k - 1) / parts : 0;
            chunks[i][k][1] = 1;
            chunks[i][k][2] = 0;
        }
    }
    bool gpu = p->device.gpu;
    pair_case whole = {gpu ? 4096 : 64, gpu ? 4096 : 64, gpu ? 4096 : 64, true, true, n[0],
                       chunks[0]};
    pair_case fourths = whole;
    fourths.n_chunks = n[1];
    fourths.chunks = chunks[1];
    double sec = measure(p, &whole), more = measure(p, &fourths);
    if (sec < 0 || more < 0) return;
    double gap = (more - sec) / (n[1] - n[0]);
    pair_case thin = {gpu ? 8192 : 512, gpu ? 2048 : 64, gpu ? 64 : 8, true, true, n[0], chunks[0]};
    pair_case transfer = thin, last = thin;
    transfer.multiplies = false;
    last.gathers = false;
    sec = measure(p, &thin);
    double sent = measure(p, &transfer), matmul = measure(p, &last);
    if (sec < 0 || sent < 0 || matmul < 0) return;
    double flag = sec - sent - matmul;
    const double least = 1e-7; // 0 would mean that it was not measured
    gap = gap > least ? gap : least;
    flag = flag > least ? flag : least;
    profile_keep(p, (profile_result){PROFILE_PAIR, "gap", "", "", 0, 0, gap});
    profile_keep(p, (profile_result){PROFILE_PAIR, "flag", "", "", 0, 0, flag});
    profile_progress(p);
}
