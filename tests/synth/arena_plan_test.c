// The arena: small programs with known answers, random ones against an oracle that replays them in
// memory, with the peak beside the bound.

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "synth/passes/arena_pack.h"
#include "synth/passes/arena_plan.h"
#include "synth/passes/roll.h"
#include "tests/support/arena_replay.h"
#include "tests/support/toy_program.h"

static toy *t;

static void teardown(void)
{
    if (t) toy_free(t);
    t = NULL;
}

static void assert_sound(const toy *x)
{
    hb_str error = replay_arena(x->arena, x->p);
    ck_assert_msg(error.n == 0, "%.*s", HB_ARG(error));
}

static int64_t off(int buffer)
{
    return t->p->tensors.p[buffer].off[0];
}

static void place(void)
{
    syn_arena(t->p);
    assert_sound(t);
}

START_TEST(a_chain_needs_two_buffers)
{
    t = toy_new(1);
    int x = toy_buffer(t, SYN_ROLE_INPUT, "x", 1000);
    for (int i = 0; i < 5;
         i++) // an odd number: the loss may not lie on the input, which comes before it is read
        x = toy_op1(t, IR_OP_gelu, "y", x);
    t->p->loss = x;
    place();
    ck_assert_int_eq(t->p->local_bytes[0], 2 * 1024);
    ck_assert_int_eq(t->p->sym_bytes, 0);
}
END_TEST

START_TEST(homes_and_constants_stay)
{
    t = toy_new(2);
    int w = toy_buffer(t, SYN_ROLE_HOME, "w", 4096), c = toy_buffer(t, SYN_ROLE_CONST, "c", 300);
    int x = toy_buffer(t, SYN_ROLE_INPUT, "x", 512);
    int y = toy_op1(t, IR_OP_relu, "y", w), z = toy_op1(t, IR_OP_relu, "z", c);
    (void)z;
    toy_op(t, IR_OP_sgd, IR_UPDATE, "w'next", 1, &w, 2, (int[]){w, y});
    t->p->loss = toy_op1(t, IR_OP_relu, "loss", x);
    place();
    ck_assert_int_eq(t->p->local_bytes[0], 4096 + 512 + 512 + 4096 + 512);
}
END_TEST

START_TEST(a_reshape_lies_on_its_operand)
{
    t = toy_new(2);
    int x = toy_buffer(t, SYN_ROLE_INPUT, "x", 1000);
    int y = toy_op1(t, IR_OP_relu, "y", x), v = toy_op1(t, IR_OP_reshape, "v", y);
    int w = toy_op1(t, IR_OP_reshape, "w", v), z = toy_op1(t, IR_OP_relu, "z", y);
    toy_op(t, IR_OP_add, IR_FORWARD, "e", 1, (int[]){toy_buffer(t, SYN_ROLE_VALUE, "e", 400)}, 3,
           (int[]){w, z, v});
    place();
    ck_assert_int_eq(off(y), off(v));
    ck_assert_int_eq(off(y), off(w));
    ck_assert_int_ne(off(y), off(z));
}
END_TEST

START_TEST(a_view_of_a_parameter_ends_before_the_update)
{
    for (int late = 0; late < 2; late++) {
        t = toy_new(1);
        int w = toy_buffer(t, SYN_ROLE_HOME, "w", 1000),
            x = toy_buffer(t, SYN_ROLE_INPUT, "x", 1000);
        toy_op1(t, IR_OP_relu, "y", x);
        int v = toy_op1(t, IR_OP_reshape, "v", w);
        if (!late) toy_op1(t, IR_OP_relu, "z", v);
        toy_op(t, IR_OP_sgd, IR_UPDATE, "w'next", 1, &w, 2, (int[]){w, x});
        if (late) toy_op1(t, IR_OP_relu, "z", v);
        place();
        ck_assert_int_eq(off(v) == off(w), !late);
        toy_free(t);
    }
    t = NULL;
}
END_TEST

START_TEST(a_reshape_of_what_is_being_sent_is_a_copy)
{
    for (int flying = 0; flying < 2; flying++) {
        t = toy_new(1);
        int x = toy_buffer(t, SYN_ROLE_INPUT, "x", 1000), y = toy_op1(t, IR_OP_relu, "y", x);
        int all = toy_buffer(t, SYN_ROLE_VALUE, "all", 4000);
        int s = toy_start(t, COST_ALL_GATHER, "all", y, all, -1);
        if (!flying) toy_wait(t, s);
        int v = toy_op1(t, IR_OP_reshape, "v", y);
        t->p->tensors.p[v].sym = true;
        if (flying) toy_wait(t, s);
        toy_op1(t, IR_OP_relu, "z", v);
        place();
        ck_assert_int_eq(off(v) == off(y), !flying);
        toy_free(t);
    }
    t = NULL;
}
END_TEST

START_TEST(an_all_reduce_is_in_place_if_its_source_dies)
{
    for (int how = 0; how < 3; how++) {
        t = toy_new(3);
        int x = toy_buffer(t, SYN_ROLE_INPUT, "x", 5000), y = toy_op1(t, IR_OP_relu, "y", x);
        int other = toy_buffer(t, SYN_ROLE_VALUE, "other", 9000),
            sum = toy_buffer(t, SYN_ROLE_VALUE, "sum", 5000);
        int s = how == 2 ? toy_start(t, COST_ALL_GATHER, "other", y, other, -1) : -1;
        int r = toy_start(t, COST_ALL_REDUCE, "sum", y, sum, -1);
        toy_wait(t, r);
        if (how == 2) toy_wait(t, s); // another collective still reads the source
        if (how == 1) toy_op1(t, IR_OP_relu, "late", y);
        toy_op1(t, IR_OP_relu, "z", sum);
        place();
        ck_assert_int_eq(off(sum) == off(y), how == 0);
        toy_free(t);
    }
    t = NULL;
}
END_TEST

START_TEST(one_source_reduced_twice_has_two_results)
{
    t = toy_new(1);
    int x = toy_buffer(t, SYN_ROLE_INPUT, "x", 5000), y = toy_op1(t, IR_OP_relu, "y", x);
    int sum[2] = {toy_buffer(t, SYN_ROLE_VALUE, "sum", 5000),
                  toy_buffer(t, SYN_ROLE_VALUE, "sum2", 5000)};
    int s = toy_start(t, COST_ALL_REDUCE, "sum", y, sum[0], -1);
    syn_instr *in = &t->p->instr.p[s];
    t->p->tensors.p[sum[1]].sym = true;
    in->n_in = in->n_out = 2;
    in->in = hb_copy(t->arena, (int[]){y, y}, 2 * sizeof(int));
    in->out = hb_copy(t->arena, sum, sizeof sum);
    toy_wait(t, s);
    place();
    ck_assert_int_ne(off(sum[0]), off(sum[1]));
}
END_TEST

static int toy_add(const char *name, int x, int y)
{
    int out = toy_buffer(t, SYN_ROLE_VALUE, name, t->p->tensors.p[x].bytes[0]);
    toy_op(t, IR_OP_add, IR_BACKWARD, name, 1, &out, 2, (int[]){x, y});
    return out;
}

// Parts are added up where the first lies; if their sum is sent, all that is in one segment.
START_TEST(a_chain_of_sums_needs_one_buffer)
{
    for (int sent = 0; sent < 2; sent++) {
        t = toy_new(2);
        int x = toy_buffer(t, SYN_ROLE_INPUT, "x", 4096), sum = -1, part[4], sums[4];
        for (int k = 0; k < 4; k++) {
            part[k] = toy_op1(t, IR_OP_gelu, "part", x);
            sum = sums[k] = k ? toy_add("sum", sum, part[k]) : part[k];
        }
        if (sent) {
            int all = toy_buffer(t, SYN_ROLE_VALUE, "all", 4096);
            toy_wait(t, toy_start(t, COST_ALL_REDUCE, "all", sum, all, -1));
            sum = all;
        }
        toy_op1(t, IR_OP_relu, "y", sum);
        syn_roll(t->p);
        place();
        for (int k = 0; k < 4; k++) {
            ck_assert_int_eq(off(sums[k]), off(sum));
            ck_assert_int_eq(t->p->tensors.p[sums[k]].sym, sent);
            ck_assert_int_eq(t->p->tensors.p[part[k]].sym, sent && k == 0);
        }
        ck_assert_int_eq(t->p->sym_bytes, sent ? 4096 : 0);
        toy_free(t);
    }
    t = NULL;
}
END_TEST

// The other operand may be the one that ends; one that is read again keeps its bytes, and so does
// one that is being sent.
START_TEST(a_sum_spares_what_is_read_again)
{
    t = toy_new(1);
    int x = toy_buffer(t, SYN_ROLE_INPUT, "x", 1024), y = toy_op1(t, IR_OP_gelu, "y", x);
    int z = toy_op1(t, IR_OP_relu, "z", x), a = toy_add("a", y, z);
    int all = toy_buffer(t, SYN_ROLE_VALUE, "all", 4096);
    int s = toy_start(t, COST_ALL_GATHER, "all", a, all, -1), b = toy_add("b", a, y);
    toy_wait(t, s);
    toy_op1(t, IR_OP_relu, "c", b);
    syn_roll(t->p);
    place();
    ck_assert_int_eq(off(a), off(z));
    ck_assert_int_eq(off(b), off(y));
    ck_assert(!t->p->tensors.p[b].sym && t->p->tensors.p[a].sym);
}
END_TEST

START_TEST(a_collective_holds_its_scratch_until_the_wait)
{
    t = toy_new(1);
    int x = toy_buffer(t, SYN_ROLE_INPUT, "x", 4096), y = toy_op1(t, IR_OP_relu, "y", x);
    int all = toy_buffer(t, SYN_ROLE_VALUE, "all", 4096),
        all2 = toy_buffer(t, SYN_ROLE_VALUE, "all2", 4096);
    int one = toy_buffer(t, SYN_ROLE_SCRATCH, "one", 100),
        two = toy_buffer(t, SYN_ROLE_SCRATCH, "two", 100);
    int three = toy_buffer(t, SYN_ROLE_SCRATCH, "three", 100),
        all3 = toy_buffer(t, SYN_ROLE_VALUE, "all3", 4096);
    int s = toy_start(t, COST_ALL_GATHER, "all", y, all, one),
        u = toy_start(t, COST_ALL_GATHER, "all2", y, all2, two);
    toy_wait(t, s);
    toy_wait(t, u);
    toy_wait(t, toy_start(t, COST_ALL_GATHER, "all3", y, all3, three));
    place();
    ck_assert_int_ne(off(one), off(two));
    ck_assert_int_eq(t->p->sym_bytes,
                     5 * 4096); // y, all (then all3 or a scratch), all2, two scratches
    ck_assert_int_eq(off(one) % 4096, 0);
}
END_TEST

START_TEST(the_loss_outlives_the_next_inputs)
{
    t = toy_new(1);
    int x = toy_buffer(t, SYN_ROLE_INPUT, "x", 512), y = toy_op1(t, IR_OP_relu, "y", x);
    t->p->loss = toy_op1(t, IR_OP_relu, "loss",
                         y); // x is dead here, but loaded again before the loss is read
    place();
    ck_assert_int_ne(off(t->p->loss), off(x));
}
END_TEST

START_TEST(kept_gradients_live_to_the_end)
{
    for (int keep = 0; keep < 2; keep++) {
        t = toy_new(1);
        int x = toy_buffer(t, SYN_ROLE_INPUT, "x", 512), w = toy_buffer(t, SYN_ROLE_HOME, "w", 512);
        int g = toy_op1(t, IR_OP_relu, "g", x), z = toy_op1(t, IR_OP_relu, "z", g);
        t->p->loss = toy_op1(t, IR_OP_relu, "loss", z);
        t->p->keep_grads = keep;
        t->p->grad[1] = g;
        (void)w;
        place();
        ck_assert_int_eq(t->p->local_bytes[0], keep ? 512 * 4 : 512 * 3);
        toy_free(t);
    }
    t = NULL;
}
END_TEST

START_TEST(empty_buffers_have_a_place)
{
    t = toy_new(3); // class 2 holds nothing of x
    int x = toy_buffer(t, SYN_ROLE_INPUT, "x", 512), y = toy_op1(t, IR_OP_relu, "y", x);
    int none = toy_buffer(t, SYN_ROLE_VALUE, "none", 0);
    toy_op(t, IR_OP_add, IR_FORWARD, "none", 1, &none, 1, &y);
    toy_wait(t,
             toy_start(t, COST_ALL_GATHER, "e", none, toy_buffer(t, SYN_ROLE_VALUE, "e", 0), -1));
    place();
    ck_assert_int_eq(t->p->local_bytes[0], 1024);
    ck_assert_int_eq(t->p->local_bytes[1], 512);
    ck_assert_int_eq(t->p->local_bytes[2], 0);
}
END_TEST

// Layer k reads state k - 1 and saves a copy; after the loop the copies are read from the last to
// the first.
static void saved_layers(int layers, int *transient, int *state, int *saved)
{
    t = toy_new(2);
    int x = toy_buffer(t, SYN_ROLE_INPUT, "x", 2048);
    for (int k = 0; k < layers; k++) {
        transient[k] = toy_op1(t, IR_OP_gelu, hb_fmt(t->arena, "h.%d.a", k).p, x);
        saved[k] = toy_op1(t, IR_OP_relu, hb_fmt(t->arena, "h.%d.s", k).p, transient[k]);
        state[k] = x = toy_op1(t, IR_OP_neg, hb_fmt(t->arena, "h.%d.x", k).p, saved[k]);
    }
    for (int k = layers - 1; k >= 0; k--)
        x = toy_op1(t, IR_OP_exp, hb_fmt(t->arena, "h.%d.b", k).p, saved[k]);
}

static void family(const int *member, int n)
{
    syn_family f = {
        .count = n, .mod = n, .member = hb_copy(t->arena, member, sizeof *member * (size_t)n)};
    for (int k = 0; k < n; k++) {
        t->p->tensors.p[member[k]].family = t->p->families.n;
        t->p->tensors.p[member[k]].index = k;
    }
    HB_PUSH(t->arena, &t->p->families, f);
}

START_TEST(families_share_what_they_can)
{
    int transient[5], state[5], saved[5];
    saved_layers(5, transient, state, saved);
    family(transient, 5);
    family(state, 5);
    family(saved, 5);
    place();
    ck_assert_int_eq(t->p->families.p[0].mod, 1); // dead before the layer ends
    ck_assert_int_eq(t->p->families.p[1].mod, 1);
    ck_assert_int_eq(t->p->families.p[2].mod, 5); // read again later
    ck_assert_int_eq(t->p->local_bytes[0], 7 * 2048);
    toy_free(t);
    t = toy_new(1);
    int x = toy_buffer(t, SYN_ROLE_INPUT, "x", 2048);
    for (int k = 0; k < 5; k++)
        state[k] = x = toy_op1(t, IR_OP_neg, hb_fmt(t->arena, "h.%d.x", k).p, x);
    family(state, 5);
    place();
    ck_assert_int_eq(t->p->families.p[0].mod, 2); // each is read while the next one is written
    ck_assert_int_eq(t->p->local_bytes[0], 2 * 2048);
}
END_TEST

START_TEST(families_of_views_share_a_base)
{
    int whole[4], view[4];
    t = toy_new(2);
    int x = toy_buffer(t, SYN_ROLE_INPUT, "x", 2048), out = x;
    for (int k = 0; k < 4; k++) {
        whole[k] = toy_op1(t, IR_OP_relu, "w", x);
        view[k] = toy_op1(t, IR_OP_reshape, "v", whole[k]);
    }
    for (int k = 3; k >= 0; k--)
        out = toy_op1(t, IR_OP_exp, "o", view[k]);
    family(whole, 4);
    family(view, 4);
    place();
    for (int k = 0; k < 4; k++)
        ck_assert_int_eq(off(whole[k]), off(view[k]));
    ck_assert_int_eq(t->p->local_bytes[0], 5 * 2048);
    (void)out;
}
END_TEST

// All but one member are views: the one that is not would lie on a living buffer, so none may.
START_TEST(families_are_joined_all_or_none)
{
    for (int odd = 0; odd < 2; odd++) {
        int whole[4], view[4];
        t = toy_new(2);
        int x = toy_buffer(t, SYN_ROLE_INPUT, "x", 2048);
        for (int k = 0; k < 4; k++) {
            whole[k] = toy_op1(t, IR_OP_relu, "w", x);
            view[k] = toy_op1(t, odd && k == 2 ? IR_OP_neg : IR_OP_reshape, "v", whole[k]);
        }
        for (int k = 3; k >= 0; k--) {
            toy_op1(t, IR_OP_exp, "o", view[k]);
            toy_op1(t, IR_OP_exp, "o", whole[k]);
        }
        family(whole, 4);
        family(view, 4);
        place();
        for (int k = 0; k < 4; k++)
            ck_assert_int_eq(off(whole[k]) == off(view[k]), !odd);
        toy_free(t);
    }
    t = NULL;
}
END_TEST

// What the layers save is freed from the last to the first; of each come two gradients, which stay.
// Of whole families only one finds its place in what is freed.
START_TEST(families_lie_apart_where_they_do_not_fit_whole)
{
    enum { LAYERS = 40, SAVED = 4096, GRADIENT = SAVED / 2 };
    int64_t needs[2];
    for (int room = 1; room >= 0; room--) {
        int saved[LAYERS], gradient[2][LAYERS];
        t = toy_new(1);
        int x = toy_buffer(t, SYN_ROLE_INPUT, "x", SAVED);
        for (int k = 0; k < LAYERS; k++)
            saved[k] = x = toy_op1(t, IR_OP_neg, "s", x);
        for (int k = LAYERS - 1; k >= 0; k--)
            for (int i = 0; i < 2; i++) {
                gradient[i][k] = toy_buffer(t, SYN_ROLE_VALUE, "g", GRADIENT);
                toy_op(t, IR_OP_exp, IR_BACKWARD, "g", 1, &gradient[i][k], 1, &saved[k]);
            }
        for (int k = 0; k < LAYERS; k++)
            for (int i = 0; i < 2; i++)
                toy_op1(t, IR_OP_exp, "u", gradient[i][k]);
        family(saved, LAYERS);
        family(gradient[0], LAYERS);
        family(gradient[1], LAYERS);
        cl_class *cls = HB_NEW(t->arena, cl_class);
        *cls = (cl_class){.kind = CL_CPU,
                          .capacity = room ? 2 * LAYERS * SAVED : (LAYERS + 2) * (int64_t)SAVED};
        cl_cluster *cluster = HB_NEW(t->arena, cl_cluster);
        cluster->cls = cls;
        t->p->cluster = cluster;
        place();
        needs[room] = t->p->local_bytes[0];
        ck_assert_int_eq(t->p->families.n, room ? 3 : 0);
        toy_free(t);
    }
    t = NULL;
    ck_assert_int_gt(needs[1], (LAYERS + 8) * SAVED);
    ck_assert_int_le(needs[0], (LAYERS + 2) * SAVED);
}
END_TEST

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void check_random(toy *x, int64_t *peak, int64_t *bound)
{
    t = x;
    int64_t(*place_of)[CL_MAX_CLASSES] =
        hb_alloc(t->arena, sizeof *place_of * (size_t)(t->p->tensors.n + 1));
    arena_size size =
        arena_plan(t->arena, t->p, true, place_of, HB_ARRAY(t->arena, int, t->p->families.n + 1));
    place();
    for (int c = 0; c < t->p->mesh->n_classes; c++) {
        ck_assert_int_ge(size.local[c], size.local_bound[c]);
        ck_assert_int_eq(size.local[c], t->p->local_bytes[c]);
        *peak += size.local[c] + size.sym;
        *bound += size.local_bound[c] + size.sym_bound;
    }
    toy_free(t);
    t = NULL;
}

START_TEST(random_programs_are_sound)
{
    int64_t peak = 0, bound = 0;
    for (uint64_t seed = 1; seed <= 400; seed++)
        check_random(toy_random(seed, 5 + (int)(seed % 70)), &peak, &bound);
    printf("random programs: peak %.4f of the bound\n", (double)peak / (double)bound);
    ck_assert_msg((double)peak < 1.05 * (double)bound, "peak is %g of the bound",
                  (double)peak / (double)bound);
}
END_TEST

START_TEST(random_layers_unrolled_are_sound)
{
    int64_t peak = 0, bound = 0;
    for (uint64_t seed = 1; seed <= 100; seed++)
        check_random(toy_random_layers(seed, 2 + (int)(seed % 6), (int)(seed % 3)), &peak, &bound);
    printf("layers, unrolled: peak %.4f of the bound\n", (double)peak / (double)bound);
    ck_assert_msg((double)peak < 1.05 * (double)bound, "peak is %g of the bound",
                  (double)peak / (double)bound);
}
END_TEST

static void give_capacity(toy *x, int64_t bytes)
{
    cl_cluster *cluster = HB_NEW(x->arena, cl_cluster);
    cluster->n_classes = x->p->mesh->n_classes;
    cluster->cls = HB_ARRAY(x->arena, cl_class, cluster->n_classes);
    for (int c = 0; c < cluster->n_classes; c++) {
        cluster->cls[c] = (cl_class){.kind = CL_CPU, .capacity = bytes};
        x->p->mesh->cluster_class[c] = c;
    }
    x->p->cluster = cluster;
}

// Settled, as many programs fit as if all were placed; those that fit nowhere are not placed.
START_TEST(to_settle_says_what_places_say)
{
    int fits = 0, nowhere = 0, badly = 0, larger_yet = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        toy *x[3];
        int64_t least = 0, peak[3] = {0, 0, 0}, room = 0;
        double full = 0;
        for (int settle = 0; settle < 3; settle++) {
            t = x[settle] = toy_random(seed, 5 + (int)(seed % 70));
            syn_program *p = t->p;
            int64_t(*place_of)[CL_MAX_CLASSES] =
                hb_alloc(t->arena, sizeof *place_of * (size_t)(p->tensors.n + 1));
            arena_size size =
                arena_plan(t->arena, p, true, place_of, HB_ARRAY(t->arena, int, p->families.n + 1));
            int64_t most = 0;
            for (int c = 0; c < p->mesh->n_classes; c++) {
                least = larger(least, size.local_bound[c] + size.sym_bound);
                most = larger(most, size.local[c] + size.sym);
            }
            room = seed % 3 == 0   ? least - 1
                   : seed % 3 == 1 ? (least + most) / 2
                                   : most + (seed % 2 ? most / 16 : 0);
            give_capacity(t, room);
            if (settle)
                (void)syn_arena_settle(p, settle == 2 ? &full : NULL);
            else
                syn_arena(p);
            for (int c = 0; c < p->mesh->n_classes; c++)
                peak[settle] = larger(peak[settle], p->peak_bytes[c]);
        }
        ck_assert_int_eq(peak[0] <= room, peak[1] <= room);
        ck_assert_int_eq(peak[0] <= room, peak[2] <= room);
        ck_assert_int_ge(peak[2], peak[1]);
        ck_assert_int_eq(peak[1] <= room, full > 0);
        ck_assert(full == 0 || fabs(full * (double)room - (double)least) < 1);
        larger_yet += peak[2] > peak[1];
        fits += peak[1] <= room;
        nowhere += least > room;
        badly += least <= room && peak[1] > room;
        if (least > room)
            ck_assert_int_eq(peak[1], least);
        else
            ck_assert_int_eq(peak[0], peak[1]);
        for (int i = 0; i < 3; i++)
            toy_free(x[i]);
        t = NULL;
    }
    ck_assert_int_ge(larger_yet, 10);
    printf("%d fit, %d of them in more bytes than need be; %d fit nowhere, %d have no place though "
           "they might\n",
           fits, larger_yet, nowhere, badly);
    ck_assert_int_ge(fits, 50);
    ck_assert_int_ge(nowhere, 50);
}
END_TEST

// The oracle must see faults: every random displacement of a buffer onto another live one.
START_TEST(the_oracle_sees_overlaps)
{
    int seen = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        t = toy_random(seed, 40);
        place();
        int n = t->p->tensors.n, victim = (int)(seed * 7 % (uint64_t)n),
            other = (int)(seed * 13 % (uint64_t)n);
        syn_tensor *x = &t->p->tensors.p[victim];
        const syn_tensor *y = &t->p->tensors.p[other];
        if (y->role == SYN_ROLE_HOME && x->role != SYN_ROLE_HOME && x->bytes[0] > 0 &&
            y->bytes[0] > 0 && x->role != SYN_ROLE_SCRATCH) {
            x->sym = y->sym;
            for (int c = 0; c < t->p->mesh->n_classes; c++)
                x->off[c] = y->off[c];
            seen += replay_arena(t->arena, t->p).n > 0;
        } else {
            for (int i = 0; i < t->p->instr.n; i++)
                if (t->p->instr.p[i].kind == SYN_OP &&
                    t->p->instr.p[i].n_out == 2) { // two results on one place
                    syn_tensor *a = &t->p->tensors.p[t->p->instr.p[i].out[0]],
                               *b = &t->p->tensors.p[t->p->instr.p[i].out[1]];
                    if (a->bytes[0] == 0 || b->bytes[0] == 0 || a->sym || b->sym) continue;
                    b->off[0] = a->off[0];
                    seen += replay_arena(t->arena, t->p).n > 0;
                    break;
                }
        }
        toy_free(t);
        t = NULL;
    }
    ck_assert_int_ge(seen, 20);
}
END_TEST

// Best-fit packing against all orders by brute force on few units.
static int64_t best_of_orders(const arena_unit *unit, const int64_t *size, int n)
{
    int order[6] = {0, 1, 2, 3, 4, 5};
    int64_t best = INT64_MAX;
    for (;;) {
        int64_t base[6], top = 0;
        for (int i = 0; i < n; i++) {
            int u = order[i];
            base[u] = 0;
            for (bool moved = true; moved;) {
                moved = false;
                for (int k = 0; k < i; k++) {
                    int v = order[k];
                    arena_span a = unit[u].chunk[0].span[0], b = unit[v].chunk[0].span[0];
                    if (a.from > b.to || b.from > a.to) continue;
                    if (base[u] >= base[v] + size[v] || base[v] >= base[u] + size[u]) continue;
                    base[u] = base[v] + size[v];
                    moved = true;
                }
            }
            if (base[u] + size[u] > top) top = base[u] + size[u];
        }
        if (top < best) best = top;
        int i = n - 2;
        while (i >= 0 && order[i] > order[i + 1])
            i--;
        if (i < 0) return best;
        int j = n - 1;
        while (order[j] < order[i])
            j--;
        int x = order[i];
        order[i] = order[j];
        order[j] = x;
        for (int a = i + 1, b = n - 1; a < b; a++, b--) {
            x = order[a];
            order[a] = order[b];
            order[b] = x;
        }
    }
}

START_TEST(packing_is_near_the_best_order)
{
    hb_arena *a = hb_arena_new();
    uint64_t s = 12345;
    int64_t sum = 0, least = 0;
    for (int trial = 0; trial < 300; trial++) {
        arena_unit unit[6];
        arena_chunk chunk[6];
        arena_span span[6];
        int64_t size[6], base[6];
        for (int i = 0; i < 6; i++) {
            s = s * 6364136223846793005u + 1442695040888963407u;
            int from = (int)(s >> 40) % 10;
            span[i] = (arena_span){from, from + (int)(s >> 50) % 6};
            size[i] = 256 * (1 + (int64_t)(s >> 33) % 9);
            chunk[i] = (arena_chunk){1, &span[i]};
            unit[i] = (arena_unit){false, 1, &chunk[i]};
        }
        arena_pack *k = arena_pack_new(a, 6, unit);
        int64_t got = arena_pack_place(k, size, base), best = best_of_orders(unit, size, 6);
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < i; j++)
                if (span[i].from <= span[j].to && span[j].from <= span[i].to)
                    ck_assert(base[i] >= base[j] + size[j] || base[j] >= base[i] + size[i]);
        ck_assert_int_ge(got, arena_pack_bound(k, size));
        ck_assert_int_ge(got, best);
        sum += got;
        least += best;
    }
    printf("six units: %.4f of the best order\n", (double)sum / (double)least);
    ck_assert_msg((double)sum < 1.01 * (double)least, "%g of the best order",
                  (double)sum / (double)least);
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("arena_plan");
    TCase *c = tcase_create("arena_plan");
    tcase_add_checked_fixture(c, NULL, teardown);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, a_chain_needs_two_buffers);
    tcase_add_test(c, homes_and_constants_stay);
    tcase_add_test(c, a_reshape_lies_on_its_operand);
    tcase_add_test(c, a_view_of_a_parameter_ends_before_the_update);
    tcase_add_test(c, a_reshape_of_what_is_being_sent_is_a_copy);
    tcase_add_test(c, an_all_reduce_is_in_place_if_its_source_dies);
    tcase_add_test(c, one_source_reduced_twice_has_two_results);
    tcase_add_test(c, a_chain_of_sums_needs_one_buffer);
    tcase_add_test(c, a_sum_spares_what_is_read_again);
    tcase_add_test(c, a_collective_holds_its_scratch_until_the_wait);
    tcase_add_test(c, the_loss_outlives_the_next_inputs);
    tcase_add_test(c, kept_gradients_live_to_the_end);
    tcase_add_test(c, empty_buffers_have_a_place);
    tcase_add_test(c, families_share_what_they_can);
    tcase_add_test(c, families_of_views_share_a_base);
    tcase_add_test(c, families_are_joined_all_or_none);
    tcase_add_test(c, families_lie_apart_where_they_do_not_fit_whole);
    tcase_add_test(c, random_programs_are_sound);
    tcase_add_test(c, random_layers_unrolled_are_sound);
    tcase_add_test(c, to_settle_says_what_places_say);
    tcase_add_test(c, the_oracle_sees_overlaps);
    tcase_add_test(c, packing_is_near_the_best_order);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
