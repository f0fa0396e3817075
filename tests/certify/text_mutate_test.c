// Faults in the text of program.c: each mutant is compiled, recorded and given to the checker,
// which must say no (or the recording runtime, which refuses impossible declarations and
// collectives).
//
// A fault is made only where it cannot be harmless; the reason stands with each kind. Bases are the
// plans of two goldens and a random plan on machines x devices, with factors cut over both axes.

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emit.h"
#include "tests/certify/text_calls.h"
#include "tests/support/program_of_record.h"

enum { N_BASES = 3, PER_KIND = 3 };

typedef struct base {
    hb_arena *a;
    ir_graph *g;
    ir_factors *f;
    hb_str program_c;
    text_program *p;
    const char *dir;
} base;

// --- what mutators share

typedef struct mut {
    const text_program *p;
    uint64_t rng;
    hb_str out; // the mutant
} mut;

static int pick(mut *m, int n)
{
    return (int)(gen_random(&m->rng) % (uint64_t)n);
}

static bool replace(mut *m, text_span s, hb_str by)
{
    m->out = text_edit(m->p, 1, &s, &by);
    return true;
}

typedef bool call_fits(const mut *m, const text_call *c);

// A random call of the step that fits, NULL.
static const text_call *choose(mut *m, call_fits *fits)
{
    int n = m->p->calls.n, at = n > 0 ? pick(m, n) : 0;
    for (int i = 0; i < n; i++) {
        const text_call *c = &m->p->calls.p[(at + i) % n];
        if (fits(m, c)) return c;
    }
    return NULL;
}

static hb_str arg(const mut *m, const text_call *c, int i)
{
    return text_of(m->p, c->arg[i]);
}

static bool is_op(const mut *m, const text_call *c)
{
    (void)m;
    return text_is(c->name, "op_");
}

static bool in_place(const text_call *c)
{
    return text_is(c->name, "op_adam") || text_is(c->name, "op_sgd") ||
           text_is(c->name, "op_momentum");
}

static bool is_start(const mut *m, const text_call *c)
{
    (void)m;
    return text_is(c->name, "coll_");
}

// "&x" -> "x"; NULL text if it is a list.
static hb_str only(hb_str list)
{
    return list.n > 1 && list.p[0] == '&' ? (hb_str){list.p + 1, list.n - 1} : (hb_str){0};
}

static bool names(hb_str text, hb_str word) // as a whole word
{
    for (size_t i = 0; i + word.n <= text.n; i++) {
        if (memcmp(text.p + i, word.p, word.n) != 0) continue;
        char b = i > 0 ? text.p[i - 1] : ' ', e = i + word.n < text.n ? text.p[i + word.n] : ' ';
        if (!strchr("_.>[", b) && !(b >= '0' && b <= '9') && !(b >= 'a' && b <= 'z') &&
            !strchr("_[.", e) && !(e >= '0' && e <= '9') && !(e >= 'a' && e <= 'z'))
            return true;
    }
    return false;
}

static bool same_function(const mut *m, const text_call *a, const text_call *b)
{
    const text_call *first = a < b ? a : b, *last = a < b ? b : a;
    for (size_t i = first->statement.at; i < last->statement.at; i++)
        if (m->p->text.p[i] == '}' && (i == 0 || m->p->text.p[i - 1] == '\n')) return false;
    return true;
}

// The wait for a collective whose event is a variable beside it.
static const text_call *wait_of(const mut *m, const text_call *start)
{
    hb_str s = text_of(m->p, start->statement);
    if (!text_is(s, "hap_event *")) return NULL;
    size_t from = strlen("hap_event *"), n = 0;
    while (s.p[from + n] != ' ')
        n++;
    for (int i = 0; i < m->p->calls.n; i++) {
        const text_call *c = &m->p->calls.p[i];
        if (hb_str_is(c->name, "hap_wait") && hb_str_eq(arg(m, c, 1), (hb_str){s.p + from, n}))
            return c;
    }
    return NULL;
}

static bool has_wait(const mut *m, const text_call *c)
{
    return is_start(m, c) && only(arg(m, c, 4)).n > 0 && only(arg(m, c, 5)).n > 0 && wait_of(m, c);
}

// --- the kinds: true if a mutant was made

// Nothing that a program does is idle: the result of a dropped op is read later.
static bool drop_op(mut *m)
{
    const text_call *c = choose(m, is_op);
    return c && replace(m, c->statement, HB_STR(";"));
}

// A reduction's two lines go; who reads the result finds nothing, or a partial sum.
static bool drop_collective(mut *m)
{
    const text_call *c = choose(m, has_wait), *w = c ? wait_of(m, c) : NULL;
    if (!w) return false;
    const text_span s[2] = {c->statement, w->statement};
    m->out = text_edit(m->p, 2, s, (const hb_str[]){HB_STR(";"), HB_STR(";")});
    return true;
}

static bool is_wait(const mut *m, const text_call *c)
{
    (void)m;
    return hb_str_is(c->name, "hap_wait");
}

static bool drop_wait(mut *m)
{
    const text_call *c = choose(m, is_wait);
    return c && replace(m, c->statement, HB_STR(";"));
}

// The wait stands behind the first reader of the destination.
static bool late_wait(mut *m)
{
    const text_call *c = choose(m, has_wait), *w = c ? wait_of(m, c) : NULL;
    if (!w) return false;
    hb_str dst = only(arg(m, c, 4));
    for (const text_call *r = w + 1; r < m->p->calls.p + m->p->calls.n; r++) {
        if (!r->step || !names(text_of(m->p, r->statement), dst)) continue;
        if (!same_function(m, w, r)) return false;
        const text_span s[2] = {w->statement, r->statement};
        const hb_str by[2] = {HB_STR(";"),
                              hb_fmt(m->p->a, "%.*s %.*s", HB_ARG(text_of(m->p, r->statement)),
                                     HB_ARG(text_of(m->p, w->statement)))};
        m->out = text_edit(m->p, 2, s, by);
        return true;
    }
    return false;
}

// The collective starts before the op that makes its source.
static bool early_start(mut *m)
{
    const text_call *c = choose(m, has_wait);
    if (!c) return false;
    hb_str src = only(arg(m, c, 5));
    for (const text_call *w = c - 1; w >= m->p->calls.p; w--) {
        if (!is_op(m, w) || !hb_str_eq(arg(m, w, 1), src)) continue;
        if (!same_function(m, w, c)) return false;
        const text_span s[2] = {w->statement, c->statement};
        const hb_str by[2] = {hb_fmt(m->p->a, "%.*s %.*s", HB_ARG(text_of(m->p, c->statement)),
                                     HB_ARG(text_of(m->p, w->statement))),
                              HB_STR(";")};
        m->out = text_edit(m->p, 2, s, by);
        return true;
    }
    return false;
}

static bool has_order(const mut *m, const text_call *c) // operands 2 and 3 do not commute
{
    static const char *const ops[] = {"op_linear",     "op_sub",    "op_div",       "op_gelu_bwd",
                                      "op_relu_bwd",   "op_ce_bwd", "op_embedding", "op_row_m2",
                                      "op_row_expsum", "op_norm_"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (text_is(c->name, ops[i]) && c->n > 3 && !text_is(c->name, "op_norm_bwd_"))
            return !hb_str_eq(arg(m, c, 2), arg(m, c, 3));
    return false;
}

static bool swap_operands(mut *m)
{
    const text_call *c = choose(m, has_order);
    if (!c) return false;
    const text_span s[2] = {c->arg[2], c->arg[3]};
    m->out = text_edit(m->p, 2, s, (const hb_str[]){arg(m, c, 3), arg(m, c, 2)});
    return true;
}

// Two ops one after the other, other ops or of other operands, trade results.
static bool swap_outputs(mut *m)
{
    const text_call *c = choose(m, is_op), *d = c ? c + 1 : NULL;
    if (!c || d == m->p->calls.p + m->p->calls.n || !is_op(m, d) || in_place(c) || in_place(d))
        return false;
    bool lists = text_is(c->name, "op_split") || text_is(d->name, "op_split");
    if (lists || !same_function(m, c, d)) return false;
    if (hb_str_eq(c->name, d->name) && hb_str_eq(arg(m, c, 2), arg(m, d, 2))) return false;
    const text_span s[2] = {c->arg[1], d->arg[1]};
    m->out = text_edit(m->p, 2, s, (const hb_str[]){arg(m, d, 1), arg(m, c, 1)});
    return true;
}

static bool wrong_mask(mut *m)
{
    const text_call *c = choose(m, is_start);
    if (!c) return false;
    hb_str axes = arg(m, c, 1);
    return replace(m, c->arg[1],
                   hb_str_is(axes, "AXIS(0)")   ? HB_STR("AXIS(1)")
                   : hb_str_is(axes, "AXIS(1)") ? HB_STR("AXIS(0)")
                                                : HB_STR("AXIS(1)"));
}

static bool wrong_collective(mut *m)
{
    static const char *const to[][2] = {
        {"coll_all_gather_start", "coll_reduce_scatter_start"},
        {"coll_reduce_scatter_start", "coll_all_gather_start"},
        {"coll_all_reduce_start", "coll_all_reduce_max_start"},
        {"coll_all_reduce_max_start", "coll_all_reduce_start"},
        {"coll_all_to_all_start", "coll_recut_start"},
        {"coll_recut_start", "coll_all_to_all_start"},
    };
    const text_call *c = choose(m, is_start);
    for (size_t i = 0; c && i < sizeof to / sizeof *to; i++)
        if (hb_str_is(c->name, to[i][0]))
            return replace(m, (text_span){(size_t)(c->name.p - m->p->text.p), c->name.n},
                           (hb_str){to[i][1], strlen(to[i][1])});
    return false;
}

// A form that the collective has not.
static bool wrong_form(mut *m)
{
    const text_call *c = choose(m, is_start);
    if (!c) return false;
    return replace(m, c->arg[2],
                   text_is(c->name, "coll_all_reduce") ? HB_STR("FORM_PADDED")
                                                       : HB_STR("FORM_FLAT"));
}

static bool has_scratch(const mut *m, const text_call *c)
{
    return is_start(m, c) && !hb_str_is(arg(m, c, 6), "NULL");
}

static bool no_scratch(mut *m)
{
    const text_call *c = choose(m, has_scratch);
    return c && replace(m, c->arg[6], HB_STR("NULL"));
}

static bool is_at(const mut *m, const text_call *c)
{
    (void)m;
    return hb_str_is(c->name, "hap_at");
}

// The entries of `name[...] = {...}`.
static bool table_span(const mut *m, hb_str name, text_span *s)
{
    hb_str head = hb_fmt(m->p->a, "%.*s[", HB_ARG(name));
    for (size_t i = 1; i + head.n < m->p->text.n; i++) {
        char before = m->p->text.p[i - 1];
        if ((before != ' ' && before != '\n') || memcmp(m->p->text.p + i, head.p, head.n) != 0)
            continue;
        const char *open = memchr(m->p->text.p + i, '{', m->p->text.n - i);
        const char *close = open ? memchr(open, '}', 4096) : NULL;
        if (!close) return false;
        *s = (text_span){(size_t)(open + 1 - m->p->text.p), (size_t)(close - open - 1)};
        return true;
    }
    return false;
}

// Offsets off by 64 bytes: no buffer may lie so.
static bool shifted_offset(mut *m)
{
    const text_call *c = choose(m, is_at);
    text_span s;
    if (!c || !table_span(m, arg(m, c, 2), &s)) return false;
    hb_str t = text_of(m->p, s);
    hb_buf b = {.arena = m->p->a};
    for (size_t i = 0; i < t.n; i++) {
        hb_putc(&b, t.p[i]);
        bool digit = t.p[i] >= '0' && t.p[i] <= '9';
        if (digit && (i + 1 == t.n || t.p[i + 1] < '0' || t.p[i + 1] > '9')) hb_puts(&b, " + 64");
    }
    return replace(m, s, hb_done(&b));
}

// The result of an op lies on its first operand: early reuse of memory.
static bool early_reuse(mut *m)
{
    const text_call *c = choose(m, is_op);
    if (!c || c->n < 3 || in_place(c) || text_is(c->name, "op_reshape") ||
        text_is(c->name, "op_split") || text_is(c->name, "op_full") ||
        text_is(c->name, "op_concat"))
        return false;
    const text_call *y = text_declared(m->p, arg(m, c, 1)), *x = text_declared(m->p, arg(m, c, 2));
    if (!x || !y || x == y || !hb_str_eq(x->name, y->name) ||
        !hb_str_eq(arg(m, x, 1), arg(m, y, 1)) || hb_str_eq(arg(m, x, 2), arg(m, y, 2)))
        return false;
    bool layer = hb_str_is(x->name, "hap_at_layer");
    const text_span s[3] = {y->arg[2], y->arg[3], y->arg[4]};
    m->out = text_edit(m->p, layer ? 3 : 1, s,
                       (const hb_str[]){arg(m, x, 2), arg(m, x, 3), arg(m, x, 4)});
    return true;
}

static hb_str shape_of(const mut *m, const text_call *at)
{
    return arg(m, at, at->n - 1);
}

// One dim of a shape that an op's tensor has is one larger.
static bool wrong_size(mut *m)
{
    const text_call *c = choose(m, is_op);
    const text_call *at = c ? text_declared(m->p, arg(m, c, 1)) : NULL;
    text_span s;
    if (!at || !table_span(m, shape_of(m, at), &s)) return false;
    for (size_t i = s.at; i + 6 < s.at + s.n; i++) {
        if (memcmp(m->p->text.p + i, "WHOLE(", 6) != 0) continue;
        return replace(m, (text_span){i, 6}, HB_STR("WHOLE(1 + "));
    }
    return false;
}

static bool wrong_dtype(mut *m)
{
    const text_call *c = choose(m, is_op);
    const text_call *at = c ? text_declared(m->p, arg(m, c, 1)) : NULL;
    if (!at) return false;
    text_span s = at->arg[at->n - 3];
    return replace(m, s,
                   hb_str_is(text_of(m->p, s), "HAP_F32") ? HB_STR("HAP_BF16") : HB_STR("HAP_F32"));
}

// The table name in the first cut of a shape, its axis, and where the table's name stands.
static bool cut_in(const mut *m, hb_str shape, hb_str *table, hb_str *axis, text_span *where)
{
    text_span s;
    if (!table_span(m, shape, &s)) return false;
    hb_str t = text_of(m->p, s);
    for (size_t i = 0; i + 4 < t.n; i++) {
        if (memcmp(t.p + i, "CUT", 3) != 0) continue;
        size_t close = i, comma = 0;
        while (t.p[close] != ')') {
            if (t.p[close] == ',') comma = close;
            close++;
        }
        *where = (text_span){s.at + comma + 2, close - comma - 2};
        *table = text_of(m->p, *where);
        *axis = (hb_str){t.p + i, t.n - i}; // "CUT(0,", "CUT_IN(0,", "CUT2(n," ...
        return true;
    }
    return false;
}

// One of two shapes of an op that are cut by one table gets that table with two entries swapped.
static bool swapped_table(mut *m)
{
    const text_call *c = choose(m, is_op);
    hb_str table[2], axis[2], shape[2];
    text_span where[2], entries;
    int n = 0;
    for (int i = 1; c && i < c->n && n < 2; i++) {
        const text_call *at = text_declared(m->p, arg(m, c, i));
        if (!at || !cut_in(m, shape_of(m, at), &table[n], &axis[n], &where[n])) continue;
        shape[n] = shape_of(m, at);
        n += n == 0 || (!hb_str_eq(shape[0], shape[1]) && hb_str_eq(table[0], table[1]));
    }
    if (n < 2 || !table_span(m, table[0], &entries)) return false;
    int64_t v[64];
    int k = 0;
    hb_str t = text_of(m->p, entries);
    for (const char *at = t.p; at < t.p + t.n && k < 64; k++) {
        char *end;
        v[k] = strtoll(at, &end, 10);
        at = end + strspn(end, ", \n");
    }
    int i = pick(m, k), j = pick(m, k);
    for (int tries = 0; v[i] == v[j] && tries < 20; tries++)
        j = pick(m, k);
    if (v[i] == v[j]) return false;
    hb_buf b = {.arena = m->p->a};
    hb_puts(&b, "((const int64_t[]){");
    for (int e = 0; e < k; e++)
        hb_printf(&b, "%lld, ", (long long)v[e == i ? j : e == j ? i : e]);
    hb_puts(&b, "})");
    return replace(m, where[pick(m, 2)], hb_done(&b));
}

// A table that does not sum to its factor.
static bool bad_table(mut *m)
{
    const text_call *c = choose(m, is_at);
    hb_str table, axis;
    text_span where, entries;
    if (!c || !cut_in(m, shape_of(m, c), &table, &axis, &where) || !table_span(m, table, &entries))
        return false;
    return replace(m, (text_span){entries.at, 0}, HB_STR("1 + "));
}

// Cut over another axis, or over one instead of both.
static bool wrong_axis(mut *m)
{
    const text_call *c = choose(m, is_at);
    hb_str table, axis;
    text_span where;
    if (!c || !cut_in(m, shape_of(m, c), &table, &axis, &where)) return false;
    text_span s = {(size_t)(axis.p - m->p->text.p), 6};
    if (text_is(axis, "CUT2_IN")) return replace(m, (text_span){s.at, 8}, HB_STR("CUT_IN(0, "));
    if (text_is(axis, "CUT2")) return replace(m, (text_span){s.at, 5}, HB_STR("CUT(0, "));
    if (text_is(axis, "CUT(0")) return replace(m, s, HB_STR("CUT(1,"));
    if (text_is(axis, "CUT(1")) return replace(m, s, HB_STR("CUT(0,"));
    return false;
}

static bool is_param(const mut *m, const text_call *c)
{
    (void)m;
    return hb_str_is(c->name, "hap_param") || hb_str_is(c->name, "hap_state");
}

static bool swap_names(mut *m)
{
    const text_call *c = choose(m, is_param), *d = choose(m, is_param);
    if (!c || c == d || text_is(arg(m, c, 1), "hap_name") || text_is(arg(m, d, 1), "hap_name"))
        return false;
    const text_span s[2] = {c->arg[1], d->arg[1]};
    m->out = text_edit(m->p, 2, s, (const hb_str[]){arg(m, d, 1), arg(m, c, 1)});
    return true;
}

static bool drop_declaration(mut *m)
{
    const text_call *c = choose(m, is_param);
    return c && replace(m, c->statement, HB_STR(";"));
}

static bool is_optimizer(const mut *m, const text_call *c)
{
    (void)m;
    return in_place(c);
}

static bool wrong_number(mut *m) // a weight decay, a beta, an epsilon
{
    const text_call *c = choose(m, is_optimizer);
    if (!c) return false;
    text_span s = c->arg[c->n - 2 - pick(m, 3)];
    return replace(m, s, hb_fmt(m->p->a, "0.01 + %.*s", HB_ARG(text_of(m->p, s))));
}

static bool is_loss(const mut *m, const text_call *c)
{
    (void)m;
    return hb_str_is(c->name, "hap_loss");
}

static bool wrong_loss(mut *m)
{
    const text_call *c = choose(m, is_loss), *d = choose(m, is_op);
    if (!c || !d || hb_str_eq(arg(m, c, 1), arg(m, d, 1)) || text_is(arg(m, d, 1), "b->") ||
        text_is(d->name, "op_split") || memchr(arg(m, d, 1).p, '[', arg(m, d, 1).n))
        return false;
    return replace(m, c->arg[1], arg(m, d, 1));
}

// One block of a loop is left out.
static bool short_loop(mut *m)
{
    static const char *const head = "for (int i = 0; i < ";
    hb_str t = m->p->text;
    const char *step = strstr(t.p, "while (hap_next_step"), *at = step ? strstr(step, head) : NULL;
    return at &&
           replace(m, (text_span){(size_t)(at - t.p) + strlen("for (int i = "), 1}, HB_STR("1"));
}

static const struct {
    const char *name;
    bool (*make)(mut *m);
    int bases; // of which bases a mutant is wanted
} kinds[] = {
    {"drop_op", drop_op, 7},
    {"drop_collective", drop_collective, 7},
    {"drop_wait", drop_wait, 7},
    {"late_wait", late_wait, 7},
    {"early_start", early_start, 5},
    {"swap_operands", swap_operands, 7},
    {"swap_outputs", swap_outputs, 7},
    {"wrong_mask", wrong_mask, 7},
    {"wrong_collective", wrong_collective, 7},
    {"wrong_form", wrong_form, 7},
    {"no_scratch", no_scratch, 1},
    {"shifted_offset", shifted_offset, 7},
    {"early_reuse", early_reuse, 7},
    {"wrong_size", wrong_size, 7},
    {"wrong_dtype", wrong_dtype, 7},
    {"swapped_table", swapped_table, 5},
    {"bad_table", bad_table, 7},
    {"wrong_axis", wrong_axis, 4},
    {"swap_names", swap_names, 7},
    {"drop_declaration", drop_declaration, 7},
    {"wrong_number", wrong_number, 7},
    {"wrong_loss", wrong_loss, 7},
    {"short_loop", short_loop, 2},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

// --- the run of one program

static bool compiles(base *b, hb_str text)
{
    const char *lib = hb_fmt(b->a, "%s/lib/pkgconfig", getenv("HAP_BUILD")).p;
    ck_assert(hb_write_file(hb_fmt(b->a, "%s/program.c", b->dir).p, text));
    const char *cc = hb_fmt(b->a,
                            "cd %s && PKG_CONFIG_PATH=%s ${CC:-cc} -std=c11 -O0 -w program.c -o "
                            "program $(PKG_CONFIG_PATH=%s pkg-config --cflags --libs haprt-record)",
                            b->dir, lib, lib)
                         .p;
    return system(cc) == 0;
}

// Is the program recorded and proved? Else *why.
static bool proved(hb_arena *a, base *b, hb_str *why)
{
    const char *log = hb_fmt(a, "%s/log", b->dir).p;
    const char *run = hb_fmt(a, "ASAN_OPTIONS=detect_leaks=0 %s/program --record %s 2>%s/err",
                             b->dir, log, b->dir)
                          .p;
    if (system(run) != 0) {
        const char *bad = NULL;
        if (!hb_read_file(a, hb_fmt(a, "%s/err", b->dir).p, why, &bad)) *why = HB_STR("?");
        return false;
    }
    hb_diag *d = hb_diag_new(a);
    const record *r = record_read(a, log, d);
    if (!r) {
        *why = HB_STR("the record cannot be read");
        return false;
    }
    return syn_check(a, b->g, b->f, r, why);
}

static base begin(int which)
{
    static const char *const graphs[] = {"examples/mlp/graph.json", "examples/gpt2-tiny/graph.json",
                                         "examples/mlp/graph.json"};
    static const char *const goldens[] = {"tests/plans/mlp@laptop3.c",
                                          "tests/plans/gpt2-tiny@laptop2.c"};
    base b = {.a = hb_arena_new()};
    hb_diag *d = hb_diag_new(b.a);
    const char *bad = NULL;
    b.g = ir_build(b.a, graphs[which], &(ir_options){0}, d);
    ck_assert_ptr_nonnull(b.g);
    b.f = ir_factorize(b.a, b.g);
    char dir[] = "/tmp/text_mutate.XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(dir));
    b.dir = hb_str_c(b.a, dir).p;
    if (which < 2) {
        ck_assert(hb_read_file(b.a, goldens[which], &b.program_c, &bad));
    } else {
        gen_options o = {.n_axes = 2, .size = {2, 2}, .n_classes = 2, .cut_percent = 90, .seed = 3};
        gen_trace trace = {0};
        cl_cluster *c = cl_read(b.a, "clusters/laptop2x2.yaml", "clusters/devices.yaml", d);
        record *r = gen_record(b.a, b.g, b.f, &o, &trace);
        syn_result res = {.program = NULL};
        emit_plan e = {.res = &res, .command = HB_STR("hapc"), .version = HB_STR("0")};
        e.p = program_of_record(b.a, b.g, b.f, c, (const int[]){0, 1}, r, &trace);
        res.timeline.begin = HB_ARRAY(b.a, double, e.p->instr.n *CL_MAX_CLASSES + 1);
        res.timeline.end = HB_ARRAY(b.a, double, e.p->instr.n *CL_MAX_CLASSES + 1);
        e.graph_path = e.cluster_path = HB_STR("x");
        hb_buf text = {.arena = b.a};
        emit_program_c(&text, &e, NULL);
        b.program_c = hb_done(&text);
    }
    b.p = text_read(b.a, b.program_c);
    hb_str why;
    ck_assert(compiles(&b, b.p->text));
    bool right = proved(b.a, &b, &why);
    ck_assert_msg(right, "the program itself: %.*s", HB_ARG(why));
    return b;
}

START_TEST(every_fault_is_rejected)
{
    base b = begin(_i);
    int total = 0, accepted = 0;
    for (int k = 0; k < N_KINDS; k++) {
        int made = 0;
        hb_str seen[PER_KIND];
        for (uint64_t seed = 1; seed <= 60 && made < PER_KIND; seed++) {
            mut m = {.p = b.p, .rng = seed * 1000 + (uint64_t)k};
            hb_str why = {0};
            bool again = false;
            if (!kinds[k].make(&m)) continue;
            for (int i = 0; i < made; i++)
                again = again || hb_str_eq(seen[i], m.out);
            if (again) continue;
            seen[made++] = m.out;
            ck_assert_msg(compiles(&b, m.out), "%s, seed %d: does not compile", kinds[k].name,
                          (int)seed);
            total++;
            hb_arena *one = hb_arena_new();
            if (proved(one, &b, &why)) {
                accepted++;
                fprintf(stderr, "accepted: base %d, %s, seed %d\n", _i, kinds[k].name, (int)seed);
            } else if (getenv("MUTATE_PRINT")) {
                fprintf(stderr, "%-18s %.*s\n", kinds[k].name, HB_ARG(why));
            }
            hb_arena_free(one);
        }
        bool wanted = kinds[k].bases >> _i & 1;
        ck_assert_msg(made > 0 || !wanted, "base %d: no mutant of kind %s", _i, kinds[k].name);
    }
    ck_assert_int_eq(system(hb_fmt(b.a, "rm -r %s", b.dir).p), 0);
    printf("%d wrong texts rejected\n", total - accepted);
    ck_assert_int_eq(accepted, 0);
    ck_assert_int_ge(total, 45);
    hb_arena_free(b.a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("text_mutate");
    TCase *t = tcase_create("programs");
    tcase_set_timeout(t, 240);
    tcase_add_loop_test(t, every_fault_is_rejected, 0, N_BASES);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
