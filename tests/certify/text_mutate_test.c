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

// hap_wait(r, coll_…(…));
static bool waits_at_once(const mut *m, const text_call *c)
{
    return is_start(m, c) && text_is(text_of(m->p, c->statement), "hap_wait(r, coll_");
}

// One tensor each way.
static bool has_one(const mut *m, const text_call *c)
{
    return has_wait(m, c) || (waits_at_once(m, c) && only(arg(m, c, 4)).n > 0);
}

static bool has_result(const mut *m, const text_call *c)
{
    return has_wait(m, c) || waits_at_once(m, c);
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
    const text_call *c = choose(m, has_result), *w = c ? wait_of(m, c) : NULL;
    if (c && waits_at_once(m, c)) return replace(m, c->statement, HB_STR(";"));
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
    const text_call *c = choose(m, has_one), *w = c ? wait_of(m, c) : NULL;
    if (!c) return false;
    hb_str dst = only(arg(m, c, 4));
    if (!w) { // in one statement with its start
        hb_str s = text_of(m->p, c->statement), head = HB_STR("hap_wait(r, ");
        hb_str start = {s.p + head.n, s.n - head.n - 2};
        for (const text_call *r = c + 1; r < m->p->calls.p + m->p->calls.n; r++) {
            if (!r->step || !names(text_of(m->p, r->statement), dst)) continue;
            if (!same_function(m, c, r)) return false;
            const text_span at[2] = {c->statement, r->statement};
            const hb_str by[2] = {
                hb_fmt(m->p->a, "hap_event *late = %.*s;", HB_ARG(start)),
                hb_fmt(m->p->a, "%.*s hap_wait(r, late);", HB_ARG(text_of(m->p, r->statement)))};
            m->out = text_edit(m->p, 2, at, by);
            return true;
        }
        return false;
    }
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
    const text_call *c = choose(m, has_one);
    if (!c || only(arg(m, c, 5)).n == 0) return false;
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
        {"coll_all_to_all_start", "coll_reshard_start"},
        {"coll_reshard_start", "coll_all_to_all_start"},
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

// --- the table of buffers

static hb_str part(const mut *m, const text_row *row, int k)
{
    return text_of(m->p, row->part[k]);
}

typedef bool row_fits(const mut *m, const text_row *row);

static const text_row *choose_row(mut *m, row_fits *fits)
{
    int n = m->p->rows.n, at = n > 0 ? pick(m, n) : 0;
    for (int i = 0; i < n; i++) {
        const text_row *row = &m->p->rows.p[(at + i) % n];
        if (fits(m, row)) return row;
    }
    return NULL;
}

static bool is_local(const mut *m, const text_row *row)
{
    return text_is(part(m, row, 2), "AT(");
}

// A buffer behind the end of its segment.
static bool outside(mut *m)
{
    const text_row *row = choose_row(m, is_local);
    return row && replace(m, (text_span){row->part[2].at + 3, 0}, HB_STR("100000000 + "));
}

// How a row repeats: its ONE, EACH, … without the member's name, the last word or the second.
static hb_str repeats(const mut *m, const text_row *row)
{
    hb_str to = part(m, row, 0);
    size_t from = to.n, end = to.n;
    if (text_is(to, "SOME(")) {
        from = (size_t)((const char *)memchr(to.p, ',', to.n) - to.p);
        end = from + 1 + strcspn(to.p + from + 1, ",");
    } else if (text_is(to, "LIST(")) {
        from = strcspn(to.p, "(");
        end = strcspn(to.p, ",");
    } else {
        while (!strchr("(,", to.p[from - 1]))
            from--;
    }
    return hb_fmt(m->p->a, "%.*s%.*s", (int)from, to.p, (int)(to.n - end), to.p + end);
}

// The result of an op lies on its first operand: early reuse of memory.
static bool early_reuse(mut *m)
{
    const text_call *c = choose(m, is_op);
    if (!c || c->n < 3 || in_place(c) || text_is(c->name, "op_reshape") ||
        text_is(c->name, "op_split") || text_is(c->name, "op_full") ||
        text_is(c->name, "op_concat"))
        return false;
    const text_row *y = text_declared(m->p, arg(m, c, 1)), *x = text_declared(m->p, arg(m, c, 2));
    if (!x || !y || x == y || !is_local(m, x) || !is_local(m, y) ||
        !hb_str_eq(repeats(m, x), repeats(m, y)) || hb_str_eq(part(m, x, 2), part(m, y, 2)))
        return false;
    return replace(m, y->part[2], part(m, x, 2));
}

// One whole dim of a shape that an op's tensor has is one larger.
static bool wrong_size(mut *m)
{
    const text_call *c = choose(m, is_op);
    const text_row *row = c ? text_declared(m->p, arg(m, c, 1)) : NULL;
    if (!row) return false;
    hb_str s = part(m, row, 1);
    for (size_t i = 1; i < s.n; i++) {
        if ((s.p[i - 1] != '[' && s.p[i - 1] != ' ') || s.p[i] < '0' || s.p[i] > '9') continue;
        size_t n = strspn(s.p + i, "0123456789");
        if (s.p[i + n] != ' ' && s.p[i + n] != ']') continue;
        return replace(m, (text_span){row->part[1].at + i, n},
                       hb_fmt(m->p->a, "%lld", strtoll(s.p + i, NULL, 10) + 1));
    }
    return false;
}

static bool wrong_dtype(mut *m)
{
    const text_call *c = choose(m, is_op);
    const text_row *row = c ? text_declared(m->p, arg(m, c, 1)) : NULL;
    if (!row) return false;
    hb_str s = part(m, row, 1);
    size_t n = strcspn(s.p, "[") - 1;
    return replace(m, (text_span){row->part[1].at + 1, n},
                   text_is(s, "\"f32[") ? HB_STR("bf16") : HB_STR("f32"));
}

// The name of the first cut in a shape, and where it stands.
static bool cut_in(const mut *m, const text_row *row, hb_str *name, text_span *where)
{
    hb_str s = part(m, row, 1);
    const char *at = memchr(s.p, '@', s.n);
    if (!at) return false;
    *where = (text_span){row->part[1].at + (size_t)(at + 1 - s.p), strcspn(at + 1, " *]")};
    *name = text_of(m->p, *where);
    return true;
}

static bool is_cut(const mut *m, const text_row *row)
{
    hb_str name;
    text_span where;
    return cut_in(m, row, &name, &where);
}

// The shape gets a cut of its own, of the given axis and entries.
static bool other_cut(mut *m, const text_call *cut, text_span where, hb_str axis, const int64_t *v)
{
    hb_buf b = {.arena = m->p->a};
    hb_printf(&b, "HAP_CUT(\"other\", %.*s, %.*s", HB_ARG(axis), HB_ARG(arg(m, cut, 2)));
    for (int e = 3; e < cut->n; e++)
        hb_printf(&b, ", %lld", (long long)v[e - 3]);
    hb_printf(&b, "), %.*s", HB_ARG(cut->name));
    const text_span s[2] = {{(size_t)(cut->name.p - m->p->text.p), cut->name.n}, where};
    m->out = text_edit(m->p, 2, s, (const hb_str[]){hb_done(&b), HB_STR("other")});
    return true;
}

static int entries_of(const mut *m, const text_call *cut, int64_t *v)
{
    for (int e = 3; e < cut->n; e++)
        v[e - 3] = strtoll(arg(m, cut, e).p, NULL, 10);
    return cut->n - 3;
}

// One of two shapes of an op that are cut by one table gets that table with two entries swapped.
static bool swapped_table(mut *m)
{
    const text_call *c = choose(m, is_op);
    hb_str name[2];
    text_span where[2];
    const text_row *row[2];
    int n = 0;
    for (int i = 1; c && i < c->n && n < 2; i++) {
        row[n] = text_declared(m->p, arg(m, c, i));
        if (!row[n] || !cut_in(m, row[n], &name[n], &where[n])) continue;
        n += n == 0 || (row[0] != row[1] && hb_str_eq(name[0], name[1]) &&
                        !hb_str_eq(part(m, row[0], 1), part(m, row[1], 1)));
    }
    const text_call *cut = n == 2 ? text_cut(m->p, name[0]) : NULL;
    if (!cut) return false;
    int64_t v[TEXT_MAX_ARGS], swap;
    int k = entries_of(m, cut, v), i = pick(m, k), j = pick(m, k);
    for (int tries = 0; v[i] == v[j] && tries < 20; tries++)
        j = pick(m, k);
    if (v[i] == v[j]) return false;
    swap = v[i], v[i] = v[j], v[j] = swap;
    return other_cut(m, cut, where[pick(m, 2)], arg(m, cut, 1), v);
}

// A table that does not sum to its factor.
static bool bad_table(mut *m)
{
    const text_row *row = choose_row(m, is_cut);
    hb_str name;
    text_span where;
    if (!row || !cut_in(m, row, &name, &where)) return false;
    const text_call *cut = text_cut(m->p, name);
    return cut && replace(m, (text_span){cut->arg[3].at, 0}, HB_STR("1 + "));
}

// Cut over another axis, or over one instead of both.
static bool wrong_axis(mut *m)
{
    const text_row *row = choose_row(m, is_cut);
    hb_str name;
    text_span where;
    if (!row || !cut_in(m, row, &name, &where)) return false;
    const text_call *cut = text_cut(m->p, name);
    int64_t v[TEXT_MAX_ARGS];
    if (!cut) return false;
    entries_of(m, cut, v);
    return other_cut(m, cut, where, hb_str_is(arg(m, cut, 1), "0") ? HB_STR("1") : HB_STR("0"), v);
}

static bool is_param(const mut *m, const text_row *row)
{
    return row->n == 4 &&
           (text_is(part(m, row, 3), "AS_PARAM(") || text_is(part(m, row, 3), "AS_STATE("));
}

static text_span name_in(const mut *m, const text_row *row)
{
    hb_str s = part(m, row, 3);
    const char *from = memchr(s.p, '"', s.n);
    return (text_span){row->part[3].at + (size_t)(from - s.p), strcspn(from + 1, "\"") + 2};
}

static bool swap_names(mut *m)
{
    const text_row *c = choose_row(m, is_param), *d = choose_row(m, is_param);
    if (!c || c == d) return false;
    const text_span s[2] = {name_in(m, c), name_in(m, d)};
    hb_str x = text_of(m->p, s[0]), y = text_of(m->p, s[1]);
    if (!memchr(x.p, '*', x.n) != !memchr(y.p, '*', y.n)) return false;
    m->out = text_edit(m->p, 2, s, (const hb_str[]){y, x});
    return true;
}

static bool drop_declaration(mut *m)
{
    const text_row *c = choose_row(m, is_param);
    if (!c) return false;
    size_t from = c->part[2].at + c->part[2].n;
    return replace(m, (text_span){from, c->part[3].at + c->part[3].n - from}, HB_STR(" "));
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
    {"outside", outside, 7},
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

// What a command of the shell records; NULL and *why.
static record *record_by(hb_arena *a, const base *b, const char *command, hb_str *why)
{
    const char *log = hb_fmt(a, "%s/log", b->dir).p, *bad = NULL;
    if (system(
            hb_fmt(a, "ASAN_OPTIONS=detect_leaks=0 %s --record %s 2>%s/err", command, log, b->dir)
                .p) != 0) {
        if (!hb_read_file(a, hb_fmt(a, "%s/err", b->dir).p, why, &bad)) *why = HB_STR("?");
        return NULL;
    }
    record *r = record_read(a, log, hb_diag_new(a));
    if (!r) *why = HB_STR("the record cannot be read");
    return r;
}

static hb_str print(hb_arena *a, const record *r)
{
    hb_buf b = {.arena = a};
    record_print(&b, r);
    return hb_done(&b);
}

// Is the program recorded and proved? Else *why. What hap-record reads of it is what it calls.
static bool proved(hb_arena *a, base *b, hb_str *why)
{
    record *r = record_by(a, b, hb_fmt(a, "%s/program", b->dir).p, why);
    hb_str not_read;
    const char *reader = hb_fmt(a, "%s/bin/hap-record %s/program.c", getenv("HAP_BUILD"), b->dir).p;
    record *read = record_by(a, b, reader, &not_read);
    ck_assert_msg(!read == !r, "the program %s, hap-record: %s", r ? "runs" : "does not run",
                  read ? "it does" : not_read.p);
    if (!r) return false;
    ck_assert(hb_str_eq(print(a, r), print(a, read)));
    return syn_check(a, b->g, b->f, r, why);
}

static base begin(int which)
{
    static const char *const graphs[] = {"examples/mlp/graph.json", "examples/gpt2-tiny/graph.json",
                                         "examples/mlp/graph.json"};
    static const char *const goldens[] = {"tests/plans/mlp@laptop3",
                                          "tests/plans/gpt2-tiny@laptop2"};
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
        hb_str program, buffers;
        ck_assert(hb_read_file(b.a, hb_fmt(b.a, "%s.c", goldens[which]).p, &program, &bad));
        ck_assert(hb_read_file(b.a, hb_fmt(b.a, "%s.h", goldens[which]).p, &buffers, &bad));
        b.program_c = text_whole(b.a, program, buffers);
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
        hb_buf text = {.arena = b.a}, buffers = {.arena = b.a};
        emit_program_c(&text, &buffers, &e, NULL);
        b.program_c = text_whole(b.a, hb_done(&text), hb_done(&buffers));
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
