#include "cuda/step/cuda_live.h"

enum { LEAST_CAPTURED = 4 }; // calls

static bool starts(const cuda_call *c)
{
    return c->kind == CUDA_START || c->kind == CUDA_PAIR;
}

static bool nothing(const cuda_call *c)
{
    return c->kind == CUDA_DONE || c->kind == CUDA_JOINED;
}

// Collectives that are under way over something live. Whether there were any.
static bool close_spans(const cuda_record *list, bool *live)
{
    bool news = false;
    for (bool changed = true; changed; news |= changed) {
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
    return news;
}

// Runs between live calls that are not worth a graph. An op and those joined to it follow one
// another, so they stay together.
static bool close_short(const cuda_record *list, bool *live)
{
    bool news = false;
    for (int i = 0, end; i < list->n; i = end) {
        int n = 0;
        for (end = i; end < list->n && live[end] == live[i]; end++)
            n += !nothing(&list->call[end]);
        if (live[i] || n >= LEAST_CAPTURED) continue;
        for (int k = i; k < end; k++)
            live[k] = true;
        news = true;
    }
    return news;
}

bool cuda_live_of_stages(const hap_rank *r, const cuda_call *c)
{
    if (c->kind == CUDA_PORT) return true;
    if (r->n_stages < 2 || c->kind != CUDA_OP || c->op.op != HAP_OP_slice) return false;
    for (int i = 0; i < r->n_vars; i++)
        if (r->var[i].kind == HAP_VAR_INPUT && r->var[i].t->data == c->op.in[0]->data) return true;
    return false;
}

void cuda_live_close(const cuda_record *list, bool *live)
{
    do
        close_spans(list, live);
    while (close_short(list, live));
}

int cuda_live_starts(const cuda_record *list)
{
    int n = 0;
    for (int i = 0; i < list->n; i++)
        n += starts(&list->call[i]);
    return n;
}

void cuda_live_tell(const cuda_record *list, const bool *live, int *in)
{
    int n = 0;
    for (int i = 0; i < list->n; i++)
        if (starts(&list->call[i])) in[n++] = !live[i];
}

bool cuda_live_hear(const cuda_record *list, bool *live, const int *in)
{
    bool news = false;
    for (int i = 0, n = 0; i < list->n; i++) {
        if (!starts(&list->call[i]) || in[n++] || live[i]) continue;
        live[i] = news = true;
    }
    if (news) cuda_live_close(list, live);
    return news;
}
