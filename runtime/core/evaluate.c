#include "core/evaluate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend.h"
#include "core/comm.h"
#include "core/fail.h"
#include "core/inputs.h"
#include "core/ports.h"
#include "core/report.h"

// Bytes of this rank: of SEG_LOCAL from 2^60 on.
typedef struct span {
    int64_t lo, hi;
} span;

typedef struct spans {
    int n, cap;
    span *at;
} spans;

// Its spans are read[first_read …), write[first_write …), up to those of the next call.
typedef struct call {
    int first_read, first_write;
    int unit; // a call alone, or the calls of a group
    int port; // -1: none
    bool send;
} call;

struct hap_eval {
    call *call;
    int n, cap, n_units;
    spans read, write;
    unsigned char *made; // by unit, then by port; NULL before it is known
    int at;              // the unit under way
    bool in_group;
    int64_t evaluated; // the step before which the last one was made
    int64_t batch, n_batches;
    double sum, start;
    char no_event; // its address is that of collectives left out
};

// --- spans ---

static span span_of(const hap_tensor *t)
{
    int64_t base = t->seg == SEG_LOCAL ? (int64_t)1 << 60 : 0;
    return (span){base + t->off, base + t->off + t->bytes};
}

static bool meet(span a, span b)
{
    return a.lo < b.hi && b.lo < a.hi;
}

static void put(hap_rank *r, spans *s, span x)
{
    if (x.lo == x.hi) return;
    s->at = hap_grow(r, s->at, &s->cap, s->n + 1, sizeof *s->at);
    s->at[s->n++] = x;
}

static bool any_meets(const spans *s, span x)
{
    for (int i = 0; i < s->n; i++)
        if (meet(s->at[i], x)) return true;
    return false;
}

static void take_away(hap_rank *r, spans *s, span x)
{
    for (int i = 0; i < s->n;) {
        span old = s->at[i];
        if (!meet(old, x)) {
            i++;
            continue;
        }
        s->at[i] = s->at[--s->n];
        if (old.lo < x.lo) put(r, s, (span){old.lo, x.lo});
        if (x.hi < old.hi) put(r, s, (span){x.hi, old.hi});
    }
}

// --- noting calls ---

static struct hap_eval *eval_of(const hap_rank *r)
{
    return r->eval;
}

static void note_read(hap_rank *r, const hap_tensor *t)
{
    if (t) put(r, &eval_of(r)->read, span_of(t));
}

static void note_write(hap_rank *r, const hap_tensor *t)
{
    if (t) put(r, &eval_of(r)->write, span_of(t));
}

// The next call. Is it to be made?
static bool next(hap_rank *r)
{
    struct hap_eval *e = eval_of(r);
    if (!e->in_group) e->at++;
    if (!r->noting) {
        HAP_CK(r, e->at < e->n_units, "an evaluation has more calls than the step");
        return e->made[e->at];
    }
    e->call = hap_grow(r, e->call, &e->cap, e->n + 2, sizeof *e->call);
    e->call[e->n++] = (call){e->read.n, e->write.n, e->at, -1, false};
    e->n_units = e->at + 1;
    return false;
}

// Another shape of the same bytes: nothing is written, of a parameter neither.
static bool is_view(const hap_op_call *c)
{
    return c->op == HAP_OP_reshape && c->in[0]->data == c->out[0]->data &&
           c->in[0]->bytes == c->out[0]->bytes;
}

bool hap_eval_op(hap_rank *r, const hap_op_call *c)
{
    bool made = next(r), notes = r->noting && !is_view(c);
    if (r->noting && hap_is_port(c->op)) {
        call *k = &eval_of(r)->call[eval_of(r)->n - 1];
        k->port = (int)(hap_port_of(r, c, &k->send) - r->ports->end);
    }
    for (int i = 0; i < c->n_in && notes; i++)
        note_read(r, c->in[i]);
    for (int i = 0; i < c->n_out && notes; i++)
        note_write(r, c->out[i]);
    return made;
}

bool hap_eval_move(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    bool made = next(r);
    if (r->noting) {
        note_read(r, x);
        note_write(r, y);
    }
    return made;
}

bool hap_eval_coll(hap_rank *r, const hap_coll_call *c)
{
    bool made = next(r);
    for (int i = 0; i < c->n && r->noting; i++) {
        note_read(r, c->src[i]);
        note_write(r, c->dst[i]);
    }
    return made;
}

bool hap_eval_wait(hap_rank *r, const hap_event *e)
{
    return !r->noting && e != hap_eval_event(r);
}

bool hap_eval_group(hap_rank *r, bool begins)
{
    struct hap_eval *e = eval_of(r);
    if (begins) e->at++;
    e->in_group = begins;
    e->n_units = r->noting ? e->at + 1 : e->n_units;
    HAP_CK(r, e->at < e->n_units, "an evaluation has more calls than the step");
    return !r->noting && e->made[e->at];
}

hap_event *hap_eval_event(hap_rank *r)
{
    return (hap_event *)(void *)&eval_of(r)->no_event;
}

hap_op_call hap_eval_form(hap_op_call c)
{
    enum { OF_DROPOUT = 0, OF_SDPA = 2, STEPS = 0 }; // the attributes p and steps
    if (c.op == HAP_OP_dropout) c.attr[OF_DROPOUT].f = 0;
    if (c.op == HAP_OP_sdpa) c.attr[OF_SDPA].f = 0;
    if (c.op == HAP_OP_step_stat) c.attr[STEPS].f = 0;
    return c;
}

// --- what the loss depends on ---

// Backwards from the loss, where units in e->made are made in any case, and messages of ports in
// it. Leaves in `wanted` what the units made read that none of them writes before; true if there is
// a unit more than there was.
static bool depend(hap_rank *r, spans *wanted)
{
    struct hap_eval *e = eval_of(r);
    unsigned char *port = e->made + e->n_units;
    bool more = false;
    wanted->n = 0;
    if (r->loss) put(r, wanted, span_of(r->loss));
    e->call[e->n] = (call){e->read.n, e->write.n, 0, -1, false};
    for (int c = e->n - 1; c >= 0; c--) {
        const call *k = &e->call[c];
        bool makes = e->made[k->unit] || (k->port >= 0 && port[k->port]);
        for (int i = k->first_write; i < k[1].first_write && !makes; i++)
            makes = any_meets(wanted, e->write.at[i]);
        if (!makes) continue;
        more |= !e->made[k->unit];
        e->made[k->unit] = 1;
        if (k->port >= 0) port[k->port] = 1;
        for (int i = k->first_write; i < k[1].first_write; i++)
            take_away(r, wanted, e->write.at[i]);
        for (int i = k->first_read; i < k[1].first_read; i++) {
            take_away(r, wanted, e->read.at[i]);
            put(r, wanted, e->read.at[i]);
        }
    }
    return more;
}

static bool stays(hap_var_kind k)
{
    return k == HAP_VAR_PARAM || k == HAP_VAR_STATE || k == HAP_VAR_BUFFER || k == HAP_VAR_CONST;
}

// Is the evaluation one by itself: does it read but what is there before a step, and leave that as
// it was?
static void check_closed(hap_rank *r, spans *wanted)
{
    struct hap_eval *e = eval_of(r);
    for (int i = 0; i < r->n_vars; i++) {
        hap_var_kind kind = r->var[i].kind;
        span x = span_of(r->var[i].t);
        if (stays(kind) || kind == HAP_VAR_INPUT) take_away(r, wanted, x);
        for (int c = 0; c < e->n && stays(kind); c++)
            for (int w = e->call[c].first_write; w < e->call[c + 1].first_write; w++)
                HAP_CK(r, !(e->made[e->call[c].unit] && meet(e->write.at[w], x)),
                       "not supported: --eval of a program whose loss depends on a call that "
                       "writes '%s'",
                       r->var[i].name);
    }
    HAP_CK(r, wanted->n == 0,
           "not supported: --eval of a program whose loss depends on what another step has left");
}

// All ranks of a stage make the same units, both ends of a port its messages. n_units: by stage.
static void agree_on_made(hap_rank *r, const int *n_units)
{
    struct hap_eval *e = eval_of(r);
    int first = 0, all = 0, n_ports = r->ports ? r->ports->n : 0;
    for (int s = 0; s < r->n_stages || s == 0; s++) {
        if (s == r->stage) first = all;
        all += n_units[s];
    }
    unsigned char *made = hap_alloc(r, (size_t)(all + n_ports) + 1);
    memcpy(made + first, e->made, (size_t)e->n_units);
    if (n_ports) memcpy(made + all, e->made + e->n_units, (size_t)n_ports);
    hap_comm_max_bytes(r, made, all + n_ports);
    memcpy(e->made, made + first, (size_t)e->n_units);
    if (n_ports) memcpy(e->made + e->n_units, made + all, (size_t)n_ports);
    free(made);
}

static void find_made(hap_rank *r)
{
    struct hap_eval *e = eval_of(r);
    spans wanted = {0};
    int made = 0, n_ports = r->ports ? r->ports->n : 0, n = r->n_stages > 1 ? r->n_stages : 1;
    int *n_units = hap_alloc(r, (size_t)n * sizeof *n_units);
    for (int s = 0; s < n; s++)
        n_units[s] = hap_comm_max(r, s == r->stage ? e->n_units : 0);
    e->made = hap_alloc(r, (size_t)(e->n_units + n_ports) + 1);
    do {
        while (depend(r, &wanted))
            ;
        agree_on_made(r, n_units);
    } while (hap_comm_max(r, depend(r, &wanted)));
    free(n_units);
    check_closed(r, &wanted);
    for (int u = 0; u < e->n_units; u++)
        made += e->made[u];
    if (r->id == 0 && r->opt.verbose)
        fprintf(stderr, "an evaluation makes %d of %d calls and groups of a step\n", made,
                e->n_units);
    free(wanted.at);
    free(e->call);
    free(e->read.at);
    free(e->write.at);
    e->call = NULL;
    e->read = e->write = (spans){0};
}

// --- passes ---

static bool is_due(const hap_rank *r)
{
    if (r->opt.n_evals == 0 || r->stopped) return false;
    if (r->eval && eval_of(r)->evaluated == r->now.step) return false;
    if (r->steps_done == r->opt.steps) return true;
    return r->steps_done > 0 && r->opt.eval_every && r->now.step % r->opt.eval_every == 0;
}

static void begin_pass(hap_rank *r)
{
    struct hap_eval *e = eval_of(r);
    r->evaluating = true;
    r->noting = !e->made;
    e->at = -1;
    e->in_group = false;
    if (!r->noting) hap_inputs_load_eval(r, e->batch * r->batch_rows);
}

bool hap_eval_begin(hap_rank *r)
{
    struct hap_eval *e = r->eval;
    if (!r->evaluating) {
        if (!is_due(r)) return false;
        HAP_CK(r, hap_comm_max(r, r->loss != NULL), "--eval: the program has no loss");
        if (!e) {
            e = r->eval = hap_alloc(r, sizeof *e);
            e->n_batches = r->eval_samples / r->batch_rows;
            if (r->opt.eval_batches && r->opt.eval_batches < e->n_batches)
                e->n_batches = r->opt.eval_batches;
        }
        e->batch = 0;
        e->sum = 0;
        e->evaluated = r->now.step;
        e->start = hap_seconds();
        hap_backend_program(r, 1);
    } else if (!r->noting && (e->batch == e->n_batches || r->stopped)) {
        r->evaluating = false;
        hap_backend_program(r, 0);
        if (!r->stopped)
            hap_report_eval(r, e->sum / (double)e->n_batches, e->n_batches,
                            hap_seconds() - e->start);
        return false;
    }
    begin_pass(r);
    return true;
}

void hap_eval_end(hap_rank *r, double loss)
{
    struct hap_eval *e = eval_of(r);
    if (r->noting) {
        find_made(r);
        return;
    }
    HAP_CK(r, e->at == e->n_units - 1, "an evaluation has fewer calls than the step");
    e->sum += loss;
    e->batch++;
}

void hap_eval_close(hap_rank *r)
{
    struct hap_eval *e = r->eval;
    if (!e) return;
    free(e->made);
    free(e);
    r->eval = NULL;
}
