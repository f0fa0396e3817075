#include "tests/certify/text_calls.h"

#include <ctype.h>
#include <string.h>

bool text_is(hb_str s, const char *prefix)
{
    return s.n >= strlen(prefix) && memcmp(s.p, prefix, strlen(prefix)) == 0;
}

hb_str text_of(const text_program *p, text_span s)
{
    return (hb_str){p->text.p + s.at, s.n};
}

static hb_str without_comments(hb_arena *a, hb_str s)
{
    hb_buf b = {.arena = a};
    bool quoted = false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"' && (i == 0 || s.p[i - 1] != '\\')) quoted = !quoted;
        if (!quoted && s.p[i] == '/' && i + 1 < s.n && s.p[i + 1] == '/')
            while (i < s.n && s.p[i] != '\n')
                i++;
        if (i < s.n) hb_putc(&b, s.p[i]);
    }
    return hb_done(&b);
}

static text_span trimmed(const text_program *p, size_t from, size_t to)
{
    while (from < to && isspace((unsigned char)p->text.p[from]))
        from++;
    while (to > from && isspace((unsigned char)p->text.p[to - 1]))
        to--;
    return (text_span){from, to - from};
}

// Arguments from the opening parenthesis on; where the closing one is.
static size_t read_args(text_program *p, size_t open, text_call *c)
{
    int depth = 0;
    bool quoted = false;
    size_t from = open + 1, i = open;
    for (; i < p->text.n; i++) {
        char x = p->text.p[i];
        if (x == '"') quoted = !quoted;
        if (quoted) continue;
        if (x == '(' || x == '{' || x == '[') depth++;
        if (x == ')' || x == '}' || x == ']') depth--;
        if ((depth == 1 && x == ',') || depth == 0) {
            hb_assert(c->n < TEXT_MAX_ARGS);
            c->arg[c->n++] = trimmed(p, from, i);
            from = i + 1;
        }
        if (depth == 0) break;
    }
    return i;
}

static void read_rows(text_program *p)
{
    const char *table = strstr(p->text.p, "hap_place buffers[] = {");
    if (!table) return;
    size_t i = (size_t)(strchr(table, '{') - p->text.p) + 1;
    for (;; i++) {
        while (strchr(" \n,", p->text.p[i]))
            i++;
        if (p->text.p[i] != '{') return;
        text_call c = {.n = 0};
        i = read_args(p, i, &c);
        text_row row = {.n = c.n};
        hb_assert(c.n >= 3 && c.n <= 4);
        for (int k = 0; k < c.n; k++)
            row.part[k] = c.arg[k];
        HB_PUSH(p->a, &p->rows, row);
    }
}

hb_str text_whole(hb_arena *a, hb_str program_c, hb_str buffers_h)
{
    const char *include = "#include \"buffers.h\"\n", *at = strstr(program_c.p, include);
    hb_assert(at);
    return hb_fmt(a, "%.*s%.*s%s", (int)(at - program_c.p), program_c.p, HB_ARG(buffers_h),
                  at + strlen(include));
}

text_program *text_read(hb_arena *a, hb_str program_c)
{
    text_program *p = HB_NEW(a, text_program);
    p->a = a;
    p->text = without_comments(a, program_c);
    for (size_t i = 1; i < p->text.n; i++) {
        hb_str rest = {p->text.p + i, p->text.n - i};
        char before = p->text.p[i - 1];
        if (isalnum((unsigned char)before) || before == '_') continue;
        if (!text_is(rest, "op_") && !text_is(rest, "coll_") && !text_is(rest, "hap_") &&
            !text_is(rest, "HAP_CUT("))
            continue;
        size_t n = 0;
        while (n < rest.n && (isalnum((unsigned char)rest.p[n]) || rest.p[n] == '_'))
            n++;
        if (n == rest.n || rest.p[n] != '(') continue;
        text_call c = {.name = {rest.p, n}};
        c.step = rest.p[0] == 'o' || rest.p[0] == 'c' || text_is(c.name, "hap_wait") ||
                 hb_str_is(c.name, "hap_cut") || hb_str_is(c.name, "hap_partial");
        size_t from = i, to = read_args(p, i + n, &c) + 1;
        while (from > 0 && !strchr(";{}", p->text.p[from - 1]))
            from--;
        while (to < p->text.n && p->text.p[to] != ';')
            to++;
        c.statement = trimmed(p, from, to + 1);
        HB_PUSH(a, &p->calls, c);
        i += n;
    }
    read_rows(p);
    return p;
}

hb_str text_edit(const text_program *p, int n, const text_span *span, const hb_str *by)
{
    hb_buf b = {.arena = p->a};
    size_t at = 0;
    for (int done = 0; done < n; done++) {
        int next = -1; // the first one that is left
        for (int i = 0; i < n; i++)
            if (span[i].at >= at && (next < 0 || span[i].at < span[next].at)) next = i;
        hb_assert(next >= 0);
        hb_putn(&b, p->text.p + at, span[next].at - at);
        hb_putn(&b, by[next].p, by[next].n);
        at = span[next].at + (span[next].n ? span[next].n : 1);
        if (span[next].n == 0) hb_putc(&b, p->text.p[span[next].at]);
    }
    hb_putn(&b, p->text.p + at, p->text.n - at);
    return hb_done(&b);
}

// "EACH(h, ln_1)" for "b->ln_1" and "h[3].ln_1", "ONE(x)" for "x", "LIST(x, 2)" for "x[i]".
static bool declares(hb_arena *a, hb_str to, hb_str tensor)
{
    if (hb_str_eq(to, hb_fmt(a, "ONE(%.*s)", HB_ARG(tensor)))) return true;
    const char *dot = memchr(tensor.p, '.', tensor.n), *open = memchr(tensor.p, '[', tensor.n);
    hb_str member = {0};
    if (text_is(tensor, "b->"))
        member = (hb_str){tensor.p + 3, tensor.n - 3};
    else if (dot)
        member = (hb_str){dot + 1, tensor.n - (size_t)(dot + 1 - tensor.p)};
    if (member.n == 0)
        return open && text_is(to, hb_fmt(a, "LIST(%.*s,", (int)(open - tensor.p), tensor.p).p);
    const char *comma = memchr(to.p, ',', to.n);
    if (comma && (text_is(to, "EACH_FROM(") || text_is(to, "ALL_FROM("))) // (1, h, x)
        comma = memchr(comma + 1, ',', to.n - (size_t)(comma + 1 - to.p));
    if (text_is(to, "ONE(") || text_is(to, "LIST(") || !comma) return false;
    hb_str rest = {comma + 2, to.n - (size_t)(comma + 2 - to.p)};
    return rest.n > member.n && memcmp(rest.p, member.p, member.n) == 0 &&
           strchr(",)", rest.p[member.n]);
}

const text_row *text_declared(const text_program *p, hb_str tensor)
{
    for (int i = 0; i < p->rows.n; i++)
        if (declares(p->a, text_of(p, p->rows.p[i].part[0]), tensor)) return &p->rows.p[i];
    return NULL;
}

const text_call *text_cut(const text_program *p, hb_str name)
{
    hb_str quoted = hb_fmt(p->a, "\"%.*s\"", HB_ARG(name));
    for (int i = 0; i < p->calls.n; i++)
        if (hb_str_is(p->calls.p[i].name, "HAP_CUT") &&
            hb_str_eq(text_of(p, p->calls.p[i].arg[0]), quoted))
            return &p->calls.p[i];
    return NULL;
}
