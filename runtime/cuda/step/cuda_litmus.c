#include "cuda/step/cuda_litmus.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/coll_geometry.h"
#include "core/comm.h"
#include "core/fail.h"
#include "core/heartbeat.h"
#include "cuda/comm/cuda_nccl.h"
#include "cuda/comm/cuda_put.h"
#include "cuda/step/cuda_calls.h"
#include "cuda/step/cuda_capture.h"
#include "cuda/step/cuda_live.h"
#include "cuda/step/cuda_release.h"
#include "cuda/step/cuda_whole.h"

static const double least = 2, times = 20; // of a launch: seconds, and times the calls one by one
enum { RELEASES = 10 };                    // seconds in which what is released is to end

static bool has_puts(const hap_rank *r, const cuda_record *list)
{
    for (int i = 0; i < list->n; i++) {
        const cuda_call *c = &list->call[i];
        bool put = c->kind == CUDA_START && hap_form_put(c->coll.form);
        if ((c->kind == CUDA_PAIR || put) && cuda_put_peers(r, c->coll.axes)) return true;
    }
    return false;
}

// Some rank has one-sided puts, all may, and their lists have the same collectives. A step with
// messages of other stages is never one graph.
static bool wanted(hap_rank *r)
{
    if (r->n_stages > 1) return false;
    const cuda_steps *steps = cuda_steps_of(r);
    int starts = cuda_live_starts(&steps->now.list);
    int most[] = {has_puts(r, &steps->now.list),
                  r->opt.cuda.litmus == HAP_CUDA_litmus_off || !steps->use_graph, starts, -starts};
    MPI_Allreduce(MPI_IN_PLACE, most, 4, MPI_INT, MPI_MAX, cuda_of(r)->stage);
    return most[0] && !most[1] && most[2] == -most[3];
}

static double most_of_all(const hap_rank *r, double x)
{
    MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_DOUBLE, MPI_MAX, cuda_of(r)->stage);
    return x;
}

static bool ends(hap_rank *r, double limit)
{
    double begin = hap_seconds();
    for (;;) {
        cudaError_t e = cudaStreamQuery(cuda_of(r)->x.stream);
        if (e == cudaSuccess) return true;
        if (e != cudaErrorNotReady) cuda_check(r, cuda_said(e, "the device"));
        if (hap_seconds() - begin > limit) return false;
        sched_yield();
    }
}

// --- the trial ---

// In the first turn no rank is late; then those whose number has a bit, and those that have not.
static bool late(const hap_rank *r, int turn)
{
    return turn > 0 && (r->member >> (turn - 1) / 2 & 1) == (turn - 1) % 2;
}

static int turns(const hap_rank *r)
{
    int bits = 0;
    while ((r->n_members - 1) >> bits)
        bits++;
    return 1 + 2 * bits;
}

// Whether each launch ends on all ranks; the last one may be under way.
static bool tried(hap_rank *r, cuda_whole *w)
{
    double limit = most_of_all(r, cuda_steps_of(r)->listed * times), delay = 0;
    if (cuda_agree(r, !w->fixed) == 0) return false;
    if (limit < least) limit = least;
    for (int turn = 0; turn < turns(r); turn++) {
        hap_beat(r, "device");
        MPI_Barrier(cuda_of(r)->stage);
        double begin = hap_seconds();
        if (late(r, turn)) usleep((useconds_t)(1e6 * delay));
        cuda_whole_launch(
            r, w, r->opt.cuda.litmus == HAP_CUDA_litmus_fail && r->member == r->n_members - 1);
        bool ended = ends(r, limit);
        if (cuda_agree(r, ended) == 0) return false;
        if (turn == 0) delay = 0.01 + most_of_all(r, hap_seconds() - begin);
        if (delay > limit / 2) delay = limit / 2;
    }
    return true;
}

// The same where every launch has ended as where one is to be released: all ranks go on from one
// number that none has come to.
static void resume(hap_rank *r, cuda_release *x)
{
    uint32_t number = 0;
    for (unsigned a = 0; a < CUDA_MASKS; a++)
        number = cuda_put_taken(r, a) > number ? cuda_put_taken(r, a) : number;
    MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_UINT32_T, MPI_MAX, cuda_of(r)->stage);
    bool ended = ends(r, 0);
    for (int turn = 0; turn < RELEASES && !ended; turn++) {
        cuda_release_raise(r, x, number);
        ended = ends(r, 0.5);
        cuda_release_rest(x);
        ended = ended || ends(r, 0.5);
    }
    HAP_CK(r, ended,
           "a captured step with one-sided puts does not end (--cuda litmus=off captures none)");
    MPI_Barrier(cuda_of(r)->stage); // no graph writes to flags any more
    cuda_release_end(r, x, number);
    MPI_Barrier(cuda_of(r)->stage);
}

static void say(const hap_rank *r, const cuda_whole *w, bool passed)
{
    if (!r->opt.verbose) return;
    fprintf(stderr, "rank %d step as one graph with its one-sided puts, %d nodes of numbers: %s\n",
            r->id, w->n_nodes,
            passed     ? "every trial ended"
            : w->fixed ? "the driver does not set them, one-sided puts stay live"
                       : "a trial did not end, one-sided puts stay live");
}

void cuda_litmus(hap_rank *r)
{
    cuda_steps *steps = cuda_steps_of(r);
    cuda_backend *b = cuda_of(r);
    cuda_release release;
    if (steps->now.whole || !wanted(r)) return;
    steps->now.whole = hap_alloc(r, sizeof *steps->now.whole);
    cuda_whole_begin(r, steps->now.whole);
    cuda_run_list(r);
    cuda_step_ends(r);
    cuda_whole_end(r, steps->now.whole);
    cuda_release_park(r, &release);
    bool passed = tried(r, steps->now.whole);
    resume(r, &release);
    say(r, steps->now.whole, passed);
    if (!passed) cuda_whole_drop(r);
    memset(b->x.trap, 0, sizeof *b->x.trap); // of values that are none
    r->line = 0;
    r->doing = NULL;
    steps->now.choice.whole = passed;
}
