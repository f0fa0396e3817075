#include "cpu/coll_engine.h"

#include <sched.h>
#include <stdlib.h>

#include "core/backend.h"
#include "core/comm.h"
#include "core/fail.h"
#include "core/trace.h"
#include "cpu/coll_forms.h"

enum { N_TAGS = 30000 }; // MPI promises tags up to 32767

cpu_coll_state *cpu_coll_state_new(hap_rank *r)
{
    return hap_alloc(r, sizeof(cpu_coll_state));
}

static void free_list(hap_event *e)
{
    while (e) {
        hap_event *next = e->next;
        for (int i = 0; i < e->cap_parts; i++) {
            free(e->part[i].req);
            free(e->part[i].counts);
        }
        free(e->part);
        free(e);
        e = next;
    }
}

void cpu_coll_state_free(cpu_coll_state *s)
{
    free_list(s->first);
    free_list(s->free);
    free(s);
}

static void part_advance(hap_rank *r, cpu_part *p)
{
    if (p->filling) {
        int all = 0;
        cpu_mpi_check(r, MPI_Testall(p->n_req, p->req, &all, MPI_STATUSES_IGNORE), "MPI_Testall");
        return;
    }
    while (!p->done) {
        if (p->n_req > p->n_held) {
            int all = 0;
            cpu_mpi_check(
                r, MPI_Testall(p->n_req - p->n_held, p->req + p->n_held, &all, MPI_STATUSES_IGNORE),
                "MPI_Testall");
            if (!all) return;
            p->n_req = p->n_held;
        }
        if (!cpu_part_step(r, p)) return;
    }
}

static void event_advance(hap_rank *r, hap_event *e)
{
    bool done = true;
    for (int i = 0; i < e->n_parts; i++) {
        part_advance(r, &e->part[i]);
        done &= e->part[i].done;
    }
    if (done && !e->done) {
        e->done = true;
        if (r->trace) hap_trace_add(r, e->lane, e->name, e->line, e->start, hap_seconds());
    }
}

void hap_backend_poll(hap_rank *r)
{
    for (hap_event *e = cpu_of(r)->coll->first; e; e = e->next) {
        if (!e->done) event_advance(r, e);
    }
}

static void part_init(hap_rank *r, cpu_part *p, const hap_coll_call *c, int k, char *scratch)
{
    cpu_backend *b = cpu_of(r);
    MPI_Request *req = p->req; // kept storage
    int *counts = p->counts, cap_req = p->cap_req;
    *p = (cpu_part){.kind = c->kind,
                    .form = c->form,
                    .src = c->src[k],
                    .dst = c->dst[k],
                    .scratch = scratch,
                    .comm = b->group[c->axes],
                    .type = cpu_mpi_type(c->src[k]->type),
                    .op = cpu_mpi_op(r, c->src[k]->type, c->reduce),
                    .req = req,
                    .counts = counts,
                    .cap_req = cap_req};
    char why[160];
    hap_coll_view_of(r, c, k, &p->v, why, sizeof why); // checked by core
    if (!req) {
        p->cap_req = 2 * r->n_ranks + 2;
        p->req = hap_alloc(r, (size_t)p->cap_req * sizeof *req);
        p->counts = hap_alloc(r, 4 * (size_t)r->n_ranks * sizeof *counts);
    }
    if (hap_form_put(c->form)) p->slot = hap_put_slot(r, c, &p->v);
    p->tag = b->coll->next_tag;
    b->coll->next_tag = (b->coll->next_tag + 1) % N_TAGS;
    if (c->form == FORM_TWO_LEVEL && p->src->elements) p->ticket = b->coll->next_ticket++;
}

hap_event *cpu_coll_open(hap_rank *r, const hap_coll_call *c)
{
    cpu_coll_state *s = cpu_of(r)->coll;
    hap_event *e = s->free;
    if (e)
        s->free = e->next;
    else
        e = hap_alloc(r, sizeof *e);
    e->part = hap_grow(r, e->part, &e->cap_parts, c->n, sizeof *e->part);
    e->active = true;
    e->done = false;
    e->line = r->line;
    e->name = hap_coll_name(c);
    e->lane = hap_trace_comm(c->axes);
    e->start = hap_seconds();
    e->n_parts = c->n;
    e->next = NULL;
    if (s->last)
        s->last->next = e;
    else
        s->first = e;
    s->last = e;
    char *scratch = c->scratch ? c->scratch->data : NULL;
    for (int k = 0; k < c->n; k++) {
        cpu_part *p = &e->part[k];
        part_init(r, p, c, k, scratch);
        int64_t need = hap_scratch_of(r, c, &p->v);
        if (need) scratch += (need + HAP_SCRATCH_ALIGN - 1) / HAP_SCRATCH_ALIGN * HAP_SCRATCH_ALIGN;
    }
    return e;
}

hap_event *hap_backend_coll(hap_rank *r, const hap_coll_call *c)
{
    hap_event *e = cpu_coll_open(r, c);
    for (int k = 0; k < c->n; k++)
        part_advance(r, &e->part[k]); // posts the first step here, in the plan's order
    return e;
}

void hap_backend_wait(hap_rank *r, hap_event *e)
{
    cpu_coll_state *s = cpu_of(r)->coll;
    HAP_CK(r, e->active, "an event is waited for twice");
    // The others are kept moving: a later phase of an earlier one may be what a peer waits for.
    while (!e->done) {
        hap_backend_poll(r);
        if (!e->done) sched_yield();
    }
    hap_event **at = &s->first, *before = NULL;
    while (*at != e) {
        before = *at;
        at = &(*at)->next;
    }
    *at = e->next;
    if (s->last == e) s->last = before;
    e->active = false;
    e->next = s->free;
    s->free = e;
}

hap_event *hap_backend_pending(const hap_rank *r)
{
    const cpu_backend *b = cpu_of(r);
    return b ? b->coll->first : NULL;
}

int hap_event_line(const hap_event *e)
{
    return e->line;
}
