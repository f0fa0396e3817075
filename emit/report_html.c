// report.html: one file that reads nothing else. A shell with the verdict as text, the page's data
// as JSON, a place for what was measured, its style sheet and scripts. Bytes are deterministic.

#include "emit/page_assets.h"
#include "emit/page_data.h"
#include "emit/verdict.h"

#include <string.h>

static void put_text(hb_buf *out, hb_str s)
{
    for (size_t i = 0; i < s.n; i++)
        switch (s.p[i]) {
        case '<':
            hb_puts(out, "&lt;");
            break;
        case '>':
            hb_puts(out, "&gt;");
            break;
        case '&':
            hb_puts(out, "&amp;");
            break;
        case '"':
            hb_puts(out, "&quot;");
            break;
        default:
            hb_putc(out, s.p[i]);
        }
}

static void put_asset(hb_buf *out, const unsigned char *bytes)
{
    for (; *bytes; bytes++)
        hb_putc(out, (char)*bytes);
}

// What stands on the page without JavaScript, and before it runs.
static void put_shell(hb_buf *out, const verdict *v, hb_str title)
{
    const hb_str said[] = {v->decided, v->brings, v->limits};
    hb_puts(out, "<main id=\"app\"><h1>");
    put_text(out, title);
    hb_puts(out, "</h1>\n");
    for (int i = 0; i < 3; i++) {
        hb_puts(out, "<p>");
        put_text(out, said[i]);
        hb_puts(out, "</p>\n");
    }
    hb_puts(out, "<noscript><p>The pictures need JavaScript. The same as text: report.txt."
                 "</p></noscript></main>\n");
}

// The file around its data.
static void put_page(hb_buf *out, const verdict *v, double sec, hb_str data)
{
    hb_arena *a = out->arena;
    hb_str title = hb_fmt(a, "%.*s on %.*s: %.*s a step", HB_ARG(v->model), HB_ARG(v->cluster),
                          HB_ARG(say_sec(a, sec)));
    hb_puts(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                 "<meta name=\"color-scheme\" content=\"light dark\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                 "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
                 "<link rel=\"icon\" href=\"data:,\"><title>");
    put_text(out, title);
    hb_puts(out, "</title>\n<style>\n");
    put_asset(out, page_css);
    hb_puts(out, "</style></head><body>\n");
    put_shell(out, v, title);
    hb_puts(out, "<script type=\"application/json\" id=\"data\">");
    hb_putn(out, data.p, data.n);
    hb_puts(out, "</script>\n<script type=\"application/json\" id=\"measured\">null</script>\n"
                 "<script>\n"); // hapc compare fills it
    put_asset(out, page_js);
    hb_puts(out, "</script></body></html>\n");
}

void emit_report_html(hb_buf *out, const emit_plan *e, const emit_lines *where)
{
    hb_arena *a = out->arena;
    hb_buf data = {.arena = a};
    const step_times *t = step_times_of(a, e);
    page_data(&data, e, where);
    put_page(out, verdict_of(wording_of(a, e, t)), t->total, hb_done(&data));
}

void emit_stages_html(hb_buf *out, const plan_parts *x, const emit_plan *about)
{
    hb_buf data = {.arena = out->arena};
    page_data_stages(&data, x, about);
    put_page(out, verdict_of_stages(out->arena, x, about), x->staged->predicted_sec,
             hb_done(&data));
}
