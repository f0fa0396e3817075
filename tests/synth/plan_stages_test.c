// Plans of stages (synth/search/plan_stages.h) and their certificate. What that must reject:
// stage_mutants_test.c.
//
//  one_stage   one stage without micro-batches takes what the same plan takes without stages; with
//              them what its simulator says of it
//  equal       stages that are equal but for names and places take the same time
//  equal_faults  a fault is found in whichever of two equal stages it is
//  random      random stacks of layers in 2 to 4 stages on unequal machines: all are proved, by few
//              micro-batches and with all of them; what they do when adds up to their step, no
//              message is read before it is there
//  orders      every order of slots with one part dropped, done twice or moved is rejected, unless
//              each micro-batch is done once, forward before backward before weight gradients that
//              are apart, no more of them are under way than the ring has places, and sums go in
//              order: then it is accepted
//  apart       weight gradients apart: their part makes sums and sends nothing, what it needs lies
//              in the ring; each order of cost_order_slots is proved; they are taken where they
//              gain
//  depth       the orders chosen are no slower than 1F1B by more than what fewer micro-batches
//  under
//              way may cost, with rings that fit in memory; where there is room, more are under way
//  late        the copy of a tied parameter comes in at its first use, in the first micro-batch
//              alone; its gradient is sent in the last; behind the micro-batches nothing stands
//              between the last that others wait for and the first that waits for others but what
//              does neither
//  parts       stages on parts of machines: proved; a message between parts of one machine takes
//              what its link takes from device to device, others what the network does

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "ir/variant.h"
#include "synth/certify/check_slots.h"
#include "synth/certify/check_stages.h"
#include "synth/passes/arena_plan.h"
#include "synth/passes/workspace.h"
#include "synth/price/price_stages.h"
#include "synth/search/equal_stages.h"
#include "synth/search/stage_orders.h"
#include "tests/support/cases.h"
#include "tests/support/random_graph.h"
#include "tests/support/small_models.h"
#include "tests/support/staged_plan.h"

static cl_cluster *cluster_of(hb_arena *a)
{
    return staged_cluster(a, staged_three);
}

static int limit[IR_MAX_STAGES];     // of micro-batches under way, by stage
static syn_weight_gradients weights; // at least so late

static syn_staged_result planned_on(hb_arena *a, const cl_cluster *c, ir_graph *g, int n,
                                    const int *first, const int *device, int micro,
                                    const char *strategy)
{
    return staged_try(a, c, g,
                      &(staged_wish){.n = n,
                                     .micro = micro,
                                     .first = first,
                                     .device = device,
                                     .strategy = strategy,
                                     .weights = weights,
                                     .limit = limit});
}

// Stage s has layers from first[s] on and machine s.
static syn_staged_result planned(hb_arena *a, ir_graph *g, int n, const int *first, int micro,
                                 const char *strategy)
{
    return planned_on(a, cluster_of(a), g, n, first, NULL, micro, strategy);
}

static syn_staged *must_plan(hb_arena *a, ir_graph *g, int n, const int *first, int micro,
                             const char *strategy)
{
    syn_staged_result r = planned(a, g, n, first, micro, strategy);
    ck_assert_msg(r.plan, "%.*s", HB_ARG(r.why));
    return r.plan;
}

static ir_graph *tiny(hb_arena *a)
{
    ir_graph *g = ir_build(a, "examples/gpt2-tiny/graph.json", &(ir_options){0}, hb_diag_new(a));
    ck_assert(g);
    return g;
}

START_TEST(one_stage)
{
    hb_arena *a = hb_arena_new();
    for (int micro = 1; micro <= 4; micro *= 2) {
        ir_graph *g = tiny(a), *v = ir_variant(a, g, micro, NULL, hb_diag_new(a));
        syn_staged *p = must_plan(a, g, 1, (const int[]){0}, micro, "auto");
        int *rank = HB_ARRAY(a, int, 16);
        bool device[8] = {true, true};
        cost_model m = {.cluster = cl_part(a, cluster_of(a), device, rank)};
        syn_options o = syn_default_options();
        syn_result r = syn_synthesize(a, v, ir_factorize(a, v), &m, &o);
        ck_assert_int_eq(r.status, SYN_OK);
        if (micro == 1)
            ck_assert(memcmp(&p->predicted_sec, &r.predicted_sec, sizeof(double)) == 0);
        else // halves do not reach into each other
            ck_assert_double_eq_tol(p->predicted_sec, r.predicted_sec, 0.02 * r.predicted_sec);
        ck_assert_int_eq(p->cut->ports.n, 0);
    }
    hb_arena_free(a);
}
END_TEST

START_TEST(equal_stages)
{
    hb_arena *a = hb_arena_new();
    int64_t width[9];
    for (int i = 0; i < 9; i++)
        width[i] = 8;
    syn_staged *p =
        must_plan(a, small_mlp(a, 16, 8, width), 4, (const int[]){0, 2, 4, 6}, 4, "auto");
    for (int s = 1; s < 4; s++)
        for (int t = 0; t < s; t++) {
            const syn_program *x = p->stage[s].program, *y = p->stage[t].program;
            bool equal = s == 2 && t == 1;
            ck_assert(equal == (syn_same_graph(x->g, y->g) &&
                                syn_same_machines(p->stage[s].cluster, p->stage[t].cluster)));
            if (!equal) continue;
            ck_assert_int_eq(x->instr.n, y->instr.n);
            ck_assert(p->stage[s].forward == p->stage[t].forward);
        }
    hb_arena_free(a);
}
END_TEST

// What stages do when: all of their time, one behind the other; no message is read before it is
// there.
static void check_pieces(hb_arena *a, const syn_staged *p)
{
    int *n = HB_ARRAY(a, int, p->n), ports = p->cut->ports.n;
    const syn_stage_piece **of = syn_stage_pieces(a, p, n);
    double last = 0, near = 1e-9 * p->predicted_sec;
    for (int s = 0; s < p->n; s++) {
        double busy = 0, at = 0;
        for (int i = 0; i < n[s]; i++) {
            const syn_stage_piece *x = &of[s][i];
            ck_assert_double_eq_tol(x->begin, at, near);
            ck_assert_double_ge(x->end, x->begin + x->work - near);
            busy += x->work;
            at = x->end;
        }
        // Own transfers that share the network card with messages take longer.
        ck_assert_double_le(busy, p->stage[s].busy + near);
        last = at > last ? at : last;
    }
    ck_assert_double_eq_tol(last, p->predicted_sec, near);
    for (int q = 0; q < ports; q++)
        for (int from = 0; from < n[p->cut->ports.p[q].from]; from++) {
            const syn_stage_piece *x = &of[p->cut->ports.p[q].from][from];
            int found = 0, to = p->cut->ports.p[q].to;
            bool once = !ir_in_slot(p->cut->ports.p[q].turn);
            if (x->port != q) continue;
            for (int i = 0; i < n[to]; i++) {
                const syn_stage_piece *y = &of[to][i];
                if (y->port != q || (!once && y->m != x->m)) continue;
                found++;
                ck_assert_double_ge(y->end, x->begin + x->work + p->port_sec[q] - near);
            }
            ck_assert_int_ge(found, 1);
        }
}

// Messages of a plan are those of its record.
static void check_messages(hb_arena *a, const syn_staged *p)
{
    for (int s = 0; s < p->n; s++) {
        const record *x = syn_messages_of(a, p->stage[s].program),
                     *y = syn_record_of_ports(a, record_from_plan(a, p->stage[s].program));
        ck_assert_int_eq(x->calls.n, y->calls.n);
        for (int i = 0; i < x->calls.n; i++) {
            const rec_call *k = &x->calls.p[i], *l = &y->calls.p[i];
            ck_assert_int_eq(k->op, l->op);
            for (int q = 0; q < ir_op_of((ir_op)k->op)->n_attr; q++)
                ck_assert_int_eq(k->attr[q].i, l->attr[q].i);
        }
    }
}

// What is proved of few micro-batches holds of all.
static void check_few_slots(hb_arena *a, const syn_staged *p)
{
    hb_str why = {0};
    for (int s = 0; s < p->n; s++) {
        const syn_program *x = p->stage[s].program;
        ck_assert_msg(syn_check_slots(a, x, &why), "%.*s", HB_ARG(why));
        ck_assert_msg(syn_check(a, x->g, x->f, record_from_plan(a, x), &why), "%.*s", HB_ARG(why));
    }
}

START_TEST(random_plans)
{
    int n_cases = test_cases(6, 40, 300);
    for (int k = 0; k < n_cases; k++) {
        hb_arena *a = hb_arena_new();
        random_source r = {(uint64_t)k + 1};
        int n = 2 + random_below(&r, 3), layers = n + random_below(&r, 3);
        int64_t width[9];
        int first[4] = {0};
        for (int i = 0; i <= layers; i++)
            width[i] = 4 * (1 + random_below(&r, 4));
        for (int s = 1; s < n; s++)
            first[s] = first[s - 1] + 1 +
                       random_below(&r, layers - first[s - 1] - (n - s) - 1 > 0
                                            ? layers - first[s - 1] - (n - s)
                                            : 1);
        static const char *const strategies[] = {"auto", "dp-prop", "tp", "zero"};
        weights = (syn_weight_gradients)random_below(&r, 3);
        ir_graph *g = small_mlp(a, 16, layers, width);
        syn_staged_result x =
            planned(a, g, n, first, 1 << random_below(&r, 4), strategies[random_below(&r, 4)]);
        ck_assert_msg(x.plan, "case %d: %.*s", k, HB_ARG(x.why));
        check_pieces(a, x.plan);
        check_messages(a, x.plan);
        check_few_slots(a, x.plan);
        hb_arena_free(a);
    }
}
END_TEST

// --- the certificate of a spoiled plan ---

static bool is_apart(const syn_program *p)
{
    const syn_slot s = syn_slot_of(p);
    return s.weights < s.end;
}

// Is an order right: each part once, in turn, no place of the ring taken before it is free, sums in
// order? Weight gradients are of the micro-batch whose place they say.
static bool legal(const syn_program *p)
{
    int k = p->g->micro_batches, depth = p->g->depth, next[IR_AFTER] = {0}, in[64];
    ir_turn last = is_apart(p) ? IR_SLOT_WEIGHTS : IR_SLOT_BACK, did[64] = {IR_BEFORE};
    bool done[64][IR_AFTER] = {{false}};
    if (p->order.n != (int)last * k) return false;
    for (int i = 0; i < p->order.n; i++) {
        const syn_slot_part *h = &p->order.p[i];
        if (h->m < 0 || h->m >= k || done[h->m][h->turn]) return false;
        done[h->m][h->turn] = true;
        int place = h->m % depth, m = h->turn == IR_SLOT_WEIGHTS ? in[place] : h->m;
        bool free = did[place] == IR_BEFORE || did[place] == last;
        if (h->turn == IR_SLOT ? !free : did[place] != h->turn - 1 || m != in[place]) return false;
        if (h->turn != IR_SLOT && m != next[h->turn]++) return false;
        in[place] = m;
        did[place] = h->turn;
    }
    return true;
}

// Forward sums (the loss) go in order as well, and so do messages.
static bool ascending(const syn_program *p)
{
    int next = 0;
    for (int i = 0; i < p->order.n; i++)
        if (p->order.p[i].turn == IR_SLOT && p->order.p[i].m != next++) return false;
    return true;
}

// A fault is found in whichever of two equal stages it is.
START_TEST(equal_faults)
{
    hb_arena *a = hb_arena_new();
    const int64_t width[9] = {8, 8, 8, 8, 8, 8, 8, 8, 8};
    syn_staged *p =
        must_plan(a, small_mlp(a, 16, 8, width), 4, (const int[]){0, 2, 4, 6}, 8, "auto");
    int rejected = 0;
    ck_assert(staged_proved(p));
    ck_assert_int_eq(p->stage[1].program->instr.n, p->stage[2].program->instr.n);
    for (int i = 0; i < p->stage[1].program->instr.n; i++) {
        bool is[2];
        for (int s = 0; s < 2; s++) {
            syn_instr *in = &p->stage[1 + s].program->instr.p[i];
            const syn_instr was = *in;
            in->in = hb_copy(a, was.in, sizeof *was.in * (size_t)(was.n_in + 1));
            in->out = hb_copy(a, was.out, sizeof *was.out * (size_t)(was.n_out + 1));
            if (was.n_in > 1) {
                in->in[0] = was.in[1];
                in->in[1] = was.in[0];
            } else if (was.n_out > 0) {
                in->out[0] = was.n_in > 0 ? was.in[0] : 0;
            }
            is[s] = staged_proved(p);
            *in = was;
        }
        ck_assert_msg(is[0] == is[1], "instruction %d", i);
        rejected += !is[0];
    }
    for (int c = 0; c < p->stage[2].program->mesh->n_classes; c++) { // memory is its own, too
        p->stage[2].program->local_bytes[c] -= 1;
        ck_assert(!staged_proved(p));
        p->stage[2].program->local_bytes[c] += 1;
    }
    ck_assert_int_gt(rejected, 10);
    ck_assert(staged_proved(p));
    hb_arena_free(a);
}
END_TEST

START_TEST(orders)
{
    hb_arena *a = hb_arena_new();
    weights = _i ? SYN_WEIGHTS_APART : SYN_WEIGHTS_AMONG;
    syn_staged *p = must_plan(a, tiny(a), 3, (const int[]){0, 1, 2}, 4, "dp-prop");
    int rejected = 0, accepted = 0;
    ck_assert(staged_proved(p));
    for (int s = 0; s < 3; s++) {
        syn_program *x = p->stage[s].program;
        int n = x->order.n;
        syn_slot_part *was = hb_copy(a, x->order.p, sizeof *was * (size_t)n);
        HB_ROOM(a, &x->order, n + 2);
        for (int kind = 0; kind < 3; kind++)
            for (int i = 0; i < n; i++)
                for (int j = i + 1; j < (kind == 2 ? n : i + 2); j++) {
                    if (TEST_SANITIZED && (i + j) % 2 != 0) continue;
                    memcpy(x->order.p, was, sizeof *was * (size_t)n);
                    x->order.n = n;
                    if (kind == 0) { // dropped
                        memmove(x->order.p + i, x->order.p + i + 1,
                                sizeof *was * (size_t)(n - i - 1));
                        x->order.n--;
                    } else if (kind == 1) { // twice
                        memmove(x->order.p + i + 1, x->order.p + i, sizeof *was * (size_t)(n - i));
                        x->order.n++;
                    } else { // swapped
                        syn_slot_part h = x->order.p[i];
                        x->order.p[i] = x->order.p[j];
                        x->order.p[j] = h;
                    }
                    bool want = legal(x) && ascending(x), is = staged_proved(p);
                    // What is right for the stage may still make it wait for another.
                    ck_assert_msg(!is || want, "stage %d, kind %d, %d %d is accepted", s, kind, i,
                                  j);
                    rejected += !is;
                    accepted += is;
                }
        memcpy(x->order.p, was, sizeof *was * (size_t)n);
        x->order.n = n;
    }
    ck_assert_int_ge(rejected, TEST_SANITIZED ? 30 : 100);
    ck_assert_int_ge(accepted, TEST_SANITIZED ? 0 : 1);
    ck_assert(staged_proved(p));
    hb_arena_free(a);
}
END_TEST

// A micro-batch's weight gradients are sums, and send nothing; what they need of before waits in
// the ring.
static void check_apart(const syn_program *p)
{
    const syn_slot slot = syn_slot_of(p);
    int sums = 0, kept = 0;
    for (int i = slot.weights; i < slot.end; i++) {
        const syn_instr *in = &p->instr.p[i];
        const ir_node *n = in->kind == SYN_OP ? &p->g->nodes.p[in->node] : NULL;
        sums += n && n->adds;
        ck_assert(in->turn == IR_SLOT_WEIGHTS || in->turn == IR_AFTER);
        ck_assert(!n || in->turn == IR_AFTER || !(ir_op_of(n->op)->flags & IR_PORT));
        for (int k = 0; k < in->n_in && in->kind != SYN_WAIT; k++)
            kept += in->in[k] >= 0 && p->tensors.p[in->in[k]].ring;
    }
    ck_assert_int_gt(sums, 0);
    ck_assert_int_gt(kept, 0);
}

START_TEST(apart)
{
    hb_arena *a = hb_arena_new();
    int later = 0, taken = 0;
    for (int micro = 2; micro <= 8; micro *= 2) {
        weights = SYN_WEIGHTS_APART;
        syn_staged *p = must_plan(a, tiny(a), 3, (const int[]){0, 1, 2}, micro, "dp-prop");
        ck_assert(!is_apart(p->stage[0].program)); // it sends no gradient
        for (int s = 1; s < 3; s++) {
            syn_program *x = p->stage[s].program;
            ck_assert(is_apart(x) && legal(x));
            check_apart(x);
            check_pieces(a, p);
            for (int i = 1; i < x->order.n; i++)
                later += x->order.p[i].turn == IR_SLOT_WEIGHTS &&
                         (x->order.p[i - 1].turn != IR_SLOT_BACK ||
                          x->order.p[i - 1].m != x->order.p[i].m);
        }
        weights = SYN_WEIGHTS_AMONG;
        syn_staged *best = must_plan(a, tiny(a), 3, (const int[]){0, 1, 2}, micro, "dp-prop");
        ck_assert_double_le(best->predicted_sec, p->predicted_sec * (1 + SYN_DEPTH_NEAR));
        for (int s = 1; s < 3; s++)
            taken += is_apart(best->stage[s].program);
    }
    ck_assert_int_gt(later, 0);
    ck_assert_int_gt(taken, 0);
    hb_arena_free(a);
}
END_TEST

// --- how many are under way ---

static bool fits(const syn_program *p)
{
    bool ok = true;
    for (int c = 0; c < p->mesh->n_classes; c++)
        ok = ok && p->peak_bytes[c] + syn_workspace_bytes(p, c) <=
                       p->cluster->cls[p->mesh->cluster_class[c]].capacity;
    return ok;
}

START_TEST(depth)
{
    hb_arena *a = hb_arena_new();
    int more = 0;
    for (int micro = 2; micro <= 8; micro *= 2) {
        syn_staged *p = must_plan(a, tiny(a), 3, (const int[]){0, 1, 2}, micro, "dp-prop");
        double chosen = p->predicted_sec;
        syn_stage_prices *prices = syn_stage_prices_new(a, p);
        syn_share_cards(prices, false);
        ck_assert_double_le(syn_price_orders(prices), chosen * (1 + SYN_ROUNDING));
        for (int s = 0; s < 3; s++) {
            syn_program *x = p->stage[s].program;
            ck_assert(fits(x));
            ck_assert(legal(x));
            more += x->g->depth > 3 - s;
            p->cut->graph[s]->depth = 3 - s < micro ? 3 - s : micro;
            syn_order_1f1b(a, x, x->g->depth);
            syn_arena(x);
        }
        ck_assert(staged_proved(p));
        ck_assert_double_le(chosen,
                            syn_price_orders(syn_stage_prices_new(a, p)) * (1 + SYN_DEPTH_NEAR));
        for (int s = 0; s < 3; s++) { // no room for one more
            const syn_program *x = p->stage[s].program;
            int c = x->mesh->n_classes - 1;
            if (x->ring_bytes[c] == 0) continue;
            x->cluster->cls[x->mesh->cluster_class[c]].capacity =
                x->peak_bytes[c] + syn_workspace_bytes(x, c) + x->ring_bytes[c] - 1;
        }
        syn_choose_orders(a, p, NULL);
        for (int s = 0; s < 3; s++) {
            ck_assert_int_le(p->stage[s].program->g->depth, 3 - s < micro ? 3 - s : micro);
            ck_assert(fits(p->stage[s].program));
        }
        ck_assert(staged_proved(p));
    }
    ck_assert_int_gt(more, 0);
    for (int k = 0; k < 8; k++) { // given limits, some below those of later stages
        for (int s = 0; s < 3; s++)
            limit[s] = k >> s & 1 ? 3 : 1;
        syn_staged *p = must_plan(a, tiny(a), 3, (const int[]){0, 1, 2}, 4, "dp-prop");
        for (int s = 0; s < 3; s++)
            ck_assert_int_le(p->stage[s].program->g->depth, limit[s]);
    }
    memset(limit, 0, sizeof limit);
    hb_arena_free(a);
}
END_TEST

// --- where messages of a step stand ---

static bool is_op(const syn_program *p, int i, ir_op op)
{
    return p->instr.p[i].kind == SYN_OP && p->g->nodes.p[p->instr.p[i].node].op == op;
}

static bool reads(const syn_instr *in, int buffer)
{
    for (int k = 0; k < in->n_in; k++)
        if (in->in[k] == buffer) return true;
    return false;
}

// The receive at instruction i: from there on each stands before what reads it.
static void check_late(const syn_program *p, int i)
{
    const syn_slot slot = syn_slot_of(p);
    int made = p->instr.p[i].out[0];
    ck_assert_int_gt(i, slot.first);
    ck_assert_int_lt(i, slot.back);
    for (; p->instr.p[i].turn == IR_BEFORE; i++)
        made = p->instr.p[i].n_out > 0 ? p->instr.p[i].out[0] : made;
    ck_assert(reads(&p->instr.p[i], made));
}

START_TEST(late)
{
    hb_arena *a = hb_arena_new();
    static const char *const strategies[] = {"dp-prop", "zero", "tp", "auto"};
    int received = 0, both = 0, early = 0;
    for (int k = 0; k < 4; k++) {
        syn_staged *p = must_plan(a, tiny(a), 3, (const int[]){0, 1, 2}, 4, strategies[k]);
        for (int s = 0; s < 3; s++) {
            syn_program *x = p->stage[s].program;
            const syn_slot slot = syn_slot_of(x);
            int last_send = -1, first_recv = x->instr.n;
            for (int i = 0; i < x->instr.n; i++) {
                bool recv = is_op(x, i, IR_OP_recv);
                if (recv && x->instr.p[i].turn == IR_BEFORE) {
                    check_late(x, i);
                    received++;
                }
                if (i < slot.end && is_op(x, i, IR_OP_send) && x->instr.p[i].turn == IR_AFTER) {
                    ck_assert_int_gt(i, slot.back); // the sum of the tied gradient
                    early++;
                }
                if (i < slot.end) continue;
                if (recv && first_recv > i) first_recv = i;
                if (is_op(x, i, IR_OP_send) && first_recv == x->instr.n) last_send = i;
            }
            both += last_send >= 0 && first_recv < x->instr.n;
            for (int i = slot.end; i < last_send; i++) // nothing is updated before
                ck_assert(x->instr.p[i].kind != SYN_OP ||
                          x->g->nodes.p[x->instr.p[i].node].phase != IR_UPDATE ||
                          !(ir_op_of(x->g->nodes.p[x->instr.p[i].node].op)->flags & IR_IN_PLACE));
        }
    }
    ck_assert_int_eq(received, 4);
    ck_assert_int_ge(both, 2);
    ck_assert_int_ge(early, 2);
    ir_graph *g = ir_build(a, "examples/gpt2-tiny/graph.json",
                           &(ir_options){.precision = IR_PRECISION_BF16}, hb_diag_new(a));
    ir_stages *cut = ir_stages_cut(a, g, 2, (const int[]){0, 1}, hb_diag_new(a));
    int copies = 0; // of a parameter: cast before it is sent
    for (int i = 0; i < cut->ports.n; i++) {
        const ir_node *n = &cut->graph[0]->nodes.p[cut->ports.p[i].send];
        const ir_tensor *t = &cut->graph[0]->tensors.p[n->in[0]];
        if (cut->ports.p[i].from > 0 || n->phase != IR_FORWARD || t->dim[0] != 211) continue;
        ck_assert_int_eq(t->dtype, IR_BF16);
        copies++;
    }
    ck_assert_int_eq(copies, 1);
    hb_arena_free(a);
}
END_TEST

// --- parts of machines ---

// A machine of four devices and three of two, all devices equal.
static const char *const quarters =
    "name: quarters\n"
    "machines:\n"
    "  - name: a\n"
    "    devices: [{name: mid, kind: cpu, f32: 40 GFLOP/s, memory: 8 GiB, memory_bandwidth: 8 GB/s,"
    " count: 4}]\n"
    "    link: {bandwidth: 2 GB/s, latency: 5 us}\n"
    "  - name: b\n"
    "    count: 3\n"
    "    devices: [{name: mid, kind: cpu, f32: 40 GFLOP/s, memory: 8 GiB, memory_bandwidth: 8 GB/s,"
    " count: 2}]\n"
    "    link: {bandwidth: 2 GB/s, latency: 5 us}\n"
    "network: {bandwidth: 50 MB/s, latency: 20 us}\n"
    "source: datasheet\n";

START_TEST(parts)
{
    static const int first[] = {0, 1, 2}, shared[] = {0, 2, 4, 6}, alone[] = {4, 6, 8, 10};
    for (int micro = 1; micro <= 4; micro *= 2) {
        hb_arena *a = hb_arena_new();
        const cl_cluster *c = staged_cluster(a, quarters);
        syn_staged *p = planned_on(a, c, tiny(a), 3, first, shared, micro, "dp-even").plan;
        syn_staged *q = planned_on(a, c, tiny(a), 3, first, alone, micro, "dp-even").plan;
        ck_assert(p && q && staged_proved(p));
        ck_assert(hb_str_is(p->stage[1].cluster->machine[0].name, "a:2-3"));
        check_pieces(a, p);
        int inside = 0;
        for (int i = 0; i < p->cut->ports.n; i++) {
            const ir_port *x = &p->cut->ports.p[i];
            bool link = x->from + x->to == 1; // between stages 0 and 1
            double each = p->port_bytes[i] / (link ? 2 : 1);
            if (x->turn != IR_SLOT && x->turn != IR_SLOT_BACK) continue;
            ck_assert_double_eq_tol(p->port_sec[i], link ? 5e-6 + each / 2e9 : 20e-6 + each / 50e6,
                                    1e-12);
            ck_assert_double_eq_tol(q->port_sec[i], 20e-6 + q->port_bytes[i] / 50e6, 1e-12);
            inside += link;
        }
        ck_assert_int_ge(inside, micro > 1 ? 2 : 0);
        for (int s = 0; s < 3; s++) // the same stages, messages apart
            ck_assert_double_eq(p->stage[s].before, q->stage[s].before);
        hb_arena_free(a);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("plan_stages");
    TCase *t = tcase_create("plan_stages");
    tcase_set_timeout(t, 240);
    tcase_add_test(t, one_stage);
    tcase_add_test(t, equal_stages);
    tcase_add_test(t, equal_faults);
    tcase_add_test(t, random_plans);
    tcase_add_loop_test(t, orders, 0, 2);
    tcase_add_test(t, apart);
    tcase_add_test(t, depth);
    tcase_add_test(t, late);
    tcase_add_test(t, parts);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
