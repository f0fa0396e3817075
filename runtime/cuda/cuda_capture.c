#include "cuda/cuda_capture.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/fail.h"
#include "cuda/cuda_push.h"
#include "cuda/cuda_shadow.h"

enum { LEAST_CAPTURED = 4 }; // calls

static bool starts(const cuda_call *c)
{
    return c->kind == CUDA_START || c->kind == CUDA_PAIR;
}

// live[i] for each call of the list.
static void find_live(hap_rank *r, const cuda_record *list, bool *live)
{
    for (int i = 0; i < list->n; i++) {
        const cuda_call *c = &list->call[i];
        bool push = c->kind == CUDA_START && hap_form_push(c->coll.form);
        live[i] = c->kind == CUDA_PAIR || (push && cuda_push_peers(r, c->coll.axes));
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < list->n; i++) {
            int end = starts(&list->call[i]) ? list->call[i].other : -1;
            bool cut = live[i];
            for (int k = i; k <= end && !cut; k++)
                cut = live[k];
            if (!cut || end < 0 || (live[i] && live[end])) continue;
            live[i] = live[end] = changed = true;
        }
    }
}

static bool nothing(const cuda_call *c)
{
    return c->kind == CUDA_DONE || c->kind == CUDA_JOINED;
}

// Live calls that follow one another are one part.
static void add_part(hap_rank *r, cuda_backend *b, int from, int to, bool live)
{
    if (from == to) return;
    cuda_part *last = b->n_parts ? &b->part[b->n_parts - 1] : NULL;
    if (last && last->live && live) {
        last->to = to;
        return;
    }
    b->part = hap_grow(r, b->part, &b->cap_parts, b->n_parts + 1, sizeof *b->part);
    b->part[b->n_parts++] = (cuda_part){.from = from, .to = to, .live = live};
}

static int calls_in(const cuda_record *list, int from, int to)
{
    int n = 0;
    for (int i = from; i < to; i++)
        n += !nothing(&list->call[i]);
    return n;
}

// Every start in the stretch has its wait there, and every wait its start.
static bool whole(const cuda_record *list, int from, int to)
{
    for (int i = from; i < to; i++) {
        const cuda_call *c = &list->call[i];
        int other = starts(c) || c->kind == CUDA_WAIT ? c->other : i;
        if (other < from || other >= to) return false;
    }
    return true;
}

// Live calls are starts, waits and pairs: an op and those joined to it, which follow one another in
// the list, stay in one part.
static void find_parts(hap_rank *r, cuda_backend *b)
{
    const cuda_record *list = &b->list;
    bool *live = hap_alloc(r, (size_t)list->n * sizeof *live);
    find_live(r, list, live);
    for (int i = 0, end; i < list->n; i = end) {
        end = i;
        while (end < list->n && live[end] == live[i])
            end++;
        bool few = calls_in(list, i, end) < LEAST_CAPTURED;
        add_part(r, b, i, end, live[i] || few || !whole(list, i, end));
    }
    free(live);
    const char *verbose = getenv("HAP_VERBOSE");
    int captured = 0;
    for (int i = 0; i < b->n_parts; i++)
        captured += !b->part[i].live;
    if (verbose && verbose[0])
        fprintf(stderr, "rank %d step in %d parts, %d of them captured\n", r->id, b->n_parts,
                captured);
}

static void capture(hap_rank *r, cuda_part *p, bool last)
{
    cuda_backend *b = cuda_of(r);
    cudaGraph_t g = NULL;
    b->x.capturing = true;
    cuda_check(r, cuda_said(cudaStreamBeginCapture(b->x.stream, cudaStreamCaptureModeRelaxed),
                            "cudaStreamBeginCapture"));
    cuda_run_calls(r, p->from, p->to);
    if (last) // what nobody reads any more need not get to the arena
        cuda_step_ends(r);
    else
        cuda_check(r, cuda_settle_shadows(&b->x));
    b->x.capturing = false;
    cuda_check(r, cuda_said(cudaStreamEndCapture(b->x.stream, &g), "cudaStreamEndCapture"));
    cuda_check(r, cuda_said(cudaGraphInstantiate(&p->graph, g, 0), "cudaGraphInstantiate"));
    cudaGraphDestroy(g);
}

void cuda_run_parts(hap_rank *r)
{
    cuda_backend *b = cuda_of(r);
    if (b->n_parts == 0) find_parts(r, b);
    for (int i = 0; i < b->n_parts; i++) {
        cuda_part *p = &b->part[i];
        if (p->live) {
            cuda_run_calls(r, p->from, p->to);
            cuda_check(r, cuda_settle_shadows(&b->x));
            continue;
        }
        if (!p->graph) capture(r, p, i + 1 == b->n_parts);
        cuda_check(r, cuda_said(cudaGraphLaunch(p->graph, b->x.stream), "cudaGraphLaunch"));
    }
    r->doing = NULL;
}

void cuda_parts_free(cuda_backend *b)
{
    for (int i = 0; i < b->n_parts; i++)
        if (b->part[i].graph) cudaGraphExecDestroy(b->part[i].graph);
    free(b->part);
    b->part = NULL;
    b->n_parts = b->cap_parts = 0;
}
