// Values: whole numbers as C has them, in int or int64_t, and refused where they leave it; reals;
// tensors, events and lists of them.

#include <limits.h>
#include <string.h>

#include "interpret/interpret.h"

value value_of_int(int64_t i, bool wide)
{
    return (value){.kind = wide ? V_LONG : V_INT, .i = i};
}

static bool is_int(const value *v)
{
    return v->kind == V_INT || v->kind == V_LONG;
}

// --- lists ---

typedef struct list {
    void *p;
    int n, cap;
} list;

static void *add(list *l, int64_t item)
{
    if (l->n == l->cap) {
        int cap = l->cap ? 2 * l->cap : 16;
        void *more = take_memory(cap * item);
        if (l->n) memcpy(more, l->p, (size_t)(l->n * item));
        l->p = more;
        l->cap = cap;
    }
    return (char *)l->p + l->n++ * item;
}

// Behind an item: true if another one follows.
static bool more_items(interpreter *x, int end)
{
    if (take_sign(x, ',')) return !take_sign(x, end);
    want_sign(x, end);
    return false;
}

value read_longs(interpreter *x, int end)
{
    enum { MOST = 1 << 24 };
    list l = {0};
    bool more = !take_sign(x, end);
    while (more) {
        int times = 1, at = x->at;
        const token *k = next_token(x);
        if (k->kind == TOK_NAME && k->name >= W_HAP_X4 && k->name <= W_HAP_X1024) {
            times = 4 << (k->name - W_HAP_X4);
            x->at++;
            want_sign(x, '(');
        }
        int64_t i = read_int(x);
        if (times > 1) want_sign(x, ')');
        if (l.n > MOST) refuse(x, at, "a list of so many numbers");
        for (; times > 0; times--)
            *(int64_t *)add(&l, sizeof(int64_t)) = i;
        more = more_items(x, end);
    }
    return (value){.kind = V_LONG_LIST, .p = l.p, .n = l.n};
}

value ints_of(const interpreter *x, int at, value longs)
{
    const int64_t *from = longs.p;
    int *to = take_memory((longs.n + 1) * (int64_t)sizeof *to);
    for (int i = 0; i < longs.n; i++) {
        if (from[i] < INT_MIN || from[i] > INT_MAX) refuse(x, at, "a number too large for an int");
        to[i] = (int)from[i];
    }
    return (value){.kind = V_INT_LIST, .p = to, .n = longs.n};
}

value read_triples(interpreter *x, int end)
{
    list l = {0};
    bool more = !take_sign(x, end);
    while (more) {
        int at = x->at;
        want_sign(x, '{');
        value one = read_longs(x, '}');
        if (one.n < 1 || one.n > 3) refuse(x, at, "a group of %d numbers", one.n);
        int64_t *to = add(&l, 3 * sizeof(int64_t));
        memcpy(to, one.p, (size_t)one.n * sizeof *to);
        more = more_items(x, end);
    }
    return (value){.kind = V_TRIPLES, .p = l.p, .n = l.n};
}

value read_tensors(interpreter *x, int end)
{
    list l = {0};
    bool more = !take_sign(x, end);
    while (more) {
        int at = x->at;
        value v = read_value(x);
        if (v.kind != V_TENSOR && v.kind != V_NULL) refuse(x, at, "no tensor here");
        *(const void **)add(&l, sizeof(void *)) = v.p;
        more = more_items(x, end);
    }
    return (value){.kind = V_TENSORS, .p = l.p, .n = l.n};
}

static value read_events(interpreter *x, int end)
{
    list l = {0};
    bool more = !take_sign(x, end);
    while (more) {
        int at = x->at;
        value v = read_value(x);
        if (v.kind != V_EVENT && v.kind != V_NULL) refuse(x, at, "no event here");
        *(const void **)add(&l, sizeof(void *)) = v.p;
        more = more_items(x, end);
    }
    return (value){.kind = V_EVENTS, .p = l.p, .n = l.n};
}

// --- one thing in parentheses: a cast, a list, a struct ---

// (hap_lr){.lr = 0.001, .warmup = 4}
static value read_rate(interpreter *x)
{
    hap_lr *rate = take_memory(sizeof *rate);
    want_sign(x, '{');
    bool more = !take_sign(x, '}');
    while (more) {
        want_sign(x, '.');
        int at = x->at++;
        if (x->t.token[at].kind != TOK_NAME) refuse(x, at, "no name here");
        const char *name = name_at(x, at);
        want_sign(x, '=');
        value v = read_value(x);
        bool found = false;
        if (!is_int(&v) && v.kind != V_REAL) refuse(x, at, "no number for .%s", name);
#define I rate_int
#define R rate_real
#define rate_int(to)                                                                               \
    if (!is_int(&v)) refuse(x, at, "no whole number for .%s", name);                               \
    to = v.i
#define rate_real(to) to = is_int(&v) ? (double)v.i : v.f
#define SCHEDULE(field, kind)                                                                      \
    if (!strcmp(name, #field)) {                                                                   \
        found = true;                                                                              \
        kind(rate->field);                                                                         \
    }
#include "hap/schedule.def"
#undef SCHEDULE
#undef I
#undef R
        if (!found) refuse(x, at, "a rate has no .%s", name);
        more = more_items(x, '}');
    }
    return (value){.kind = V_RATE, .p = rate};
}

static value hap_ints_of(value longs)
{
    hap_ints *v = take_memory(sizeof *v);
    *v = (hap_ints){longs.n, longs.p};
    return (value){.kind = V_INTS, .p = v};
}

// Behind its "(": "const int[]){3, 4}", "int)(m % 2)", "hap_tensor *const[]){a, b}".
static value read_typed(interpreter *x)
{
    int at = x->at;
    bool fixed = take_word(x, W_const), wide = is_word(x, W_int64_t);
    if (take_word(x, W_int) || take_word(x, W_int64_t)) {
        if (take_sign(x, ')')) { // a cast
            value v = read_value(x);
            if (fixed || !is_int(&v)) refuse(x, at, "a cast of this");
            if (!wide && (v.i < INT_MIN || v.i > INT_MAX)) refuse(x, at, "it is too large for int");
            return value_of_int(v.i, wide);
        }
        want_sign(x, '[');
        want_sign(x, ']');
        bool three = take_sign(x, '[');
        if (three) {
            if (!wide || read_int(x) != 3) refuse(x, at, "a table like this one");
            want_sign(x, ']');
        }
        want_sign(x, ')');
        want_sign(x, '{');
        if (three) return read_triples(x, '}');
        value v = read_longs(x, '}');
        return wide ? v : ints_of(x, at, v);
    }
    if (!fixed && (take_word(x, W_hap_tensor) || take_word(x, W_hap_event))) {
        bool events = x->t.token[x->at - 1].name == W_hap_event;
        want_sign(x, '*');
        take_word(x, W_const);
        want_sign(x, '[');
        want_sign(x, ']');
        want_sign(x, ')');
        want_sign(x, '{');
        return events ? read_events(x, '}') : read_tensors(x, '}');
    }
    if (!fixed && take_word(x, W_hap_lr)) {
        want_sign(x, ')');
        return read_rate(x);
    }
    if (!fixed && take_word(x, W_hap_ints)) { // (hap_ints){0, NULL}
        want_sign(x, ')');
        want_sign(x, '{');
        if (read_int(x) != 0) refuse(x, at, "a list that is not HAP_INTS(...)");
        want_sign(x, ',');
        want_word(x, W_NULL);
        want_sign(x, '}');
        return hap_ints_of((value){0});
    }
    refuse(x, at, "a cast to this");
}

hap_fill read_fill(interpreter *x)
{
    static const struct {
        word w;
        int kind, n;
    } fills[] = {
        {W_HAP_FILL, 0, 1}, {W_HAP_NORMAL, 1, 2}, {W_HAP_UNIFORM, 2, 2}, {W_HAP_IOTA, 3, 2}};
    for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
        if (!take_word(x, fills[i].w)) continue;
        double number[2] = {0};
        for (int k = 0; k < fills[i].n; k++) {
            want_sign(x, k ? ',' : '(');
            value v = read_value(x);
            if (!is_int(&v) && v.kind != V_REAL) refuse(x, x->at - 1, "no number here");
            number[k] = is_int(&v) ? (double)v.i : v.f;
        }
        want_sign(x, ')');
        return (hap_fill){fills[i].kind, number[0], number[1]};
    }
    refuse(x, x->at, "no fill here");
}

// --- names ---

static value variable(const symbol *s)
{
    value v = s->v;
    if (!s->alone) return v;
    if (v.kind == V_TENSORS) {
        hap_tensor **cell = (hap_tensor **)(uintptr_t)v.p;
        return (value){.kind = V_TENSOR, .p = *cell, .cell = cell};
    }
    hap_event **cell = (hap_event **)(uintptr_t)v.p;
    return (value){.kind = V_EVENT, .p = *cell, .event = cell};
}

static value read_macro(interpreter *x, word w, int at)
{
    if (w >= W_HAP_FILL && w <= W_HAP_IOTA) {
        hap_fill *fill = take_memory(sizeof *fill);
        x->at = at;
        *fill = read_fill(x);
        return (value){.kind = V_FILL, .p = fill};
    }
    want_sign(x, '(');
    if (w == W_HAP_INTS) return hap_ints_of(read_longs(x, ')'));
    value v = read_value(x);
    want_sign(x, ')');
    if (w == W_HAP_N) {
        if (v.kind < V_TENSORS || v.kind > V_BLOCKS) {
            if (v.kind < V_CUTS || v.kind > V_SLOTS) refuse(x, at, "HAP_N of what is no array");
        }
        return value_of_int(v.n, false);
    }
    if (!is_int(&v) || v.i < 0) refuse(x, at, "no number from 0 on");
    if (w == W_AXIS) {
        if (v.i > 30) refuse(x, at, "an axis of this number");
        return value_of_int((int64_t)AXIS(v.i), false);
    }
    if (v.i > 1 << 20) refuse(x, at, "so many copies");
    return value_of_int((int64_t)FORM_PUT(v.i), false);
}

static value read_name(interpreter *x)
{
    int at = x->at++, name = x->t.token[at].name;
    const value *own = bound(x, name);
    value v;
    if (own) return *own;
    if (name == W_NULL) return (value){.kind = V_NULL};
    if (name == W_true || name == W_false) return value_of_int(name == W_true, false);
    if (name == W_HAP_N || name == W_HAP_INTS || name == W_AXIS || name == W_FORM_PUT ||
        (name >= W_HAP_FILL && name <= W_HAP_IOTA))
        return read_macro(x, (word)name, at);
    if (x->runtime(x, name, at, &v)) return v;
    const symbol *s = &x->symbol[name];
    if (s->kind != S_NONE && s->declared > at)
        refuse(x, at, "'%s' before it is declared", x->t.name[name]);
    if (s->kind == S_VALUE) return variable(s);
    if (s->kind == S_FUNCTION) return x->function(x, name, at);
    refuse(x, at, "'%s'", x->t.name[name]);
}

static value element(const interpreter *x, int at, const value *v, int64_t i)
{
    if (i < 0 || i >= v->n) refuse(x, at, "element %lld of %d", (long long)i, v->n);
    if (v->kind == V_INT_LIST) return value_of_int(((const int *)v->p)[i], false);
    if (v->kind == V_LONG_LIST) return value_of_int(((const int64_t *)v->p)[i], true);
    if (v->kind == V_SLOTS) return (value){.kind = V_SLOT, .p = (const hap_slot *)v->p + i};
    if (v->kind == V_TENSORS) {
        hap_tensor **cell = (hap_tensor **)(uintptr_t)v->p + i;
        return (value){.kind = V_TENSOR, .p = *cell, .cell = cell};
    }
    if (v->kind == V_EVENTS) {
        hap_event **cell = (hap_event **)(uintptr_t)v->p + i;
        return (value){.kind = V_EVENT, .p = *cell, .event = cell};
    }
    if (v->kind != V_BLOCKS) refuse(x, at, "an element of what is no array");
    hap_tensor **first = (hap_tensor **)(uintptr_t)v->p + i * v->of->n;
    return (value){.kind = V_BLOCK, .p = first, .n = v->n - (int)i, .of = v->of};
}

static value member(const interpreter *x, int at, const value *v, int name)
{
    if (v->kind == V_SLOT) {
        const hap_slot *s = v->p;
        if (name == W_m) return value_of_int(s->m, true);
        if (name == W_back) return value_of_int(s->back, false);
        if (name == W_weights) return value_of_int(s->weights, false);
        refuse(x, at, "a slot has no such member");
    }
    for (int i = 0; i < v->of->n; i++) {
        if (v->of->member[i] != name) continue;
        hap_tensor **cell = (hap_tensor **)(uintptr_t)v->p + i;
        return (value){.kind = V_TENSOR, .p = *cell, .cell = cell};
    }
    refuse(x, at, "the block has no such member");
}

static value read_primary(interpreter *x)
{
    const token *k = next_token(x);
    int at = x->at;
    if (k->kind == TOK_NAME) return read_name(x);
    x->at++;
    if (k->kind == TOK_INT) return value_of_int(k->i, k->i > INT_MAX);
    if (k->kind == TOK_REAL) return (value){.kind = V_REAL, .f = k->f};
    if (k->kind == TOK_TEXT) return (value){.kind = V_TEXT, .p = k->text};
    if (k->kind != TOK_SIGN || k->sign != '(') refuse(x, at, "an expression like this one");
    if (is_word(x, W_const) ||
        (next_token(x)->kind == TOK_NAME && next_token(x)->name >= W_int &&
         next_token(x)->name <= W_unsigned) ||
        is_word(x, W_hap_tensor) || is_word(x, W_hap_event) || is_word(x, W_hap_ints) ||
        is_word(x, W_hap_lr))
        return read_typed(x);
    value v = read_value(x);
    want_sign(x, ')');
    return v;
}

static value read_suffixed(interpreter *x)
{
    value v = read_primary(x);
    for (;;) {
        int at = x->at;
        bool dot = is_sign(x, '.'), arrow = is_sign(x, SIGN2('-', '>'));
        if (take_sign(x, '[')) {
            int64_t i = read_int(x);
            want_sign(x, ']');
            v = element(x, at, &v, i);
        } else if (dot || arrow) {
            x->at++;
            bool good = arrow ? v.kind == V_BLOCK_AT : v.kind == V_BLOCK || v.kind == V_SLOT;
            if (!good || next_token(x)->kind != TOK_NAME) refuse(x, at, "a member of this");
            v = member(x, x->at, &v, next_token(x)->name);
            x->at++;
        } else {
            return v;
        }
    }
}

static value read_unary(interpreter *x)
{
    int at = x->at;
    if (take_sign(x, '&')) {
        if (is_word(x, W_argc) || is_word(x, W_argv)) {
            x->at++;
            return (value){.kind = V_MAIN, .i = x->t.token[x->at - 1].name};
        }
        value v = read_suffixed(x);
        if (v.kind == V_TENSOR && v.cell) return (value){.kind = V_TENSORS, .p = v.cell, .n = 1};
        if (v.kind != V_BLOCK) refuse(x, at, "the address of this");
        v.kind = V_BLOCK_AT;
        return v;
    }
    bool minus = is_sign(x, '-'), no = is_sign(x, '!');
    if (!minus && !no) return read_suffixed(x);
    x->at++;
    value v = read_unary(x);
    if (minus && v.kind == V_REAL) {
        v.f = -v.f;
        return v;
    }
    if (!is_int(&v)) refuse(x, at, "a sign before this");
    if (no) return value_of_int(!v.i, false);
    if (v.i == (v.kind == V_LONG ? INT64_MIN : INT_MIN)) refuse(x, at, "a number too large");
    return value_of_int(-v.i, v.kind == V_LONG);
}

static int binds(const interpreter *x)
{
    static const struct {
        int sign, binds;
    } signs[] = {{SIGN2('|', '|'), 1},
                 {SIGN2('&', '&'), 2},
                 {'|', 3},
                 {SIGN2('=', '='), 4},
                 {SIGN2('!', '='), 4},
                 {'<', 5},
                 {SIGN2('<', '='), 5},
                 {'>', 5},
                 {SIGN2('>', '='), 5},
                 {'+', 6},
                 {'-', 6},
                 {'*', 7},
                 {'/', 7},
                 {'%', 7}};
    const token *k = next_token(x);
    for (size_t i = 0; k->kind == TOK_SIGN && i < sizeof signs / sizeof *signs; i++)
        if (signs[i].sign == k->sign) return signs[i].binds;
    return 0;
}

static value of_reals(const interpreter *x, int at, int sign, double a, double b)
{
    double f = sign == '+' ? a + b : sign == '-' ? a - b : sign == '*' ? a * b : a / b;
    if (!strchr("+-*/", sign)) refuse(x, at, "reals here");
    return (value){.kind = V_REAL, .f = f};
}

static value of_ints(const interpreter *x, int at, int sign, const value *a, const value *b)
{
    bool wide = a->kind == V_LONG || b->kind == V_LONG, over = false;
    int64_t i = 0, u = a->i, v = b->i;
    switch (sign) {
    case '+':
        over = __builtin_add_overflow(u, v, &i);
        break;
    case '-':
        over = __builtin_sub_overflow(u, v, &i);
        break;
    case '*':
        over = __builtin_mul_overflow(u, v, &i);
        break;
    case '/':
    case '%':
        over = v == 0 || (v == -1 && u == INT64_MIN);
        if (!over) i = sign == '/' ? u / v : u % v;
        break;
    case '|':
        over = u < 0 || v < 0;
        i = u | v;
        break;
    default:
        wide = false;
        i = sign == '<'               ? u < v
            : sign == '>'             ? u > v
            : sign == SIGN2('<', '=') ? u <= v
            : sign == SIGN2('>', '=') ? u >= v
            : sign == SIGN2('=', '=') ? u == v
            : sign == SIGN2('!', '=') ? u != v
            : sign == SIGN2('&', '&') ? u && v
                                      : u || v;
    }
    if (over || (!wide && (i < INT_MIN || i > INT_MAX))) refuse(x, at, "a number C has not");
    return value_of_int(i, wide);
}

static value read_binary(interpreter *x, int least)
{
    value a = read_unary(x);
    for (int b; (b = binds(x)) >= least;) {
        int at = x->at++, sign = x->t.token[at].sign;
        value c = read_binary(x, b + 1);
        bool ints = is_int(&a) && is_int(&c);
        if (!ints && !((is_int(&a) || a.kind == V_REAL) && (is_int(&c) || c.kind == V_REAL)))
            refuse(x, at, "such an operation on this");
        a = ints ? of_ints(x, at, sign, &a, &c)
                 : of_reals(x, at, sign, is_int(&a) ? (double)a.i : a.f,
                            is_int(&c) ? (double)c.i : c.f);
    }
    return a;
}

value read_value(interpreter *x)
{
    return read_binary(x, 1);
}

int64_t read_int(interpreter *x)
{
    int at = x->at;
    value v = read_value(x);
    if (!is_int(&v)) refuse(x, at, "no whole number here");
    return v.i;
}
