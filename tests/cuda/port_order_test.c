// What messages between stages on the device wait for (cuda/comm/cuda_ports.h): that file as it is,
// for several ranks in one process, on streams that run in orders drawn at random
// (support/fake_streams.h), with sends and receives of the test's own (support/fake_nccl.h).
//
//     port_order_test [programs each] [seed]
//
// A program is 2 to 4 stages in an order of slots that is drawn, as many micro-batches under way as
// drawn; ports up and down, past a stage, and of one message a step, each cut in its own way at
// each end. Values are made just before they are sent and overwritten just behind, looked at when
// they have come. Every value is to be right and every step is to end. Where one stream does not
// wait for another some values are to be wrong: each of these waits matters. With one room a port
// some steps are not to end.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stage_vars.h"
#include "core/tensor.h"
#include "cuda/comm/cuda_nccl.h"
#include "cuda/comm/cuda_ports.h"
#include "cuda/kernels/cuda_port_runs.h"
#include "tests/support/fake_nccl.h"
#include "tests/support/fake_ranks.h"
#include "tests/support/fake_streams.h"

enum {
    STAGES = 4,
    PORTS = 12,
    BATCHES = 8,
    STEPS = 3,
    CALLS = 512,
    ROWS = 4,
    COLUMNS = 6,
    LONG = 1 << 16
};

typedef struct call {
    int port;
    bool send;
    int64_t number;
} call;

typedef struct rank {
    hap_rank r;
    cuda_backend b;
    cuda_ports ports;
    cuda_port port[PORTS];
    int32_t *value[PORTS]; // of this rank's end
    int unpacked;
    int step, at, weight;
} rank;

static struct {
    int n_stages, first[STAGES + 1], under_way[STAGES], n_ports, n_batches;
    hap_stage stage[STAGES];
    hap_cuts cuts[STAGES];
    int64_t entry[STAGES][FAKE_RANKS];
    hap_port port[PORTS];
    bool by_batch[PORTS];
    call call[STAGES][CALLS];
    int n_calls[STAGES];
} program;
static rank all[FAKE_RANKS];
static long wrong;
static bool loaded; // its kernels, while no message was under way

// --- what cuda_ports.c calls ---

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    (void)kind;
    memcpy(to, from, bytes);
    return cudaSuccess;
}

void cuda_nccl_state(hap_rank *r, ncclComm_t c)
{
    (void)r, (void)c;
}

typedef struct copy {
    char *to;
    const char *from;
    const cuda_port_run *run;
    int64_t n;
    bool pack;
    int *done, number;
} copy;

// Every second run a step.
static bool copy_some(void *arg, int number)
{
    const copy *c = arg;
    for (int64_t i = number; i < c->n; i += 2) {
        const cuda_port_run *x = &c->run[i];
        memcpy(c->to + (c->pack ? x->packed : x->local), c->from + (c->pack ? x->local : x->packed),
               (size_t)x->bytes);
    }
    if (number == 1 && c->done) *c->done = c->number;
    return number == 1;
}

const char *cuda_port_load(cudaStream_t s, int *done)
{
    (void)s, (void)done;
    loaded = true;
    return NULL;
}

// The driver may wait for the whole device when it loads a kernel, for receives too.
static const char *not_loaded(void)
{
    return loaded ? NULL : "a kernel is launched for the first time while receives are under way";
}

const char *cuda_port_pack(cudaStream_t s, void *room, const void *x, const cuda_port_run *run,
                           int64_t n)
{
    copy c = {room, x, run, n, true, NULL, 0};
    fake_call_own(s, NULL, copy_some, &c, sizeof c);
    return not_loaded();
}

const char *cuda_port_unpack(cudaStream_t s, void *y, const void *room, const cuda_port_run *run,
                             int64_t n, int *done, int number)
{
    copy c = {y, room, run, n, false, done, number};
    fake_call_own(s, NULL, copy_some, &c, sizeof c);
    return not_loaded();
}

// --- values ---

typedef struct work {
    rank *q;
    int port, step;
    int64_t number;
    enum { MAKE, LOOK, SPOIL } what;
} work;

static int32_t value_of(const work *w, int64_t i)
{
    return (int32_t)(((w->step * 16 + w->port) * 16 + w->number) * ROWS * COLUMNS + i);
}

static void do_run(void *user, int64_t local, int64_t global, int64_t n)
{
    const work *w = user;
    int32_t *x = w->q->value[w->port] + local;
    for (int64_t i = 0; i < n; i++)
        if (w->what == LOOK)
            wrong += x[i] != value_of(w, global + i);
        else
            x[i] = w->what == MAKE ? value_of(w, global + i) : -1;
}

static bool work_step(void *arg, int number)
{
    const work *w = arg;
    const hap_rank *r = &w->q->r;
    const hap_tensor *t =
        &r->ports->end[w->port].shape[program.port[w->port].from == r->stage ? 0 : 1];
    hap_range part[HAP_MAX_RANK];
    if (number == 0) return false; // it takes a while
    hap_slice_of(r, t, r->member, part);
    hap_slice_runs(t->rank, t->dim, part, do_run, arg);
    return true;
}

static void enqueue_work(rank *q, const call *c, int what)
{
    work w = {q, c->port, q->step, c->number, what};
    fake_call_own(q->b.x.stream, NULL, work_step, &w, sizeof w);
}

// --- programs ---

static void draw_stages(void)
{
    static char name[STAGES][8];
    int n = 2 + (int)fake_draw(3), ranks = n;
    program.n_stages = n;
    program.n_batches = 3 + (int)fake_draw(BATCHES - 2);
    for (int s = 0, first = 0; s < n; s++) {
        int more = ranks < FAKE_RANKS && fake_draw(2);
        int members = 1 + more, left = ROWS;
        ranks += more;
        for (int i = 0; i < members; i++) {
            int64_t rows = i + 1 == members ? left : (int64_t)fake_draw((uint64_t)left + 1);
            program.entry[s][i] = rows;
            left -= (int)rows;
        }
        snprintf(name[s], sizeof name[s], "rows");
        program.cuts[s] = (hap_cuts){name[s], 0, ROWS, members, program.entry[s]};
        program.stage[s] = (hap_stage){first, 1, {members, 1}, 1, &program.cuts[s]};
        program.first[s] = first;
        program.first[s + 1] = first += members;
        program.under_way[s] = 1 + (int)fake_draw(6);
    }
    fake.n = program.first[n];
}

static int add_port(int from, int to, bool by_batch)
{
    static const char *const shape[] = {"i32[4 6]", "i32[4@rows 6]", "i32[6 4@rows]"};
    int k = program.n_ports++;
    bool turned = fake_draw(3) == 0; // [6 4] at both ends
    const char *whole = turned ? "i32[6 4]" : shape[0], *cut = shape[turned ? 2 : 1];
    program.port[k] =
        (hap_port){"x", from, fake_draw(2) ? whole : cut, to, fake_draw(2) ? whole : cut};
    program.by_batch[k] = by_batch;
    return k;
}

static void add_call(int s, int port, bool send, int64_t number)
{
    program.call[s][program.n_calls[s]++] = (call){port, send, number};
}

typedef struct place {
    int forward, back; // halves that are done
} place;

// Receives of a half, then its sends. Forward values go up and the others down.
static void add_half(int s, bool back, int64_t m)
{
    for (int send = 0; send < 2; send++)
        for (int k = 0; k < program.n_ports; k++) {
            const hap_port *p = &program.port[k];
            if (program.by_batch[k] && (send ? p->from : p->to) == s && (p->from > p->to) == back)
                add_call(s, k, send, m);
        }
}

// What a half waits for has been sent, by halves that were drawn before it.
static bool may(const place *at, int s, bool back)
{
    if (back ? at[s].back == at[s].forward : at[s].forward == program.n_batches) return false;
    if (!back && at[s].forward - at[s].back == program.under_way[s]) return false;
    for (int k = 0; k < program.n_ports; k++) {
        const hap_port *p = &program.port[k];
        if (!program.by_batch[k] || p->to != s || (p->from > p->to) != back) continue;
        if (back ? at[p->from].back <= at[s].back : at[p->from].forward <= at[s].forward)
            return false;
    }
    return true;
}

static void draw_slots(void)
{
    place at[STAGES] = {0};
    for (int left = 2 * program.n_batches * program.n_stages; left > 0;) {
        int s = (int)fake_draw((uint64_t)program.n_stages);
        bool back = fake_draw(2);
        if (!may(at, s, back)) continue;
        add_half(s, back, back ? at[s].back++ : at[s].forward++);
        left--;
    }
}

static void draw_program(void)
{
    memset(&program, 0, sizeof program);
    draw_stages();
    int last = program.n_stages - 1;
    int once = add_port(0, last, false); // as a tied parameter
    for (int s = 0; s < last; s++) {
        add_port(s, s + 1, true);
        add_port(s + 1, s, true);
    }
    if (last > 1 && fake_draw(2)) {
        add_port(0, last, true);
        add_port(last, 0, true);
    }
    int home = add_port(last, 0, false);
    add_call(0, once, true, 0);
    add_call(last, once, false, 0);
    draw_slots();
    add_call(last, home, true, 0);
    add_call(0, home, false, 0);
}

static void begin_ports(rank *q, bool one_room)
{
    cuda_message m[CALLS];
    int s = q->r.stage, rings[STAGES];
    for (int k = 0; k < program.n_ports; k++) {
        const hap_port *p = &program.port[k];
        if (p->from != s && p->to != s) continue;
        bool send = p->from == s;
        hap_port_end *e = &q->r.ports->end[k];
        hap_range part[HAP_MAX_RANK];
        hap_port_pieces(&q->r, e, send);
        int64_t n = hap_slice_of(&q->r, &e->shape[send ? 0 : 1], q->r.member, part);
        q->value[k] = malloc((size_t)(n + 1) * sizeof *q->value[k]);
        int n_from = hap_stage_ranks(&q->r, p->from);
        q->port[k].comm = fake_comm(k, q->r.member + (send ? 0 : n_from));
        cudaStreamCreateWithPriority(&q->port[k].stream, 0, 0);
    }
    for (int i = 0; i < program.n_stages; i++)
        rings[i] = one_room ? 0 : program.under_way[i];
    for (int i = 0; i < program.n_calls[s]; i++) {
        const call *c = &program.call[s][i];
        m[i] = (cuda_message){&q->r.ports->end[c->port], c->send, c->number};
    }
    cuda_ports_plan(&q->r, m, program.n_calls[s], rings);
}

static void begin(bool one_room)
{
    static const int weights[] = {1, 8, 64};
    loaded = false;
    for (int i = 0; i < fake.n; i++) {
        rank *q = &all[i];
        memset(q, 0, sizeof *q);
        q->weight = weights[fake_draw(3)];
        q->r = (hap_rank){.id = i, .n_ranks = fake.n, .n_classes = 1};
        hap_stages_begin(&q->r, program.n_stages, program.stage, program.n_ports, program.port, -1);
        q->r.n_axes = 1;
        q->r.size[0] = q->r.n_members, q->r.size[1] = 1;
        q->r.coord[0] = q->r.member;
        q->r.backend = &q->b;
        q->b.ports = &q->ports;
        q->ports = (cuda_ports){.port = q->port, .n = program.n_ports, .unpacked = &q->unpacked};
        cudaStreamCreateWithPriority(&q->b.x.stream, 0, 0);
        begin_ports(q, one_room);
        cuda_ports_begin(&q->r);
    }
}

static void end(void)
{
    fake_forget();
    fake_messages_forget();
    for (int i = 0; i < fake.n; i++) {
        rank *q = &all[i];
        cuda_ports_forget(&q->r);
        for (int k = 0; k < program.n_ports; k++) {
            free(q->value[k]);
            if (!q->port[k].comm) continue;
            fake_comm_free(q->port[k].comm);
            cudaStreamDestroy(q->port[k].stream);
        }
        cudaStreamDestroy(q->b.x.stream);
        hap_ports_close(&q->r);
    }
}

// --- steps ---

static bool may_act(const rank *q)
{
    bool next = q->step + 1 < STEPS && fake_stream_idle(q->b.x.stream);
    return q->at < program.n_calls[q->r.stage] || next;
}

static void act(rank *q)
{
    if (q->at == program.n_calls[q->r.stage]) {
        wrong += *q->ports.unpacked != q->ports.n_receives;
        q->step++;
        q->at = 0;
        cuda_ports_begin(&q->r);
        return;
    }
    const call *c = &program.call[q->r.stage][q->at++];
    hap_port_end *e = &q->r.ports->end[c->port];
    hap_tensor t = {.data = q->value[c->port]};
    if (c->send) {
        enqueue_work(q, c, MAKE);
        cuda_port_send(&q->r, e, &t);
        enqueue_work(q, c, SPOIL);
    } else {
        cuda_port_get(&q->r, e, &t);
        enqueue_work(q, c, LOOK);
        enqueue_work(q, c, SPOIL);
    }
}

static bool host_step(void)
{
    int weight[FAKE_RANKS] = {0};
    for (int i = 0; i < fake.n; i++)
        weight[i] = may_act(&all[i]) ? all[i].weight : 0;
    int i = fake_one_of(weight);
    if (i >= 0) act(&all[i]);
    return i >= 0;
}

static bool done(void)
{
    for (int i = 0; i < fake.n; i++)
        if (may_act(&all[i])) return false;
    return fake_idle();
}

static long progress(void)
{
    long n = 0;
    for (int i = 0; i < fake.n; i++)
        n += (long)all[i].step * CALLS * 2 + all[i].at + all[i].unpacked;
    return n;
}

// False: it does not end. A receive that nobody sends to goes on for ever.
static bool run(bool one_room, uint64_t seed)
{
    fake_seed(seed);
    draw_program();
    begin(one_room);
    fake_seed(seed); // weights of the streams
    unsigned eager = (unsigned)(1 + fake_draw(40));
    long before = 0;
    int same = 0;
    for (bool more = true; more && same < LONG;) {
        more = fake_draw(40) < eager && host_step();
        if (!more) more = fake_step() || host_step();
        long now = progress();
        same = now == before ? same + 1 : 0;
        before = now;
    }
    bool ended = done();
    end();
    return ended;
}

// --- waits that are left out ---

typedef enum { NONE, SENDS, GETS, COMPUTE } role;

static role role_of(cudaStream_t s)
{
    for (int i = 0; i < fake.n; i++) {
        if (s == all[i].b.x.stream) return COMPUTE;
        for (int k = 0; k < program.n_ports; k++)
            if (s == all[i].port[k].stream)
                return program.port[k].from == all[i].r.stage ? SENDS : GETS;
    }
    return NONE;
}

static role waits_not, for_what;

static bool rash(cudaStream_t s, cudaStream_t recorded)
{
    return role_of(s) == waits_not && role_of(recorded) == for_what;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *what;
        role waits_not, for_what;
        bool one_room;
    } cases[] = {
        {"as it is", NONE, NONE, false},
        {"sent before it is packed", SENDS, COMPUTE, false},
        {"packed before the room is free", COMPUTE, SENDS, false},
        {"unpacked before it has come", COMPUTE, GETS, false},
        {"received before the room is read", GETS, COMPUTE, false},
        {"with one room", NONE, NONE, true},
    };
    int programs = argc > 1 ? atoi(argv[1]) : 100, failed = 0;
    uint64_t seed = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
    fake_ranks_new(1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int stuck = 0, bad = 0;
        waits_not = cases[c].waits_not, for_what = cases[c].for_what;
        fake_rash(waits_not == NONE ? NULL : rash);
        for (int i = 0; i < programs; i++) {
            wrong = 0;
            stuck += !run(cases[c].one_room, seed + (uint64_t)i);
            bad += wrong > 0;
        }
        bool right = bad == 0 && stuck == 0;
        bool as_wanted = cases[c].one_room ? bad == 0 && stuck > 0 : waits_not ? bad > 0 : right;
        printf("%-34s %d programs, %d wrong, %d do not end%s\n", cases[c].what, programs, bad,
               stuck, as_wanted ? "" : ": NOT AS WANTED");
        failed += !as_wanted;
    }
    fake_ranks_free();
    return failed > 0;
}
