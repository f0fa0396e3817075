// report.html: the predicted timeline as a picture, and the text report by sections. One file that
// reads nothing else; bytes are deterministic.

#include <string.h>

#include "emit/emit.h"

enum { WIDTH = 1200, LABEL = 170, BAR = 18, STEP = 24 }; // pixels

static void put_text(hb_buf *out, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        switch (p[i]) {
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
            hb_putc(out, p[i]);
        }
}

// --- timeline ---

// One colour in a row of the picture: neighbours less than a third of a pixel apart are one bar.
typedef struct bar {
    int colour;
    double from, to; // pixels
    int count;
    double sec;
} bar;

typedef struct legend {
    const char *name, *colour;
} legend;

enum { FORWARD, BACKWARD, UPDATE, CONVERT, GATHER, SCATTER, REDUCE, EXCHANGE, N_COLOURS };
static const legend colours[N_COLOURS] = {
    {"forward", "#4c78a8"},      {"backward", "#72b7b2"},           {"update", "#b8b8b8"},
    {"local copies", "#eeca3b"}, {"all-gather", "#e45756"},         {"reduce-scatter", "#f58518"},
    {"all-reduce", "#b279a2"},   {"all-to-all, reshard", "#54a24b"}};

static int colour_of(const syn_program *p, const syn_instr *in)
{
    if (in->kind == SYN_START)
        return in->coll == COST_ALL_GATHER       ? GATHER
               : in->coll == COST_REDUCE_SCATTER ? SCATTER
               : in->coll == COST_ALL_REDUCE     ? REDUCE
                                                 : EXCHANGE;
    if (in->kind != SYN_OP) return CONVERT;
    ir_phase phase = p->g->nodes.p[in->node].phase;
    return phase == IR_FORWARD ? FORWARD : phase == IR_BACKWARD ? BACKWARD : UPDATE;
}

static void flush(hb_buf *out, const bar *b, int y)
{
    if (b->count == 0) return;
    hb_printf(out,
              "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\"><title>%s: %d "
              "instruction%s, %.4g ms</title></rect>\n",
              LABEL + b->from, y, b->to - b->from, BAR, colours[b->colour].colour,
              colours[b->colour].name, b->count, b->count == 1 ? "" : "s", b->sec * 1e3);
}

// A class's computation (stream < 0), or a stream of communication.
static void put_row(hb_buf *out, const emit_plan *e, int cls, int stream, hb_str label, int y)
{
    const syn_program *p = e->p;
    const cost_timeline *t = &e->res->timeline;
    double scale = t->total > 0 ? WIDTH / t->total : 0;
    bar b = {0};
    hb_printf(out, "<text x=\"0\" y=\"%d\">", y + BAR - 5);
    put_text(out, label.p, label.n);
    hb_puts(out, "</text>\n");
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        bool comm = in->kind == SYN_START;
        if (in->kind == SYN_WAIT || comm != (stream >= 0)) continue;
        if (comm && (in->axes == 2) != (stream == 1)) continue;
        int at = i * p->mesh->n_classes + (comm ? 0 : cls), colour = colour_of(p, in);
        double from = t->begin[at] * scale, to = t->end[at] * scale;
        if (to <= from) continue;
        if (b.count > 0 && (colour != b.colour || from - b.to > 1.0 / 3)) {
            flush(out, &b, y);
            b.count = 0;
        }
        if (b.count == 0) b = (bar){.colour = colour, .from = from};
        b.to = to;
        b.count++;
        b.sec += t->end[at] - t->begin[at];
    }
    flush(out, &b, y);
}

static void put_timeline(hb_buf *out, const emit_plan *e)
{
    hb_arena *a = out->arena;
    const syn_program *p = e->p;
    const cost_timeline *t = &e->res->timeline;
    if (!t->begin || !t->end) return;
    int streams = p->mesh->n_axes, rows = p->mesh->n_classes + streams, y = 0;
    hb_printf(out,
              "<h2>Predicted step: %.4g ms</h2>\n<svg width=\"%d\" height=\"%d\" role=\"img\">\n",
              t->total * 1e3, LABEL + WIDTH, (rows + 1) * STEP);
    for (int c = 0; c < p->mesh->n_classes; c++, y += STEP) {
        int n = 0;
        for (int r = 0; r < p->mesh->n_ranks; r++)
            n += p->mesh->class_of[r] == c;
        hb_str name = p->cluster->cls[p->mesh->cluster_class[c]].name;
        put_row(out, e, c, -1, hb_fmt(a, "%d x %.*s", n, HB_ARG(name)), y);
    }
    for (int s = 0; s < streams; s++, y += STEP)
        put_row(out, e, 0, s,
                streams == 1 ? HB_STR("communication")
                : s == 0     ? HB_STR("between machines")
                             : HB_STR("inside machines"),
                y);
    for (int k = 0, x = LABEL; k < N_COLOURS; k++, x += 145)
        hb_printf(out,
                  "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/>"
                  "<text x=\"%d\" y=\"%d\">%s</text>\n",
                  x, y + 4, colours[k].colour, x + 16, y + 14, colours[k].name);
    hb_puts(out, "</svg>\n");
}

// Sections of the text report stand apart by empty lines; their first line is the title.
static void put_sections(hb_buf *out, hb_str text)
{
    const char *p = text.p, *end = text.p + text.n;
    for (bool first = true; p < end; first = false) {
        const char *stop = p;
        while (stop < end && !(stop[0] == '\n' && (stop + 1 == end || stop[1] == '\n')))
            stop++;
        const char *title = memchr(p, '\n', (size_t)(stop - p));
        if (!title) title = stop;
        if (!first && title < stop) {
            hb_puts(out, "<h2>");
            put_text(out, p, (size_t)(title - p));
            hb_puts(out, "</h2>\n");
            p = title + 1;
        }
        hb_puts(out, "<pre>");
        put_text(out, p, (size_t)(stop - p));
        hb_puts(out, "</pre>\n");
        p = stop;
        while (p < end && *p == '\n')
            p++;
    }
}

void emit_report_html(hb_buf *out, const emit_plan *e)
{
    hb_buf text = {.arena = out->arena};
    emit_report_text(&text, e);
    hb_puts(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
    put_text(out, e->command.p, e->command.n);
    hb_puts(out, "</title>\n<style>\n"
                 "body { font: 14px sans-serif; margin: 2em; }\n"
                 "pre { font-size: 12px; overflow-x: auto; }\n"
                 "svg text { font-size: 12px; }\n"
                 "h2 { font-size: 15px; margin: 1.5em 0 .3em; }\n"
                 "</style></head><body>\n");
    put_timeline(out, e);
    put_sections(out, hb_done(&text));
    hb_puts(out, "</body></html>\n");
}
