#include "core/call_sum.h"

#include <string.h>

static const uint64_t basis = 14695981039346656037u, prime = 1099511628211u;

static void add(hap_rank *r, const void *p, size_t n)
{
    const unsigned char *byte = p;
    for (size_t i = 0; i < n; i++)
        r->call_sum = (r->call_sum ^ byte[i]) * prime;
}

static void add_int(hap_rank *r, int64_t i)
{
    add(r, &i, sizeof i);
}

static void add_tensors(hap_rank *r, int n, hap_tensor *const *t)
{
    add_int(r, n);
    for (int i = 0; i < n; i++)
        add_int(r, t[i] ? t[i]->id : -1);
}

void hap_sum_begin(hap_rank *r)
{
    r->summing = true;
    r->call_sum = basis;
}

void hap_sum_op(hap_rank *r, const hap_op_call *c)
{
    if (!r->summing) return;
    add_int(r, c->op);
    add_tensors(r, c->n_out, c->out);
    add_tensors(r, c->n_in, c->in);
    for (int i = 0; i < c->n_attr; i++) {
        const hap_attr *a = &c->attr[i];
        add_int(r, a->i);
        add(r, &a->f, sizeof a->f);
        for (int k = 0; k < a->v.n; k++)
            add_int(r, a->v.v[k]);
    }
}

void hap_sum_coll(hap_rank *r, const hap_coll_call *c)
{
    if (!r->summing) return;
    const int64_t what[] = {c->kind, c->reduce, c->axes, c->form};
    hap_sum_numbers(r, "coll", sizeof what / sizeof *what, what);
    add_tensors(r, c->n, c->dst);
    add_tensors(r, c->n, c->src);
    add_tensors(r, 1, &c->scratch);
}

void hap_sum_tensors(hap_rank *r, const char *call, int n, hap_tensor *const *t)
{
    if (!r->summing) return;
    add(r, call, strlen(call));
    add_tensors(r, n, t);
}

void hap_sum_numbers(hap_rank *r, const char *call, int64_t n, const int64_t *v)
{
    if (!r->summing) return;
    add(r, call, strlen(call));
    for (int64_t i = 0; i < n; i++)
        add_int(r, v[i]);
}
