#include "cuda/step/cuda_spans.h"

#include <string.h>

#include "core/fail.h"

static bool same_bytes(const void *a, const void *b, size_t bytes)
{
    return a == b || (a && b && memcmp(a, b, bytes) == 0);
}

static bool same_dim(const hap_dim *a, const hap_dim *b)
{
    return a->n == b->n && a->outer == b->outer && a->inner == b->inner && a->axis == b->axis &&
           a->table == b->table;
}

static bool same_tensor(const hap_tensor *a, const hap_tensor *b)
{
    if (a == b) return true;
    bool same = a && b && a->data == b->data && a->type == b->type && a->rank == b->rank &&
                a->bytes == b->bytes;
    for (int d = 0; same && d < a->rank; d++)
        same = same_dim(&a->dim[d], &b->dim[d]) && a->local[d] == b->local[d] &&
               a->first[d] == b->first[d];
    return same;
}

static bool same_attr(const hap_attr *a, const hap_attr *b)
{
    return a->i == b->i && memcmp(&a->f, &b->f, sizeof a->f) == 0 && a->v.n == b->v.n &&
           same_bytes(a->v.v, b->v.v, (size_t)(a->v.n > 0 ? a->v.n : 0) * sizeof *a->v.v);
}

static bool same_op(const hap_op_call *a, const hap_op_call *b)
{
    bool same =
        a->op == b->op && a->n_out == b->n_out && a->n_in == b->n_in && a->n_attr == b->n_attr;
    for (int i = 0; same && i < a->n_out; i++)
        same = same_tensor(a->out[i], b->out[i]);
    for (int i = 0; same && i < a->n_in; i++)
        same = same_tensor(a->in[i], b->in[i]);
    for (int i = 0; same && i < a->n_attr; i++)
        same = same_attr(&a->attr[i], &b->attr[i]);
    return same;
}

static bool same_fusion(const cuda_fusion *a, const cuda_fusion *b)
{
    bool same = a->kernel == b->kernel && a->rows == b->rows && a->n_tensors == b->n_tensors &&
                memcmp(&a->args, &b->args, sizeof a->args) == 0;
    for (int i = 0; same && i < a->n_tensors; i++)
        same = same_tensor(a->tensor[i].t, b->tensor[i].t) &&
               a->tensor[i].read == b->tensor[i].read &&
               a->tensor[i].written == b->tensor[i].written;
    return same;
}

static bool same_call(const cuda_call *a, const cuda_call *b)
{
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case CUDA_DONE:
        return true;
    case CUDA_OP:
    case CUDA_JOINED:
    case CUDA_CUT:
    case CUDA_PARTIAL:
        return a->line == b->line && a->chain == b->chain && a->n_joined == b->n_joined &&
               a->unread == b->unread && a->once == b->once && a->keep == b->keep &&
               same_bytes(a->at, b->at, CUDA_HEAD_ROLES * sizeof *a->at) && same_op(&a->op, &b->op);
    case CUDA_FUSION:
        return a->line == b->line && same_fusion(a->fusion, b->fusion);
    case CUDA_START:
    case CUDA_PAIR:
    case CUDA_PORT:
    case CUDA_WAIT:
        break;
    }
    return false;
}

static bool same_work(const cuda_record *list, const cuda_span *a, const cuda_span *b)
{
    if (a->live || a->to - a->from != b->to - b->from) return false;
    for (int i = 0; i < a->to - a->from; i++)
        if (!same_call(&list->call[a->from + i], &list->call[b->from + i])) return false;
    return true;
}

cuda_span *cuda_spans(hap_rank *r, const cuda_record *list, const bool *live, int *n)
{
    cuda_span *s = NULL;
    int cap = 0;
    *n = 0;
    for (int i = 0, end; i < list->n; i = end) {
        for (end = i; end < list->n && live[end] == live[i];)
            end++;
        s = hap_grow(r, s, &cap, *n + 1, sizeof *s);
        s[(*n)++] = (cuda_span){.from = i, .to = end, .live = live[i], .as = -1};
    }
    for (int i = 0; i < *n; i++) {
        if (s[i].live) continue;
        s[i].as = i;
        for (int k = 0; k < i && i + 1 < *n && s[i].as == i; k++)
            if (same_work(list, &s[k], &s[i])) s[i].as = k;
    }
    return s;
}
