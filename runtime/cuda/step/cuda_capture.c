#include "cuda/step/cuda_capture.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/fail.h"
#include "cuda/comm/cuda_put.h"
#include "cuda/device/cuda_graph.h"
#include "cuda/kernels/cuda_shadow.h"
#include "cuda/step/cuda_calls.h"
#include "cuda/step/cuda_live.h"

// Of itself: a pair, a one-sided put between peers, and what stages have.
static void mark_live(const hap_rank *r, const cuda_record *list, bool *live)
{
    for (int i = 0; i < list->n; i++) {
        const cuda_call *c = &list->call[i];
        bool put = c->kind == CUDA_START && hap_form_put(c->coll.form);
        live[i] = c->kind == CUDA_PAIR || (put && cuda_put_peers(r, c->coll.axes)) ||
                  cuda_live_of_stages(r, c);
    }
}

// A start is captured on all ranks or on none. Lists of different lengths, which no program of hapc
// has, capture none.
static void agree(hap_rank *r, const cuda_record *list, bool *live)
{
    int n = cuda_live_starts(list), least[] = {n, -n};
    MPI_Allreduce(MPI_IN_PLACE, least, 2, MPI_INT, MPI_MIN, cuda_of(r)->stage);
    bool alike = least[0] == -least[1];
    int *in = hap_alloc(r, (size_t)(n + 1) * sizeof *in); // zeroed
    if (!alike) cuda_live_hear(list, live, in);
    for (int news = alike; news;) {
        cuda_live_tell(list, live, in);
        MPI_Allreduce(MPI_IN_PLACE, in, n, MPI_INT, MPI_MIN, cuda_of(r)->stage);
        news = cuda_live_hear(list, live, in);
        MPI_Allreduce(MPI_IN_PLACE, &news, 1, MPI_INT, MPI_MAX, cuda_of(r)->stage);
    }
    free(in);
}

static void say_parts(const hap_rank *r, const bool *live)
{
    cuda_steps *steps = cuda_steps_of(r);
    const cuda_record *list = &steps->now.list;
    int captured = 0, shared = 0, starts = 0, in_graphs = 0, n_puts = 0;
    for (int i = 0; i < steps->now.n_parts; i++) {
        const cuda_span *s = &steps->now.part[i].span;
        captured += !s->live;
        shared += !s->live && s->as != i;
    }
    for (int i = 0; i < list->n; i++) {
        const cuda_call *c = &list->call[i];
        if (c->kind != CUDA_START) continue;
        bool put = hap_form_put(c->coll.form) && cuda_put_peers(r, c->coll.axes);
        n_puts += put;
        starts += !put;
        in_graphs += !put && !live[i];
    }
    fprintf(stderr,
            "rank %d step in %d parts, %d of them captured; %d of %d of the library's collectives "
            "in them, %d one-sided puts between\n",
            r->id, steps->now.n_parts, captured, in_graphs, starts, n_puts);
    if (shared > 0)
        fprintf(stderr, "rank %d %d of the parts are like others before them\n", r->id, shared);
}

static void find_parts(hap_rank *r)
{
    cuda_steps *steps = cuda_steps_of(r);
    const cuda_record *list = &steps->now.list;
    bool *live = hap_alloc(r, (size_t)list->n * sizeof *live);
    mark_live(r, list, live);
    cuda_live_close(list, live);
    if (r->n_members > 1) agree(r, list, live);
    int n;
    cuda_span *s = cuda_spans(r, list, live, &n);
    steps->now.part = hap_alloc(r, (size_t)(n + 1) * sizeof *steps->now.part);
    for (int i = 0; i < n; i++)
        steps->now.part[i].span = s[i];
    steps->now.n_parts = n;
    free(s);
    if (r->opt.verbose) say_parts(r, live);
    free(live);
}

static void capture(hap_rank *r, cuda_part *p, bool last)
{
    cuda_backend *b = cuda_of(r);
    cudaGraph_t g = NULL;
    cuda_check(r, cuda_graph_begin(&b->x));
    cuda_run_calls(r, p->span.from, p->span.to);
    if (last) // what nobody reads any more need not get to the arena
        cuda_step_ends(r);
    else
        cuda_check(r, cuda_settle_shadows(&b->x));
    cuda_check(r, cuda_graph_end(&b->x, &g, &p->graph));
    cudaGraphDestroy(g);
}

void cuda_run_parts(hap_rank *r)
{
    cuda_steps *steps = cuda_steps_of(r);
    cuda_backend *b = cuda_of(r);
    if (steps->now.n_parts == 0) find_parts(r);
    for (int i = 0; i < steps->now.n_parts; i++) {
        cuda_part *p = &steps->now.part[i];
        if (p->span.live) {
            cuda_run_calls(r, p->span.from, p->span.to);
            cuda_check(r, cuda_settle_shadows(&b->x));
            continue;
        }
        cuda_part *as = &steps->now.part[p->span.as];
        if (!as->graph) capture(r, as, i + 1 == steps->now.n_parts);
        cuda_check(r, cuda_said(cudaGraphLaunch(as->graph, b->x.stream), "cudaGraphLaunch"));
    }
    r->doing = NULL;
}

void cuda_parts_free(cuda_backend *b)
{
    cuda_steps *steps = b->steps;
    for (int i = 0; i < steps->now.n_parts; i++) {
        if (!steps->now.part[i].graph) continue;
        cudaGraphExecDestroy(steps->now.part[i].graph);
        b->x.graphs--;
    }
    free(steps->now.part);
    steps->now.part = NULL;
    steps->now.n_parts = 0;
}
