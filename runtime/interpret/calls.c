// The functions of hap/runtime.h and hap/ops.h, called with what a program gives them.

#include <limits.h>
#include <string.h>

#include "core/fail.h"
#include "interpret/interpret.h"

enum { MOST_ARGS = HAP_MAX_OUT + HAP_MAX_IN + HAP_MAX_ATTR + 2, MOST_CALLS = 1 << 26 };

typedef struct call {
    interpreter *x;
    hap_rank *r;
    int at; // the token of its name
    const value *a;
} call;

#define INT(k)     ((int)c->a[k].i)
#define TEXT(k)    ((const char *)c->a[k].p)
#define TENSOR(k)  ((hap_tensor *)(uintptr_t)c->a[k].p)
#define TENSORS(k) ((hap_tensor *const *)c->a[k].p)
#define GROUPS(k)  ((const int64_t(*)[3])(uintptr_t)c->a[k].p)
#define FILL(k)    (*(const hap_fill *)c->a[k].p)

static void want_entries(const call *c, int k, int n)
{
    if (c->a[k].kind != V_NULL && c->a[k].n < n)
        refuse(c->x, c->at, "a list of %d where %d are read", c->a[k].n, n);
}

static value nothing(void)
{
    return (value){.kind = V_NONE};
}

static value do_math(const call *c)
{
    hap_math(c->r, (hap_math_mode)INT(0));
    return nothing();
}

static value do_places(const call *c)
{
    for (int k = 0; k < 3; k++)
        want_entries(c, k, c->r->n_members);
    hap_places(c->r, c->a[0].p, c->a[1].p, c->a[2].p);
    return nothing();
}

static value do_mesh(const call *c)
{
    want_entries(c, 1, INT(0));
    hap_mesh(c->r, INT(0), c->a[1].p);
    return nothing();
}

static value do_classes(const call *c)
{
    want_entries(c, 0, c->r->n_members);
    hap_classes(c->r, c->a[0].p);
    return nothing();
}

static value do_segments(const call *c)
{
    want_entries(c, 1, c->r->n_classes);
    hap_segments(c->r, c->a[0].i, c->a[1].p);
    return nothing();
}

static value do_stages(const call *c)
{
    want_entries(c, 1, INT(0));
    want_entries(c, 3, INT(2));
    return value_of_int(hap_stages(c->r, INT(0), c->a[1].p, INT(2), c->a[3].p), false);
}

static value do_rings(const call *c)
{
    want_entries(c, 1, c->r->n_classes);
    want_entries(c, 2, c->r->n_classes);
    hap_rings(c->r, INT(0), c->a[1].p, c->a[2].p);
    return nothing();
}

static value do_ring(const call *c)
{
    hap_ring(c->r, INT(0));
    return nothing();
}

static value do_declare(const call *c)
{
    const token *k = &c->x->t.token[c->at];
    (hap_declare)(c->r, c->x->t.file[k->file].path, c->a[0].n, c->a[0].p, c->a[1].n, c->a[1].p);
    return nothing();
}

static value do_input(const call *c)
{
    (hap_input)(c->r, TEXT(0), TENSOR(1));
    return nothing();
}

static value do_param(const call *c)
{
    (hap_param)(c->r, TEXT(0), TENSOR(1), FILL(2));
    return nothing();
}

static value do_state(const call *c)
{
    (hap_state)(c->r, TEXT(0), TENSOR(1));
    return nothing();
}

static value do_buffer(const call *c)
{
    (hap_buffer)(c->r, TEXT(0), TENSOR(1), FILL(2));
    return nothing();
}

static value do_const(const call *c)
{
    (hap_const)(c->r, TEXT(0), TENSOR(1), FILL(2));
    return nothing();
}

static value do_const_file(const call *c)
{
    (hap_const_file)(c->r, TEXT(0), TENSOR(1), TEXT(2));
    return nothing();
}

static value do_grad(const call *c)
{
    (hap_grad)(c->r, TEXT(0), TENSOR(1));
    return nothing();
}

static value do_alias(const call *c)
{
    (hap_alias)(c->r, TEXT(0), TEXT(1));
    return nothing();
}

static value do_loss(const call *c)
{
    (hap_loss)(c->r, TENSOR(0));
    return nothing();
}

static value do_batch(const call *c)
{
    (hap_batch)(c->r, c->a[0].i, c->a[1].i);
    return nothing();
}

static value do_schedule(const call *c)
{
    (hap_schedule)(c->r, *(const hap_lr *)c->a[0].p);
    return nothing();
}

static value do_next_step(const call *c)
{
    return value_of_int(hap_next_step(c->r), false);
}

static value do_finish(const call *c)
{
    return value_of_int(hap_finish(c->r), false);
}

static value do_cut(const call *c)
{
    (hap_cut)(c->r, TENSOR(0), TENSOR(1));
    return nothing();
}

static value do_partial(const call *c)
{
    (hap_partial)(c->r, (unsigned)INT(0), TENSOR(1), TENSOR(2));
    return nothing();
}

static value do_fuse(const call *c)
{
    (hap_fuse)(c->r, TEXT(0));
    return nothing();
}

static value do_fused(const call *c)
{
    (hap_fused)(c->r, INT(0), TENSORS(1));
    return nothing();
}

#define COLL(name)                                                                                 \
    static value do_##name(const call *c)                                                          \
    {                                                                                              \
        hap_event *e = (coll_##name##_start)(c->r, (unsigned)INT(0), (hap_form)INT(1), INT(2),     \
                                             TENSORS(3), TENSORS(4), TENSOR(5));                   \
        return (value){.kind = V_EVENT, .p = e};                                                   \
    }
COLL(all_gather)
COLL(reduce_scatter)
COLL(all_reduce)
COLL(all_reduce_max)
COLL(all_to_all)
COLL(reshard)

static value do_wait(const call *c)
{
    (hap_wait)(c->r, (hap_event *)(uintptr_t)c->a[0].p);
    return nothing();
}

static value do_overlap(const call *c)
{
    (hap_overlap)(c->r, INT(0), GROUPS(1));
    return nothing();
}

static value do_tiles(const call *c)
{
    (hap_tiles)(c->r, INT(0), INT(1), (unsigned)INT(2), INT(3), GROUPS(4));
    return nothing();
}

static value do_overlapped(const call *c)
{
    (hap_overlapped)(c->r);
    return nothing();
}

// Arguments behind r, a letter each: i int, u unsigned, l int64_t, d double, b bool, s text,
// t tensor, T so many tensors as the int before says, 3 so many groups, e event, F fill, G
// hap_ints, R rate; tables: I int, L int64_t, C cuts, P places, S stages, O ports.
static const struct {
    const char *name, *args;
    value (*run)(const call *c);
} calls[] = {
    {"hap_init", "", NULL},
    {"hap_math", "i", do_math},
    {"hap_places", "III", do_places},
    {"hap_mesh", "iI", do_mesh},
    {"hap_classes", "I", do_classes},
    {"hap_segments", "lL", do_segments},
    {"hap_stages", "iSiO", do_stages},
    {"hap_rings", "iLL", do_rings},
    {"hap_ring", "i", do_ring},
    {"hap_declare", "CP", do_declare},
    {"hap_input", "st", do_input},
    {"hap_param", "stF", do_param},
    {"hap_state", "st", do_state},
    {"hap_buffer", "stF", do_buffer},
    {"hap_const", "stF", do_const},
    {"hap_const_file", "sts", do_const_file},
    {"hap_grad", "st", do_grad},
    {"hap_alias", "ss", do_alias},
    {"hap_loss", "t", do_loss},
    {"hap_batch", "ll", do_batch},
    {"hap_schedule", "R", do_schedule},
    {"hap_next_step", "", do_next_step},
    {"hap_finish", "", do_finish},
    {"hap_cut", "tt", do_cut},
    {"hap_partial", "utt", do_partial},
    {"hap_fuse", "s", do_fuse},
    {"hap_fused", "iT", do_fused},
    {"coll_all_gather_start", "uiiTTt", do_all_gather},
    {"coll_reduce_scatter_start", "uiiTTt", do_reduce_scatter},
    {"coll_all_reduce_start", "uiiTTt", do_all_reduce},
    {"coll_all_reduce_max_start", "uiiTTt", do_all_reduce_max},
    {"coll_all_to_all_start", "uiiTTt", do_all_to_all},
    {"coll_reshard_start", "uiiTTt", do_reshard},
    {"hap_wait", "e", do_wait},
    {"hap_overlap", "i3", do_overlap},
    {"hap_tiles", "iiui3", do_tiles},
    {"hap_overlapped", "", do_overlapped},
};
enum { N_CALLS = sizeof calls / sizeof *calls };

#define CONSTANT(name)                                                                             \
    {                                                                                              \
#        name, (int)(name)                                                                         \
    }
static const struct {
    const char *name;
    int i;
} constants[] = {
    CONSTANT(HAP_F32),         CONSTANT(HAP_BF16),         CONSTANT(HAP_F16),
    CONSTANT(HAP_I64),         CONSTANT(HAP_I32),          CONSTANT(HAP_BOOL),
    CONSTANT(HAP_U8),          CONSTANT(HAP_NN),           CONSTANT(HAP_NT),
    CONSTANT(HAP_TN),          CONSTANT(HAP_BOTH),         CONSTANT(HAP_MATH_F32),
    CONSTANT(HAP_MATH_TF32),   CONSTANT(FORM_EVEN),        CONSTANT(FORM_PADDED),
    CONSTANT(FORM_GROUPED),    CONSTANT(FORM_SENDRECV),    CONSTANT(FORM_EVEN_FLAT),
    CONSTANT(FORM_FLAT),       CONSTANT(FORM_TWO_LEVEL),   CONSTANT(HAP_TILE_TURNS),
    CONSTANT(HAP_TILE_SUMS),   CONSTANT(HAP_TILE_BY_ROWS), CONSTANT(HAP_TILE_FIRST),
    CONSTANT(HAP_TILE_STORES), CONSTANT(HAP_TILE_PARTS),
};
enum { N_CONSTANTS = sizeof constants / sizeof *constants };
enum {
    FIRST_CALL = N_WORDS,
    FIRST_CONSTANT = FIRST_CALL + N_CALLS,
    FIRST_OP = FIRST_CONSTANT + N_CONSTANTS
};

void know_calls(interpreter *x)
{
    static const char *const words[] = {
#define WORD(word) #word,
        INTERPRET_WORDS(WORD)
#undef WORD
    };
    for (int i = 0; i < N_WORDS; i++)
        tokens_name(&x->t, words[i], (int)strlen(words[i]));
    for (int i = 0; i < N_CALLS; i++)
        tokens_name(&x->t, calls[i].name, (int)strlen(calls[i].name));
    for (int i = 0; i < N_CONSTANTS; i++)
        tokens_name(&x->t, constants[i].name, (int)strlen(constants[i].name));
    for (int i = 0; i < HAP_N_OPS; i++) {
        int n = (int)strlen(hap_op_names[i]) + 3;
        char *name = take_memory(n + 1);
        strcpy(name, "op_");
        strcat(name, hap_op_names[i]);
        tokens_name(&x->t, name, n);
    }
    x->n_fixed = x->t.n_names;
#define SCHEDULE(field, kind) tokens_name(&x->t, #field, (int)strlen(#field));
#include "hap/schedule.def"
#undef SCHEDULE
    x->n_known = x->t.n_names;
}

// --- arguments ---

// v as C converts it to what the letter stands for, where nothing is lost by that; or refused.
static value take_as(const interpreter *x, int at, char letter, value v, int64_t count)
{
    static const struct {
        char letter;
        value_kind kind;
    } kinds[] = {{'s', V_TEXT},     {'t', V_TENSOR},    {'T', V_TENSORS}, {'3', V_TRIPLES},
                 {'e', V_EVENT},    {'F', V_FILL},      {'G', V_INTS},    {'R', V_RATE},
                 {'I', V_INT_LIST}, {'L', V_LONG_LIST}, {'C', V_CUTS},    {'P', V_PLACES},
                 {'S', V_STAGES},   {'O', V_PORTS}};
    bool whole = v.kind == V_INT || v.kind == V_LONG, null = v.kind == V_NULL, good = false;
    if (letter == 'd' && whole && v.i >= -(INT64_C(1) << 53) && v.i <= INT64_C(1) << 53)
        return (value){.kind = V_REAL, .f = (double)v.i};
    if (letter == 'd') good = v.kind == V_REAL;
    if (letter == 'l') good = whole;
    if (letter == 'b') good = whole && (v.i == 0 || v.i == 1);
    if (letter == 'i') good = whole && v.i >= INT_MIN && v.i <= INT_MAX;
    if (letter == 'u') good = whole && v.i >= 0 && v.i <= INT_MAX;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (kinds[k].letter == letter)
            good = v.kind == kinds[k].kind || (null && strchr("tTI3eO", letter));
    if (letter == 'T' || letter == '3') good = good && count >= 0 && (null ? 0 : v.n) >= count;
    if (!good) refuse(x, at, "this argument");
    if (null) v.p = NULL;
    return v;
}

// "(r, …)" for letters; their number.
static int read_arguments(interpreter *x, const char *letters, value *a)
{
    int n = 0, at = x->at + 1;
    int64_t count = -1;
    want_sign(x, '(');
    value r = read_value(x);
    if (r.kind != V_RANK) refuse(x, at, "no rank here");
    for (; letters[n]; n++) {
        want_sign(x, ',');
        at = x->at;
        a[n] = take_as(x, at, letters[n], read_value(x), count);
        if (letters[n] == 'i') count = a[n].i;
    }
    want_sign(x, ')');
    return n;
}

// "(&argc, &argv, "0123", 4)"
static value init(interpreter *x, int at)
{
    want_sign(x, '(');
    for (int k = 0; k < 2; k++) {
        value v = read_value(x);
        if (v.kind != V_MAIN || v.i != (k ? W_argv : W_argc))
            refuse(x, at, "another first argument");
        want_sign(x, ',');
    }
    const char *graph = want_text(x);
    want_sign(x, ',');
    int number = x->at;
    int64_t n = read_int(x);
    want_sign(x, ')');
    if (n < 1 || n > 1 << 20) refuse(x, number, "%lld ranks", (long long)n);
    if (x->r) refuse(x, at, "hap_init twice");
    x->r = hap_init(&x->argc, &x->argv, graph, (int)n);
    return (value){.kind = V_RANK};
}

// Outputs first, then operands, then attributes (hap/ops.h).
static value run_op(interpreter *x, hap_op_id op, int at)
{
    const hap_op_args *takes = &hap_op_takes[op];
    char letters[MOST_ARGS + 1];
    value a[MOST_ARGS];
    int n = 0, k = 0, outs = takes->in_place ? 0 : takes->n_out;
    for (int side = 0; side < 2; side++) {
        int count = side ? takes->n_in : outs;
        if (count < 0) letters[n++] = 'i', letters[n++] = 'T';
        for (int i = 0; i < count; i++)
            letters[n++] = 't';
    }
    strcpy(letters + n, takes->attrs);
    read_arguments(x, letters, a);
    hap_op_call o = {.op = op};
    for (int side = 0; side < 2; side++) {
        int count = side ? takes->n_in : outs, *to = side ? &o.n_in : &o.n_out;
        hap_tensor **list = side ? o.in : o.out;
        bool many = count < 0;
        if (many && a[k].i > (side ? HAP_MAX_IN : HAP_MAX_OUT)) refuse(x, at, "so many tensors");
        *to = many ? (int)a[k].i : count;
        for (int i = 0; i < *to; i++)
            list[i] =
                (hap_tensor *)(uintptr_t)(many ? ((const void *const *)a[k + 1].p)[i] : a[k + i].p);
        k += many ? 2 : count;
    }
    if (takes->in_place) {
        o.n_out = takes->n_out;
        for (int i = 0; i < o.n_out; i++)
            o.out[i] = o.in[i];
    }
    for (; letters[k]; k++) {
        hap_attr *to = &o.attr[o.n_attr++];
        if (letters[k] == 'd') to->f = a[k].f;
        if (letters[k] == 'G') to->v = *(const hap_ints *)a[k].p;
        if (a[k].kind == V_INT || a[k].kind == V_LONG) to->i = a[k].i;
    }
    hap_line(x->r, x->t.token[at].line);
    hap_op_packed(x->r, &o);
    return nothing();
}

static value make_call(interpreter *x, int name, int at)
{
    value a[MOST_ARGS];
    if (x->calls++ > MOST_CALLS) refuse(x, at, "a program of so many calls");
    if (name == FIRST_CALL) return init(x, at);
    if (name >= FIRST_OP) return run_op(x, (hap_op_id)(name - FIRST_OP), at);
    int k = name - FIRST_CALL;
    read_arguments(x, calls[k].args, a);
    call c = {x, x->r, at, a};
    hap_line(x->r, x->t.token[at].line);
    return calls[k].run(&c);
}

bool runtime_value(interpreter *x, int name, int at, value *v)
{
    if (name < FIRST_CALL || name >= x->n_fixed) return false;
    bool constant = name >= FIRST_CONSTANT && name < FIRST_OP;
    *v =
        constant ? value_of_int(constants[name - FIRST_CONSTANT].i, false) : make_call(x, name, at);
    return true;
}
