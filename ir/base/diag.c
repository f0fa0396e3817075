#include "ir/base/diag.h"
#include "ir/base/plain.h"

#include <string.h>

typedef struct entry {
    const hb_source *src;
    hb_pos at;
    hb_str what, hint;
} entry;

struct hb_diag {
    hb_arena *arena;
    entry e[HB_DIAG_MAX];
    int count; // all errors, also those past HB_DIAG_MAX, of which only the number is kept
};

hb_diag *hb_diag_new(hb_arena *a)
{
    hb_diag *d = HB_NEW(a, hb_diag);
    d->arena = a;
    return d;
}

static hb_str format(hb_arena *a, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

static hb_str format(hb_arena *a, const char *fmt, va_list ap)
{
    hb_buf b = {.arena = a};
    hb_vprintf(&b, fmt, ap);
    return hb_done(&b);
}

void hb_error(hb_diag *d, const hb_source *src, hb_pos at, const char *fmt, ...)
{
    if (d->count++ >= HB_DIAG_MAX) return;
    entry *e = &d->e[d->count - 1];
    va_list ap;
    va_start(ap, fmt);
    *e = (entry){.src = src, .at = at, .what = format(d->arena, fmt, ap)};
    va_end(ap);
}

void hb_hint(hb_diag *d, const char *fmt, ...)
{
    hb_assert(d->count > 0);
    if (d->count > HB_DIAG_MAX) return;
    va_list ap;
    va_start(ap, fmt);
    d->e[d->count - 1].hint = format(d->arena, fmt, ap);
    va_end(ap);
}

int hb_diag_count(const hb_diag *d)
{
    return d->count;
}

static hb_str line_of(hb_str text, int line)
{
    const char *p = text.p, *end = text.p + text.n;
    for (; line > 1 && p; line--) {
        p = memchr(p, '\n', (size_t)(end - p));
        if (p) p++;
    }
    if (!p) return (hb_str){"", 0};
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    return (hb_str){p, (size_t)((stop ? stop : end) - p)};
}

// The line and a caret under column `col` (counted in bytes; UTF-8 continuation bytes take no
// room). A long line (graph files are often one line) is cut to a window around the column.
static void quote(FILE *out, hb_str line, int col)
{
    enum { INDENT = 3, WINDOW = 96, LEFT = 60 };
    size_t from = 0, to = line.n, at = (size_t)col - 1;
    if (at > line.n) at = line.n;
    if (line.n > WINDOW) {
        from = at > LEFT ? at - LEFT : 0;
        to = line.n - from > WINDOW ? from + WINDOW : line.n;
        while (from < at && ((unsigned char)line.p[from] & 0xc0) == 0x80)
            from++;
        while (to > at && to < line.n && ((unsigned char)line.p[to] & 0xc0) == 0x80)
            to--;
    }
    fprintf(out, "%*s%s", INDENT, "", from ? "..." : "");
    hb_print_plain(out, (hb_str){line.p + from, to - from}, true);
    fprintf(out, "%s\n", to < line.n ? "..." : "");
    int pad = INDENT + (from ? 3 : 0);
    for (size_t i = from; i < at; i++)
        pad += ((unsigned char)line.p[i] & 0xc0) != 0x80;
    fprintf(out, "%*s^\n", pad, "");
}

void hb_diag_print(const hb_diag *d, FILE *out)
{
    int kept = d->count < HB_DIAG_MAX ? d->count : HB_DIAG_MAX;
    for (int i = 0; i < kept; i++) {
        const entry *e = &d->e[i];
        if (e->src) {
            hb_print_plain(out, e->src->name, true);
            fputc(':', out);
        }
        if (e->at.line > 0) fprintf(out, "%d:%d:", e->at.line, e->at.col);
        fprintf(out, "%serror: ", e->src ? " " : "");
        hb_print_plain(out, e->what, true);
        fputc('\n', out);
        if (e->src && e->at.line > 0 && e->at.col > 0 && e->src->text.n) {
            hb_str line = line_of(e->src->text, e->at.line);
            if (line.n) quote(out, line, e->at.col);
        }
        if (e->hint.n) {
            fputs("hint: ", out);
            hb_print_plain(out, e->hint, true);
            fputc('\n', out);
        }
    }
    if (d->count > kept)
        fprintf(out, "%d more error%s not shown\n", d->count - kept,
                d->count - kept == 1 ? "" : "s");
}

// Levenshtein distance of strings shorter than NAME_MAX_LEN, by rows of the usual table.
enum { LONGEST_NAME = 64 };

static int edit_distance(hb_str a, hb_str b)
{
    int row[LONGEST_NAME + 1];
    for (size_t j = 0; j <= b.n; j++)
        row[j] = (int)j;
    for (size_t i = 0; i < a.n; i++) {
        int diagonal = row[0];
        row[0] = (int)i + 1;
        for (size_t j = 0; j < b.n; j++) {
            int best = diagonal + (a.p[i] != b.p[j]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j + 1] + 1 < best) best = row[j + 1] + 1;
            diagonal = row[j + 1];
            row[j + 1] = best;
        }
    }
    return row[b.n];
}

const char *hb_nearest(hb_str wrong, const char *const *names, int n)
{
    const char *nearest = NULL;
    int limit = (int)(wrong.n / 3 > 2 ? wrong.n / 3 : 2), best = limit + 1;
    if (wrong.n > LONGEST_NAME) return NULL;
    for (int i = 0; i < n; i++) {
        hb_str name = {names[i], strlen(names[i])};
        if (name.n > LONGEST_NAME) continue;
        int distance = edit_distance(wrong, name);
        // A name of two letters is near to anything: at least one byte must agree.
        if (distance < best && distance < (int)(name.n > wrong.n ? name.n : wrong.n)) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}
