// The mutation score of the certificate: every field of every call and buffer of a plan's record is
// changed, every call left out, made twice and made later than the next. All of these programs are
// rejected but those of the kinds listed as equivalent, each with its reason. A survivor of another
// kind fails.

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synth/certify/modp.h"
#include "tests/certify/record_gen.h"
#include "tests/support/cases.h"

// X(kind, why such a program may be as right as the first; NULL: it never is)
#define KINDS(X)                                                                                   \
    X(LEFT_OUT, "a gradient that is not saved: no value of the step hangs on it")                  \
    X(TWICE, "the same value is made again from operands that are still there, or declared again") \
    X(LATER, "neither of the two calls reads or destroys what the other makes")                    \
    X(OPERAND, "a buffer that holds the same value, or the operands of a sum trade places")        \
    X(RESULT, NULL)                                                                                \
    X(OP, NULL)                                                                                    \
    X(ATTRIBUTE, "the key of an op whose dropout is 0")                                            \
    X(COLLECTIVE, NULL)                                                                            \
    X(FORM, "forms of a collective have one result; the checker asks for shards that it can take") \
    X(AXES, NULL)                                                                                  \
    X(REDUCER, NULL)                                                                               \
    X(SCRATCH, "scratch that is large enough and free, whichever")                                 \
    X(EVENT, NULL)                                                                                 \
    X(NUMBER, "of a fill, not read in its kind")                                                   \
    X(DTYPE, NULL)                                                                                 \
    X(TABLE, "of a buffer between changes of state, which take any cut")                           \
    X(FACTOR, "scratch that is larger")                                                            \
    X(AXIS, NULL)                                                                                  \
    X(PLACE, "bytes that nothing else holds then")                                                 \
    X(SEGMENT, "bytes that nothing else holds then, in a buffer that no put writes")               \
    X(BYTES, NULL)

typedef enum {
#define X(kind, why) K_##kind,
    KINDS(X)
#undef X
        N_KINDS
} kind;
static const struct {
    const char *name, *equivalent;
} kinds[] = {
#define X(kind, why) {#kind, why},
    KINDS(X)
#undef X
};

typedef struct score {
    const ir_graph *g;
    const ir_factors *f;
    const record *r; // the first
    int every, at;   // one mutant in so many is tried
    int made[N_KINDS], survived[N_KINDS];
} score;

static void copy_call(hb_arena *a, rec_call *k)
{
    if (k->n_in > 0) k->in = hb_copy(a, k->in, sizeof *k->in * (size_t)k->n_in);
    if (k->n_out > 0) k->out = hb_copy(a, k->out, sizeof *k->out * (size_t)k->n_out);
    if (k->kind == REC_OP) { // with room for those of another op
        ir_attr *attr = HB_ARRAY(a, ir_attr, IR_MAX_ATTR);
        int n = ir_op_of((ir_op)k->op)->n_attr;
        if (n > 0) memcpy(attr, k->attr, sizeof *attr * (size_t)n);
        k->attr = attr;
    }
}

// A changeable copy; NULL: this mutant is passed over.
static record *copy(score *s, hb_arena *a)
{
    if (s->at++ % s->every) return NULL;
    record *w = hb_copy(a, s->r, sizeof *s->r);
    w->tensors.p = hb_copy(a, s->r->tensors.p, sizeof *w->tensors.p * (size_t)w->tensors.n);
    w->calls.p = HB_ARRAY(a, rec_call, w->calls.n + 2);
    w->calls.cap = w->calls.n + 2;
    memcpy(w->calls.p, s->r->calls.p, sizeof *w->calls.p * (size_t)w->calls.n);
    return w;
}

// Whether a buffer is used by calls of these kinds alone (a bit each); scratch: as scratch too.
static bool used_by(const record *r, int id, unsigned of, bool scratch)
{
    for (int c = 0; c < r->calls.n; c++) {
        const rec_call *k = &r->calls.p[c];
        bool uses = !scratch && k->scratch == id;
        for (int i = 0; i < k->n_in && !(of >> k->kind & 1u); i++)
            uses = uses || k->in[i] == id;
        for (int i = 0; i < k->n_out && !(of >> k->kind & 1u); i++)
            uses = uses || k->out[i] == id;
        if (uses) return false;
    }
    return true;
}

// May this mutant of call or buffer `at` be as right as the first, for the reason of its kind?
static bool may_be_right(const record *r, kind k, int at)
{
    const unsigned states = 1u << REC_START | 1u << REC_SLICE | 1u << REC_INPUT;
    const rec_call *c = &r->calls.p[at];
    switch ((int)k) {
    case K_LEFT_OUT:
        return c->kind == REC_GRAD;
    case K_TWICE:
        return c->kind == REC_SLICE || c->kind == REC_PARTIAL || c->kind == REC_GRAD ||
               (c->kind == REC_OP && !(ir_op_of((ir_op)c->op)->flags & IR_IN_PLACE));
    case K_ATTRIBUTE:
        return ir_op_of((ir_op)c->op)->flags & IR_RANDOM;
    case K_NUMBER:
        return c->kind == REC_PARAM || c->kind == REC_BUFFER || c->kind == REC_CONST;
    case K_FACTOR:
        return used_by(r, at, 0, true);
    case K_TABLE:
        return used_by(r, at, states, true);
    default:
        return true;
    }
}

static void judge(score *s, hb_arena *a, const record *w, kind k, const char *what, int at)
{
    hb_str why;
    s->made[k]++;
    if (!syn_check(a, s->g, s->f, w, &why) || !syn_modp(a, s->g, s->f, w, 1, &why)) return;
    s->survived[k]++;
    ck_assert_msg(kinds[k].equivalent && may_be_right(s->r, k, at), "%s survives: %s %d",
                  kinds[k].name, what, at);
}

typedef void change(record *w, int at, int i); // of call or buffer `at`
typedef struct field {
    kind k;
    change *with;
} field;

#define CALL(name, statement)                                                                      \
    static void name(record *w, int at, int i)                                                     \
    {                                                                                              \
        rec_call *k = &w->calls.p[at];                                                             \
        (void)i;                                                                                   \
        statement;                                                                                 \
    }
#define BUFFER(name, statement)                                                                    \
    static void name(record *w, int at, int i)                                                     \
    {                                                                                              \
        rec_tensor *t = &w->tensors.p[at];                                                         \
        (void)i;                                                                                   \
        statement;                                                                                 \
    }

static int other(const record *w, int id)
{
    return (id + 1) % w->tensors.n;
}

CALL(other_operand, k->in[i] = other(w, k->in[i]))
CALL(swapped_operand, int x = k->in[i]; k->in[i] = k->in[(i + 1) % k->n_in];
     k->in[(i + 1) % k->n_in] = x)
CALL(other_result, k->out[i] = other(w, k->out[i]))
CALL(other_op, k->op = (k->op + 1) % IR_N_OPS)
CALL(other_coll, k->coll = (cost_coll)((k->coll + 1 + i) % (COST_RESHARD + 1)))
CALL(other_form, int f = ((int)(k->form & 15u) + 1 + i) % (COST_PUTS + 1);
     k->form = f == COST_PUTS ? COST_PUT(1) : (cost_form)f)
CALL(other_axes, k->axes ^= 1u << i)
CALL(other_reducer, k->reduce_max = !k->reduce_max)
CALL(other_scratch, k->scratch = i ? -1 : k->scratch < 0 ? 0 : other(w, k->scratch))
CALL(other_event, k->event += i ? 1 : -1)
CALL(other_number, k->num[i] += 1)
static void other_attr(record *w, int at, int i)
{
    const rec_call *k = &w->calls.p[at];
    ir_attr *v = (ir_attr *)(uintptr_t)&k->attr[i];
    switch (ir_op_of((ir_op)k->op)->attr[i].kind) {
    case IR_ATTR_BOOL:
        v->i = !v->i;
        break;
    case IR_ATTR_REAL:
        v->f += 1;
        break;
    case IR_ATTR_INT:
    case IR_ATTR_DTYPE:
        v->i += 1;
        break;
    case IR_ATTR_INTS: // one fewer, or one where there was none
        v->v[0] = v->n > 0 ? v->v[0] : 0;
        v->n = v->n > 0 ? v->n - 1 : 1;
        break;
    }
}
BUFFER(other_dtype, t->dtype = t->dtype == IR_F32 ? IR_BF16 : IR_F32)
BUFFER(other_segment, t->seg = !t->seg)
BUFFER(other_place, t->off[i / 2] += i % 2 ? 256 : -256)
BUFFER(other_n, t->dim[i].n++)
BUFFER(other_outer, t->dim[i].outer++)
BUFFER(other_inner, t->dim[i].inner++)
BUFFER(other_axis, t->dim[i].axis = t->dim[i].axis < 0 ? 0 : -1)

// --- all mutants of a record

static void change_call(score *s, int at, field f, int times)
{
    for (int i = 0; i < times; i++) {
        hb_arena *a = hb_arena_new();
        record *w = copy(s, a);
        if (w) {
            copy_call(a, &w->calls.p[at]);
            f.with(w, at, i);
            judge(s, a, w, f.k, "call", at);
        }
        hb_arena_free(a);
    }
}

static void change_buffer(score *s, int at, field f, int times)
{
    for (int i = 0; i < times; i++) {
        hb_arena *a = hb_arena_new();
        record *w = copy(s, a);
        if (w) {
            f.with(w, at, i);
            judge(s, a, w, f.k, "buffer", at);
        }
        hb_arena_free(a);
    }
}

static void change_order(score *s, int at, kind k)
{
    hb_arena *a = hb_arena_new();
    record *w = copy(s, a);
    rec_call *c = w ? &w->calls.p[at] : NULL;
    size_t behind = sizeof *c * (size_t)(s->r->calls.n - at - 1);
    if (w && k == K_LEFT_OUT) {
        memmove(c, c + 1, behind);
        w->calls.n--;
    } else if (w && k == K_TWICE) {
        memmove(c + 1, c, behind + sizeof *c);
        w->calls.n++;
    } else if (w && at + 1 < w->calls.n) {
        rec_call x = c[0];
        c[0] = c[1];
        c[1] = x;
    } else {
        w = NULL;
    }
    if (w) judge(s, a, w, k, "call", at);
    hb_arena_free(a);
}

static void all_of_call(score *s, int at)
{
    const rec_call *k = &s->r->calls.p[at];
    change_order(s, at, K_LEFT_OUT);
    change_order(s, at, K_TWICE);
    change_order(s, at, K_LATER);
    change_call(s, at, (field){K_OPERAND, other_operand}, k->n_in);
    change_call(s, at, (field){K_OPERAND, swapped_operand}, k->n_in > 1 ? k->n_in : 0);
    change_call(s, at, (field){K_RESULT, other_result}, k->n_out);
    bool fills = k->kind == REC_PARAM || k->kind == REC_BUFFER || k->kind == REC_CONST;
    change_call(s, at, (field){K_NUMBER, other_number},
                k->kind == REC_SCHEDULE ? IR_SCHEDULE
                : k->kind == REC_BATCH  ? 2
                : fills                 ? 3
                                        : 0);
    if (k->kind == REC_OP) {
        change_call(s, at, (field){K_OP, other_op}, 1);
        change_call(s, at, (field){K_ATTRIBUTE, other_attr}, ir_op_of((ir_op)k->op)->n_attr);
    }
    if (k->kind == REC_START) {
        change_call(s, at, (field){K_COLLECTIVE, other_coll}, COST_RESHARD);
        change_call(s, at, (field){K_FORM, other_form}, COST_PUTS);
        change_call(s, at, (field){K_REDUCER, other_reducer}, 1);
        change_call(s, at, (field){K_SCRATCH, other_scratch}, 2);
    }
    if (k->kind == REC_START || k->kind == REC_PARTIAL)
        change_call(s, at, (field){K_AXES, other_axes}, s->r->n_axes);
    if (k->kind == REC_START || k->kind == REC_WAIT)
        change_call(s, at, (field){K_EVENT, other_event}, 2);
}

static void all_of_buffer(score *s, int at)
{
    const rec_tensor *t = &s->r->tensors.p[at];
    change_buffer(s, at, (field){K_DTYPE, other_dtype}, 1);
    change_buffer(s, at, (field){K_SEGMENT, other_segment}, 1);
    change_buffer(s, at, (field){K_PLACE, other_place}, 2 * s->r->n_classes);
    change_buffer(s, at, (field){K_FACTOR, other_n}, t->rank);
    change_buffer(s, at, (field){K_FACTOR, other_outer}, t->rank);
    change_buffer(s, at, (field){K_FACTOR, other_inner}, t->rank);
    change_buffer(s, at, (field){K_AXIS, other_axis}, t->rank);
    for (int d = 0; d < t->rank; d++)
        for (int i = 0; i + 1 < t->dim[d].n_table; i++) { // each boundary, by one
            hb_arena *a = hb_arena_new();
            record *w = copy(s, a);
            rec_dim *v = w ? &w->tensors.p[at].dim[d] : NULL;
            if (v) v->table = hb_copy(a, v->table, sizeof *v->table * (size_t)v->n_table);
            int from = v && v->table[i] > 0 ? i : i + 1;
            if (v && v->table[from] > 0) {
                v->table[from]--;
                v->table[from == i ? i + 1 : i]++;
                judge(s, a, w, K_TABLE, "buffer", at);
            }
            hb_arena_free(a);
        }
}

static void one_rank_more(hb_arena *a, record *w)
{
    int *cls = HB_ARRAY(a, int, w->n_ranks + 1);
    memcpy(cls, w->class_of, sizeof *cls * (size_t)w->n_ranks);
    w->class_of = cls;
    w->n_ranks++;
}

static void all_of_sizes(score *s)
{
    for (int i = 0; i < 2 + s->r->n_classes; i++) {
        hb_arena *a = hb_arena_new();
        s->at = 0;
        record *w = copy(s, a);
        if (i == 0)
            one_rank_more(a, w);
        else if (i == 1)
            w->sym_bytes = w->sym_bytes > 0 ? 1 : -1;
        else
            w->local_bytes[i - 2] = 1;
        judge(s, a, w, K_BYTES, "size", i);
        hb_arena_free(a);
    }
}

static const struct {
    const char *graph;
    gen_options o;
    int sanitized, each_time, at_night; // one mutant in so many
} bases[] = {
    {"examples/mlp/graph.json",
     {.n_axes = 1, .size = {3}, .n_classes = 2, .cut_percent = 90, .seed = 31, .keep_grads = true},
     37,
     1,
     1},
    {"examples/mlp/graph.json",
     {.n_axes = 2, .size = {2, 2}, .n_classes = 2, .cut_percent = 90, .seed = 32},
     37,
     2,
     1},
    {"examples/gpt2-tiny/graph.json",
     {.n_axes = 2, .size = {2, 2}, .n_classes = 2, .cut_percent = 90, .seed = 33},
     2003,
     101,
     3},
};

START_TEST(all_but_the_equivalent_are_rejected)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    score s = {.g = ir_build(a, bases[_i].graph, &(ir_options){0}, d)};
    ck_assert_ptr_nonnull(s.g);
    s.f = ir_factorize(a, s.g);
    s.r = gen_record(a, s.g, s.f, &bases[_i].o, NULL);
    s.every = test_cases(bases[_i].sanitized, bases[_i].each_time, bases[_i].at_night);
    for (int i = 0; i < s.r->calls.n; i++)
        all_of_call(&s, i);
    for (int i = 0; i < s.r->tensors.n; i++)
        all_of_buffer(&s, i);
    all_of_sizes(&s);
    int made = 0, equivalent = 0;
    for (int k = 0; k < N_KINDS; k++) {
        made += s.made[k];
        equivalent += s.survived[k];
        if (s.survived[k])
            printf("%4d of %4d %-10s equivalent: %s\n", s.survived[k], s.made[k], kinds[k].name,
                   kinds[k].equivalent);
    }
    printf("%s: %d programs, %d equivalent, all others rejected\n", bases[_i].graph, made,
           equivalent);
    ck_assert_int_lt(equivalent * 4, made);
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("mutation_score");
    TCase *t = tcase_create("score");
    tcase_set_timeout(t, 600);
    tcase_add_loop_test(t, all_but_the_equivalent_are_rejected, 0, sizeof bases / sizeof *bases);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
