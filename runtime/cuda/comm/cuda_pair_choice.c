// Which way a pair runs: in chunks, as its list of tiles, or as the list whose kernel stores parts
// where they go. The first pass tries what is planned against the rest, on the pair's own operands:
// all members time as many runs, agree whose groups they take, by the slowest, and each keeps the
// form that was quickest there.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/comm/cuda_nccl.h"
#include "cuda/comm/cuda_pair_run.h"
#include "cuda/kernels/tile_gemm.h"

static float seconds_of(cuda_running_pair *x, cuda_pair_runner *run, cuda_pair_way way,
                        cudaEvent_t done, const cudaEvent_t from_to[2])
{
    float ms;
    cudaStream_t s = x->b->x.stream;
    cuda_pair_ok(x, cudaEventRecord(from_to[0], s), "cudaEventRecord");
    run(x, way, done);
    cuda_pair_after(x, s, done);
    cuda_pair_ok(x, cudaEventRecord(from_to[1], s), "cudaEventRecord");
    cuda_pair_ok(x, cudaEventSynchronize(from_to[1]), "cudaEventSynchronize");
    cuda_pair_ok(x, cudaEventElapsedTime(&ms, from_to[0], from_to[1]), "cudaEventElapsedTime");
    return ms;
}

static int by_time(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

enum { WAYS = 4 }; // chunks, and forms of the list

// The list's form with a kernel that stores parts where they go: on all ranks or on none.
static bool stored_way(cuda_running_pair *x, const hap_pair *q, cuda_pair_way *way)
{
    const int o = x->r->opt.cuda.stores;
    const bool wanted =
        o == HAP_CUDA_stores_all || (o == HAP_CUDA_stores_on && q->tiles.how & HAP_TILE_STORES);
    bool can = q->tiles.said && (q->consumer || q->tiles.how & HAP_TILE_SUMS);
    for (int k = 0; k < q->n_chunks; k++)
        can = can && !q->chunk[k][2]; // passed on by another
    if (!wanted || !can) return false;
    return cuda_agree(x->r, cuda_pair_ways(x->r, q, x->alone, true, 1, way) > 0);
}

// Chunks first, then forms of the list, the one by stores first; returns how many, 1: no list on
// any rank. A rank without a form of its own (it has no rows) runs the list's groups one by one; an
// all-reduce by rows wants one on all.
static int ways_of(cuda_running_pair *x, cuda_pair_way way[WAYS])
{
    hap_pair q;
    const bool listed = hap_pair_listed(x->r, x->p, &q);
    memset(way, 0, sizeof *way * WAYS);
    const int first = stored_way(x, &q, way + 1) ? 2 : 1;
    int n = cuda_pair_ways(x->r, &q, x->alone, false, WAYS - first, way + first);
    if (!listed) return 1 + n;
    if (q.by_rows && !cuda_agree(x->r, n > 0)) return 1;
    for (int i = n; i < WAYS - first; i++)
        way[first + i] = n > 0 ? way[first] : (cuda_pair_way){.listed = true};
    return WAYS;
}

// Of times in ms the slowest rank's, in turn.
static void settle(cuda_running_pair *x, float *ms, int n)
{
    for (int i = 0; i < n; i++) // in ns
        ms[i] = -1e-6f * (float)cuda_agree(x->r, ms[i] < 2000 ? -(int)(1e6f * ms[i]) : -INT32_MAX);
}

// Chunks and tiles in turns, there and back; medians. All members take part in as many runs,
// whatever ways each has.
static void time_ways(cuda_running_pair *x, cuda_pair_runner *run, const cuda_pair_way way[WAYS],
                      cudaEvent_t done, float median[WAYS])
{
    enum { TURNS = 7 };
    float ms[WAYS][TURNS];
    cudaEvent_t from_to[2];
    for (int i = 0; i < 2; i++)
        cuda_pair_ok(x, cudaEventCreate(&from_to[i]), "cudaEventCreate");
    for (int i = 0; i < WAYS; i++) // warm
        seconds_of(x, run, way[i], done, from_to);
    for (int t = 0; t < TURNS; t++)
        for (int i = 0; i < WAYS; i++) {
            int k = t % 2 ? WAYS - 1 - i : i;
            ms[k][t] = seconds_of(x, run, way[k], done, from_to);
        }
    for (int i = 0; i < 2; i++)
        cudaEventDestroy(from_to[i]);
    for (int i = 0; i < WAYS; i++) {
        qsort(ms[i], TURNS, sizeof *ms[i], by_time);
        median[i] = ms[i][TURNS / 2];
    }
}

// Where another way than planned is kept, and where all is said.
static void say_ways(const cuda_running_pair *x, const cuda_pair_way way[WAYS],
                     const float ms[WAYS], int kept)
{
    const int planned = x->p->tiles.how & HAP_TILE_FIRST ? 1 : 0;
    const bool all = x->b->x.verbose;
    for (int i = 0; i < WAYS; i++) {
        if (!all && (x->r->member > 0 || kept == planned || (i != kept && i != planned))) continue;
        if (i > 1 && way[i].shape == way[1].shape && way[i].stores == way[1].stores) continue;
        fprintf(stderr, "rank %d pair of line %d: by %s%s%s %.4f ms%s%s\n", x->r->id, x->p->line,
                way[i].shape    ? way[i].shape->name
                : way[i].listed ? "groups of the list"
                                : "chunks",
                way[i].sums ? " with sums" : "", way[i].stores ? " by stores" : "", (double)ms[i],
                i == planned ? ", planned" : "", i == kept ? ", kept" : "");
    }
}

// What is planned is kept unless something else is quicker by a margin: between chunks, list and
// list by stores by the slowest rank, of the list's other forms by each.
static cuda_pair_way quickest(cuda_running_pair *x, cuda_pair_runner *run, cudaEvent_t done)
{
    const float worth = CUDA_PAIR_WORTH / 100.0f;
    const bool planned = x->p->tiles.how & HAP_TILE_FIRST;
    cuda_pair_way way[WAYS];
    float ms[WAYS];
    const bool tiled = ways_of(x, way) > 1 && way[1].shape;
    if (cuda_agree(x->r, tiled ? -1 : 0) == 0) return way[0]; // on no rank
    const int first = way[1].stores ? 2 : 1;                  // of those by copies
    int best = first;
    time_ways(x, run, way, done, ms);
    for (int i = 1, late = cuda_put_late(x->r) != NULL; i < WAYS && late; i++)
        ms[i] = INFINITY;
    for (int i = first + 1; i < WAYS; i++)
        if (ms[i] < (best > first ? 1 : worth) * ms[best]) best = i;
    float group[3] = {ms[0], ms[best], ms[1]};
    settle(x, group, 3);
    if (first == 2 && group[1] >= worth * group[2]) best = 1, group[1] = group[2];
    if (planned ? group[0] < worth * group[1] : group[1] >= worth * group[0]) best = 0;
    say_ways(x, way, ms, best);
    return way[best];
}

cuda_pair_way cuda_pair_choose(cuda_running_pair *x, cuda_pair_runner *run, cudaEvent_t done)
{
    const hap_cuda_options *o = &x->r->opt.cuda;
    cuda_pair_way way[WAYS] = {{0}};
    const cuda_pair_way *kept = cuda_pair_way_of(x->r, x->p, x->alone);
    if (kept) return *kept;
    const bool said = x->p->tiles.said, first = x->p->tiles.how & HAP_TILE_FIRST;
    if (o->tiles == HAP_CUDA_tiles_off || x->b->x.capturing) return way[0];
    if (o->tiles == HAP_CUDA_tiles_all || (o->tiles == HAP_CUDA_tiles_plan && first))
        way[0] = way[ways_of(x, way) > 1 ? 1 : 0];
    else if (o->tiles == HAP_CUDA_tiles_on && said && o->tune == HAP_CUDA_tune_on && !x->b->warm)
        way[0] = quickest(x, run, done);
    else
        return way[0];
    cuda_pair_way_put(x->r, x->p, x->alone, way[0]);
    return way[0];
}
