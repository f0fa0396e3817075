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

text_program *text_read(hb_arena *a, hb_str program_c)
{
    text_program *p = HB_NEW(a, text_program);
    p->a = a;
    p->text = without_comments(a, program_c);
    for (size_t i = 1; i < p->text.n; i++) {
        hb_str rest = {p->text.p + i, p->text.n - i};
        char before = p->text.p[i - 1];
        if (isalnum((unsigned char)before) || before == '_') continue;
        if (!text_is(rest, "op_") && !text_is(rest, "coll_") && !text_is(rest, "hap_")) continue;
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

const text_call *text_declared(const text_program *p, hb_str tensor)
{
    for (int i = 0; i < p->calls.n; i++) {
        const text_call *c = &p->calls.p[i];
        if (!hb_str_is(c->name, "hap_at") && !hb_str_is(c->name, "hap_at_layer")) continue;
        hb_str s = text_of(p, c->statement);
        const char *eq = memchr(s.p, '=', s.n);
        if (!eq) continue;
        size_t to = (size_t)(eq - s.p);
        while (to > 0 && s.p[to - 1] == ' ')
            to--;
        size_t from = to;
        while (from > 0 && !strchr(" *", s.p[from - 1]))
            from--;
        if (to - from == tensor.n && memcmp(s.p + from, tensor.p, tensor.n) == 0) return c;
    }
    return NULL;
}
