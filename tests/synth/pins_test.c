// Pins: every state that a pin may demand is honoured by the plan, under every strategy that can;
// where it cannot be, the message names the pin and what it clashes with.

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/variant.h"
#include "synth/certify/record.h"
#include "synth/search/plan_stages.h"
#include "synth/search/synth.h"
#include "tests/support/cases.h"

typedef struct setting {
    hb_arena *a;
    ir_graph *g;
    ir_factors *f;
    cost_model m;
} setting;

static setting load(const char *graph, const char *cluster)
{
    setting s = {.a = hb_arena_new()};
    hb_diag *d = hb_diag_new(s.a);
    s.g = ir_build(s.a, graph, &(ir_options){0}, d);
    s.m = (cost_model){.cluster = cl_read(s.a, cluster, "clusters/devices.yaml", d)};
    hb_diag_print(d, stderr);
    ck_assert_ptr_nonnull(s.g);
    ck_assert_ptr_nonnull(s.m.cluster);
    s.f = ir_factorize(s.a, s.g);
    return s;
}

static bool in_place(const ir_graph *g, int node)
{
    return ir_op_of(g->nodes.p[node].op)->flags & IR_IN_PLACE;
}

// Reads a buffer of the producer's that is not in the pinned state?
static bool reads_around(const syn_program *p, const syn_pins *pins, int t)
{
    int made = -1;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind != SYN_OP) continue;
        for (int k = 0; k < in->n_in && made >= 0; k++)
            if (in->in[k] == made) return true;
        if (in->node != p->g->tensors.p[t].producer) continue;
        int b = in->out[p->g->tensors.p[t].out];
        if (!syn_pins_allow(pins, t, &p->tensors.p[b].state, p->mesh->n_axes)) made = b;
    }
    return false;
}

static bool honoured(const syn_program *p, const syn_pins *pins, int t)
{
    if (p->g->tensors.p[t].kind != IR_VALUE)
        return p->home[t] < 0 ||
               syn_pins_allow(pins, t, &p->tensors.p[p->home[t]].state, p->mesh->n_axes);
    bool stands = false;
    for (int b = 0; b < p->tensors.n && !stands; b++)
        stands = p->tensors.p[b].value == t &&
                 syn_pins_allow(pins, t, &p->tensors.p[b].state, p->mesh->n_axes);
    return stands && !reads_around(p, pins, t);
}

// Plans with pins. Returns 1 if there is a plan; it is proved and honours them.
static int plan(const setting *s, const hb_str *text, int n, syn_strategy strategy, hb_str *why)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    syn_options o = syn_default_options();
    o.strategy = strategy;
    syn_pins *pins = syn_pins_read(a, s->g, s->f, text, n, d);
    hb_diag_print(d, stderr);
    ck_assert_ptr_nonnull(pins);
    o.pins = pins;
    syn_result r = syn_synthesize(a, s->g, s->f, &s->m, &o);
    ck_assert_msg(r.status != SYN_FAILED_CHECK, "%.*s: %.*s", HB_ARG(text[0]), HB_ARG(r.why));
    if (r.status == SYN_OK) {
        hb_str wrong = {0};
        ck_assert_msg(syn_check(a, s->g, s->f, record_from_plan(a, r.program), &wrong),
                      "%.*s, %s: %.*s", HB_ARG(text[0]), syn_strategy_name(strategy),
                      HB_ARG(wrong));
        for (int t = 0; t < s->g->tensors.n; t++)
            if (syn_pinned(pins, t))
                ck_assert_msg(honoured(r.program, pins, t), "%.*s, %s: %.*s", HB_ARG(text[0]),
                              syn_strategy_name(strategy), HB_ARG(s->g->tensors.p[t].name));
    }
    if (why) *why = hb_str_n(s->a, r.why.p, r.why.n);
    int ok = r.status == SYN_OK;
    hb_arena_free(a);
    return ok;
}

static bool holds(hb_str text, const char *part)
{
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= text.n; i++)
        if (memcmp(text.p + i, part, n) == 0) return true;
    return false;
}

// Every pin of one tensor that syn_pins_read takes: R, P, each dim, each letter.
static int pins_of(const setting *s, int t, hb_str *out)
{
    const ir_tensor *ten = &s->g->tensors.p[t];
    hb_str all[2 + IR_MAX_RANK * (1 + IR_MAX_FACTORS)];
    int n = 0, kept = 0;
    all[n++] = hb_fmt(s->a, "%.*s=R", HB_ARG(ten->name));
    all[n++] = hb_fmt(s->a, "%.*s=P", HB_ARG(ten->name));
    for (int d = 0; d < ten->rank; d++) {
        all[n++] = hb_fmt(s->a, "%.*s=S(%d)", HB_ARG(ten->name), d);
        for (int k = 0; k < s->f->dim[t][d].n; k++)
            all[n++] = hb_fmt(s->a, "%.*s=S(%s)", HB_ARG(ten->name),
                              s->f->cls[s->f->dim[t][d].cls[k]].letter);
    }
    for (int i = 0; i < n; i++)
        if (syn_pins_read(s->a, s->g, s->f, &all[i], 1, hb_diag_new(s->a))) out[kept++] = all[i];
    ck_assert_int_gt(kept, 0); // R at least
    return kept;
}

static void every_pin(const char *graph, const char *cluster, int step)
{
    setting s = load(graph, cluster);
    int planned = 0, refused = 0, at = 0;
    for (int t = 0; t < s.g->tensors.n; t++) {
        const ir_tensor *ten = &s.g->tensors.p[t];
        if (ten->kind == IR_STATE || (ten->producer >= 0 && in_place(s.g, ten->producer))) continue;
        hb_str pin[64];
        int n = pins_of(&s, t, pin);
        for (int i = 0; i < n; i++) {
            if (at++ % step != 0) continue;
            ck_assert_msg(plan(&s, &pin[i], 1, SYN_AUTO, NULL), "auto: %.*s", HB_ARG(pin[i]));
            planned++;
            for (int k = SYN_AUTO + 1; k < syn_n_strategies && step < 10; k++) {
                hb_str why = {0};
                if (plan(&s, &pin[i], 1, (syn_strategy)k, &why)) {
                    planned++;
                    continue;
                }
                refused++;
                ck_assert_msg(holds(why, "--pin '") && holds(why, "clashes with"),
                              "%.*s, %s: '%.*s'", HB_ARG(pin[i]),
                              syn_strategy_name((syn_strategy)k), HB_ARG(why));
            }
        }
    }
    ck_assert_int_gt(planned, test_cases(2, 20, 20));
    ck_assert_int_gt(refused, step < 10 ? 0 : -1);
    hb_arena_free(s.a);
}

START_TEST(every_pin_of_mlp)
{
    every_pin("examples/mlp/graph.json", "clusters/laptop3.yaml", test_cases(9, 1, 1));
}
END_TEST

START_TEST(some_pins_of_models)
{
    every_pin(_i ? "examples/bert-tiny/graph.json" : "examples/gpt2-tiny/graph.json",
              "clusters/laptop3.yaml", test_cases(160, 41 + 6 * _i, 41 + 6 * _i));
}
END_TEST

START_TEST(many_pins_at_once)
{
    setting s = load("examples/gpt2-tiny/graph.json", "clusters/laptop3.yaml");
    hb_str text[] = {HB_STR("*.c_attn.weight=S(h)"), HB_STR("*.mlp.c_fc=S(2)"),
                     HB_STR("*wte.weight=S(v)"), HB_STR("*.ln_?.weight=R"),
                     HB_STR("*.mlp.c_proj=P")};
    ck_assert(plan(&s, text, 5, SYN_AUTO, NULL));
    syn_pins *p = syn_pins_read(s.a, s.g, s.f, text, 5, hb_diag_new(s.a));
    int pinned = 0;
    for (int t = 0; t < s.g->tensors.n; t++)
        if (syn_pinned(p, t)) {
            pinned++;
            ck_assert(!memchr(s.g->tensors.p[t].name.p, '\'', s.g->tensors.p[t].name.n));
            ck_assert_int_ne(s.g->tensors.p[t].kind, IR_STATE);
        }
    ck_assert_int_eq(pinned, 3 + 3 + 1 + 7 + 3); // 3 blocks, ln_f
    hb_arena_free(s.a);
}
END_TEST

// Plans of three stages on a machine each: of these, where the pin leaves a plan. Returns how many
// of the pinned tensors' places in stages there are; 0: no plan.
static int planned_in_stages(const setting *s, const hb_str *text, int n)
{
    static const int first[] = {0, 1, 2};
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    cost_model m[3];
    int *rank[3], places = 0;
    syn_stage_wish wish[3];
    syn_options o = syn_default_options();
    o.micro_batches = 2;
    o.pins = syn_pins_read(a, s->g, s->f, text, n, d);
    ck_assert_ptr_nonnull(o.pins);
    for (int k = 0; k < 3; k++) {
        const cl_machine *machine = &s->m.cluster->machine[k];
        bool *device = HB_ARRAY(a, bool, s->m.cluster->n_ranks);
        for (int r = 0; r < machine->n_ranks; r++)
            device[machine->first_rank + r] = true;
        rank[k] = HB_ARRAY(a, int, s->m.cluster->n_ranks + 1);
        ck_assert(syn_stage_model(a, &s->m, device, rank[k], &m[k], d));
        wish[k] = (syn_stage_wish){.first_layer = first[k]};
    }
    syn_staged_result r =
        syn_plan_stages(a, s->g, s->m.cluster, 3, wish, m, (int *const *)rank, &o, d);
    ck_assert_int_eq(hb_diag_count(d), 0);
    ck_assert_msg(r.status != SYN_FAILED_CHECK, "%.*s: %.*s", HB_ARG(text[0]), HB_ARG(r.why));
    const ir_factors *f = r.plan ? ir_factorize(a, r.plan->g) : NULL;
    const syn_pins *pins = f ? syn_pins_again(a, o.pins, r.plan->g, f, d) : NULL;
    for (int k = 0; k < 3 && r.plan; k++) {
        const syn_program *p = r.plan->stage[k].program;
        const syn_pins *own = syn_pins_part(a, pins, r.plan->g, f, p->g, p->f);
        for (int t = 0; t < p->g->tensors.n; t++) {
            if (!syn_pinned(own, t)) continue;
            ck_assert_msg(honoured(p, own, t), "stage %d, %.*s: %.*s", k, HB_ARG(text[0]),
                          HB_ARG(p->g->tensors.p[t].name));
            places++;
        }
    }
    hb_arena_free(a);
    return places;
}

// What passes from stage to stage lies as its pin says on both sides; letters mean what they do in
// the whole step, though each stage's factors have letters of their own.
START_TEST(in_stages)
{
    setting s = load("examples/gpt2-tiny/graph.json", "clusters/laptop2x2.yaml");
    s.m.cluster = cl_read_source(
        s.a,
        &(hb_source){HB_STR("three.yaml"), HB_STR("name: three\nmachines:\n- {name: m, count: 3, "
                                                  "devices: [{model: H100, count: 2}, {model: "
                                                  "A100-80GB, count: 1}], link: {bandwidth: 4 "
                                                  "GB/s, latency: 5 us}}\nnetwork: {bandwidth: "
                                                  "1 GB/s, latency: 20 us}\nsource: "
                                                  "datasheet\n")},
        "clusters/devices.yaml", hb_diag_new(s.a));
    ck_assert_ptr_nonnull(s.m.cluster);
    const hb_str all[] = {HB_STR("*.c_attn.weight=S(h)"), HB_STR("*.mlp.c_fc=S(2)"),
                          HB_STR("transformer.h.1.mlp.c_proj=P")};
    ck_assert_int_ge(planned_in_stages(&s, all, 3), 3 + 3 + 1);
    const hb_str passed = HB_STR("transformer.h.0.add.2=S(0)"), tied = HB_STR("*.wte.weight=S(v)");
    ck_assert_int_eq(planned_in_stages(&s, &passed, 1), 2);
    ck_assert_int_eq(planned_in_stages(&s, &tied, 1), 2);
    int at = 0, planned = 0, tried = 0;
    for (int t = 0; t < s.g->tensors.n; t++) {
        const ir_tensor *ten = &s.g->tensors.p[t];
        if (ten->kind == IR_STATE || (ten->producer >= 0 && in_place(s.g, ten->producer))) continue;
        hb_str pin[64];
        int n = pins_of(&s, t, pin);
        for (int i = 0; i < n; i++) {
            if (at++ % test_cases(400, 131, 17) != 0) continue;
            planned += planned_in_stages(&s, &pin[i], 1) > 0;
            tried++;
        }
    }
    ck_assert_int_ge(planned, tried - tried / 5);
    hb_arena_free(s.a);
}
END_TEST

// Of what is asked for beside them: micro-batches, blocks computed again, or one of these.
START_TEST(in_variants)
{
    setting s = load("examples/gpt2-tiny/graph.json", "clusters/laptop3.yaml");
    hb_str text[] = {HB_STR("*.c_attn.weight=S(h)"), HB_STR("*.mlp.c_fc=S(2)"),
                     HB_STR("*.mlp.c_proj=P")};
    bool again[8] = {_i != 1, false};
    ck_assert(ir_blocks(s.g) > 0 && s.g->n_blocks <= 8);
    syn_options o = syn_default_options();
    o.pins = syn_pins_read(s.a, s.g, s.f, text, 3, hb_diag_new(s.a));
    o.micro_batches = _i == 2 ? 1 : 2;
    o.again = _i == 0 ? NULL : again;
    syn_result r = syn_plan(s.a, s.g, &s.m, &o);
    ck_assert_int_eq(r.status, SYN_OK);
    const ir_graph *g = r.program->g;
    ck_assert(g != s.g && (g->micro_batches > 1) == (o.micro_batches > 1));
    syn_pins *p = syn_pins_read(s.a, g, r.program->f, text, 3, hb_diag_new(s.a));
    ck_assert_ptr_nonnull(p);
    int pinned = 0;
    for (int t = 0; t < g->tensors.n; t++) {
        if (!syn_pinned(p, t)) continue;
        ck_assert_msg(honoured(r.program, p, t), "%.*s", HB_ARG(g->tensors.p[t].name));
        pinned++;
    }
    ck_assert_int_ge(pinned, 9);
    hb_arena_free(s.a);
}
END_TEST

static void clash(const setting *s, const char *one, const char *two, syn_strategy k,
                  const char *names)
{
    hb_str text[2] = {hb_str_c(s->a, one), hb_str_c(s->a, two ? two : "")}, why = {0};
    ck_assert_int_eq(plan(s, text, two ? 2 : 1, k, &why), 0);
    ck_assert_msg(holds(why, hb_fmt(s->a, "--pin '%s'", one).p) && holds(why, names), "%s: '%.*s'",
                  one, HB_ARG(why));
    if (two) ck_assert(holds(why, hb_fmt(s->a, "--pin '%s'", two).p));
}

START_TEST(clashes)
{
    setting s = load("examples/mlp/graph.json", "clusters/laptop3.yaml");
    clash(&s, "fc1.weight=R", "fc*.weight=S(0)", SYN_AUTO, "leave no state for fc1.weight");
    clash(&s, "fc1.weight=S(0)", "fc1.weight=S(1)", SYN_AUTO, "leave no state for fc1.weight");
    clash(&s, "fc1=P", "fc?=R", SYN_AUTO, "leave no state for fc1");
    clash(&s, "fc1.weight=S(0)", NULL, syn_strategy_named("dp-even"), "strategy dp-even");
    clash(&s, "image=S(b)", NULL, syn_strategy_named("tp"), "strategy tp");
    clash(&s, "fc1.weight=S(1)", NULL, syn_strategy_named("hap"),
          "clashes with fc1,"); // no row-parallel linear
    hb_arena_free(s.a);
}
END_TEST

// What --strategy hap never does, whatever the graph (docs/theory.md section 7).
START_TEST(hap_keeps_its_rules)
{
    static const char *const graphs[] = {"examples/mlp/graph.json", "examples/gpt2-tiny/graph.json",
                                         "examples/bert-tiny/graph.json"};
    static const char *const clusters[] = {"clusters/laptop3.yaml", "clusters/laptop.yaml",
                                           "clusters/a100x2-v100x2.yaml"};
    int collectives = 0;
    for (int c = 0; c < 3; c++) {
        setting s = load(graphs[_i], clusters[c]);
        syn_options o = syn_default_options();
        o.strategy = syn_strategy_named("hap");
        syn_result r = syn_synthesize(s.a, s.g, s.f, &s.m, &o);
        ck_assert_int_eq(r.status, SYN_OK);
        const syn_program *p = r.program;
        for (int i = 0; i < p->instr.n; i++) {
            const syn_instr *in = &p->instr.p[i];
            ck_assert_int_ne(in->kind, SYN_PARTIAL);
            if (in->kind != SYN_START && in->kind != SYN_SLICE) continue;
            ck_assert_int_eq(in->n_in, 1);
            int t = p->tensors.p[in->in[0]].value;
            ck_assert_msg(s.g->tensors.p[t].kind != IR_PARAM, "%.*s moves",
                          HB_ARG(s.g->tensors.p[t].name));
            for (int k = 1; k < s.g->grads.n; k += 2)
                if (s.g->grads.p[k] == t)
                    ck_assert(in->kind == SYN_START && in->coll == COST_ALL_REDUCE);
            ck_assert(in->kind == SYN_SLICE || in->coll != COST_RESHARD);
            collectives += in->kind == SYN_START;
        }
        int64_t size[64]; // one ratio vector: one table a size and grain
        int cut[64], n = 0;
        for (int q = 0; q < p->tensors.n; q++) {
            const syn_axis_state *x = &p->tensors.p[q].state.ax[0];
            if (p->tensors.p[q].value < 0 || x->kind != SYN_S) continue;
            int64_t of = p->mesh->cuts.p[x->cut].size;
            int k = 0;
            while (k < n && size[k] != of)
                k++;
            if (k == n) {
                ck_assert_int_lt(n, 64);
                size[n] = of;
                cut[n++] = x->cut;
            }
            ck_assert_int_eq(cut[k], x->cut);
        }
        hb_arena_free(s.a);
    }
    ck_assert_int_gt(collectives, 0);
}
END_TEST

static void refuse(const setting *s, const char *pin, const char *want)
{
    hb_str text = hb_str_c(s->a, pin);
    hb_diag *d = hb_diag_new(s->a);
    ck_assert_ptr_null(syn_pins_read(s->a, s->g, s->f, &text, 1, d));
    FILE *f = tmpfile();
    ck_assert_ptr_nonnull(f);
    hb_diag_print(d, f);
    char got[1024];
    rewind(f);
    got[fread(got, 1, sizeof got - 1, f)] = 0;
    fclose(f);
    ck_assert_msg(strstr(got, want) && strstr(got, pin) && strchr(got, '^'), "%s: %s", pin, got);
}

START_TEST(bad_pins)
{
    setting s = load("examples/mlp/graph.json", "clusters/laptop3.yaml");
    refuse(&s, "fc1.wieght=R", "did you mean 'fc1.weight'");
    refuse(&s, "fc1.weight=S(x)", "--pin:1:14: error: fc1.weight has no factor 'x'; it has: f");
    refuse(&s, "fc1.weight=S(2)", "fc1.weight has 2 dims");
    refuse(&s, "fc1.weight=S(12)", "fc1.weight has 2 dims");
    refuse(&s, "fc1.weight=P", "never partial");
    refuse(&s, "label=P", "never partial");
    refuse(&s, "fc1.weight=R,R,R", "at most two axes");
    refuse(&s, "fc1.weight=T", "R, P, S(letter) or S(dim)");
    refuse(&s, "fc1.weight=S()", "R, P, S(letter) or S(dim)");
    refuse(&s, "fc1.weight", "NAME=R");
    refuse(&s, "=R", "NAME=R");
    refuse(&s, "fc1.weight.exp_avg=R", "no tensor and no op");
    hb_arena_free(s.a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pins");
    TCase *t = tcase_create("pins");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, every_pin_of_mlp);
    tcase_add_loop_test(t, some_pins_of_models, 0, test_cases(1, 2, 2));
    tcase_add_test(t, many_pins_at_once);
    tcase_add_loop_test(t, in_variants, 0, 3);
    tcase_add_test(t, in_stages);
    tcase_add_test(t, clashes);
    tcase_add_test(t, bad_pins);
    tcase_add_loop_test(t, hap_keeps_its_rules, 0, test_cases(1, 3, 3));
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
