#include "cli/compare_page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/json_out.h"
#include "emit/words.h"
#include "ir/base/plain.h"

static void put_calls(js *j, const char *key, const calls *c)
{
    js_key(j, key);
    js_open(j, '[');
    for (int i = 0; i < c->list.n; i++) {
        const call *k = &c->list.p[i];
        if (k->n_measured == 0) continue;
        js_sep(j);
        js_open(j, '[');
        hb_put_json(j->b, say_name(j->b->arena, k->name));
        hb_putc(j->b, ',');
        hb_put_json(j->b, say_name(j->b->arena, k->what));
        hb_printf(j->b, ",%.6g,%.6g", k->predicted, k->measured);
        js_close(j, ']');
    }
    js_close(j, ']');
}

static hb_str data_of(const comparison *x, const char *trace)
{
    hb_buf text = {.arena = x->a}, out = {.arena = x->a};
    js j = {&text, true};
    const char *slash = strrchr(trace, '/');
    js_open(&j, '{');
    js_text(&j, "trace", say_name(x->a, hb_str_c(x->a, slash ? slash + 1 : trace)));
    js_real(&j, "steps", x->steps);
    js_integer(&j, "devices", x->n_ranks);
    js_real(&j, "ms", x->step_ms);
    put_calls(&j, "kinds", &x->kinds);
    put_calls(&j, "calls", &x->lines);
    js_close(&j, '}');
    js_put_in_script(&out, hb_done(&text));
    return hb_done(&out);
}

// The page with other data in the place of what stands there; empty: it has no such place.
static hb_str page_with(hb_arena *a, hb_str page, hb_str data)
{
    static const char place[] = "<script type=\"application/json\" id=\"measured\">";
    const char *at = strstr(page.p, place), *end = at ? strstr(at, "</script>") : NULL;
    if (!end) return (hb_str){"", 0};
    at += strlen(place);
    return hb_fmt(a, "%.*s%.*s%s", (int)(at - page.p), page.p, HB_ARG(data), end);
}

void compare_page(const comparison *x, const char *dir, const char *trace)
{
    hb_str path = hb_fmt(x->a, "%s/report.html", dir), page;
    const char *why = NULL;
    if (!hb_read_file(x->a, path.p, &page, &why)) {
        printf("\nPage     not changed: %.*s: %s\n", HB_ARG(path), why);
        return;
    }
    page = page_with(x->a, page, data_of(x, trace));
    if (page.n == 0) {
        printf("\nPage     not changed: %.*s is of another hapc\n", HB_ARG(path));
    } else if (!hb_write_file(path.p, page)) {
        printf("\nPage     not changed: %.*s: %s\n", HB_ARG(path), strerror(errno));
    } else {
        char *whole = realpath(path.p, NULL);
        printf("\nPage     file://%s shows this\n", whole ? whole : path.p);
        free(whole);
    }
}
