#include "emit/lines.h"

#include <string.h>

// Penalties of clang-format 14's LLVM style that decide how a call breaks (TokenAnnotator.cpp): a
// comma one parenthesis deep, a break behind '=', a break before the first argument.
enum { COST_COMMA = 41, COST_ASSIGN = 22, COST_FIRST_ARG = 59 };

static hb_str plain(lines *l, hb_str s)
{
    hb_buf b = {.arena = l->arena};
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool odd = c < 32 || c == 127 || (c == '\\' && i + 1 == s.n); // "\" last would join lines
        hb_putc(&b, odd ? '?' : (char)c);
    }
    while (b.n > 0 && b.p[b.n - 1] == ' ') // trailing blanks would be cut
        b.p[--b.n] = 0;
    return hb_done(&b);
}

// Columns of UTF-8 text, as clang-format counts them for width-1 characters.
static int columns(hb_str s)
{
    int n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

static void put_run(lines *l, int from, int to, int column)
{
    for (int i = from; i < to; i++) {
        const lines_one *one = &l->run.p[i];
        hb_printf(l->out, "%.*s%*s// %.*s\n", HB_ARG(one->code), column - columns(one->code), "",
                  HB_ARG(one->comment));
    }
}

// Aligns as WhitespaceManager::alignTrailingComments: a run is cut where no common column would
// keep every comment inside the limit.
void lines_flush(lines *l)
{
    int start = 0, least = 0, most = LINES_WIDTH;
    for (int i = 0; i < l->run.n; i++) {
        int min = columns(l->run.p[i].code) + 1;
        int max = LINES_WIDTH - 3 - columns(l->run.p[i].comment);
        if (i > start && (min > most || max < least)) {
            put_run(l, start, i, least);
            start = i;
        }
        if (i == start) {
            least = min;
            most = max;
        } else {
            if (min > least) least = min;
            if (max < most) most = max;
        }
    }
    put_run(l, start, l->run.n, least);
    l->run.n = 0;
}

void lines_blank(lines *l)
{
    lines_flush(l);
    size_t n = l->out->n;
    if (n >= 2 && l->out->p[n - 1] == '\n' && (l->out->p[n - 2] == '\n' || l->out->p[n - 2] == '{'))
        return;
    hb_putc(l->out, '\n');
    l->n++;
}

void lines_code(lines *l, int indent, hb_str code, hb_str comment)
{
    hb_str whole = hb_fmt(l->arena, "%*s%.*s", indent, "", HB_ARG(code));
    comment = plain(l, comment);
    l->n++;
    if (comment.n == 0) {
        lines_flush(l);
        hb_putn(l->out, whole.p, whole.n);
        hb_putc(l->out, '\n');
        return;
    }
    HB_PUSH(l->arena, &l->run, (lines_one){whole, comment});
}

void lines_text(lines *l, int indent, const char *fmt, ...)
{
    hb_buf b = {.arena = l->arena};
    va_list ap;
    va_start(ap, fmt);
    hb_vprintf(&b, fmt, ap);
    va_end(ap);
    lines_code(l, indent, hb_done(&b), (hb_str){0});
}

void lines_comment(lines *l, int indent, int hang, hb_str text)
{
    lines_flush(l);
    text = plain(l, text);
    size_t i = 0;
    bool first = true;
    if (text.n == 0) {
        hb_printf(l->out, "%*s//\n", indent, "");
        l->n++;
    }
    while (i < text.n) {
        size_t room = (size_t)(LINES_WIDTH - 3 - indent - (first ? 0 : hang));
        size_t n = text.n - i;
        if (n > room) {
            n = room;
            while (n > room / 3 && text.p[i + n] != ' ')
                n--;
            if (text.p[i + n] != ' ') // no blank near: break at a whole character
                for (n = room; n > 1 && ((unsigned char)text.p[i + n] & 0xc0) == 0x80;)
                    n--;
        }
        size_t end = n;
        while (end > 0 && text.p[i + end - 1] == ' ')
            end--;
        hb_printf(l->out, "%*s// %*s%.*s\n", indent, "", first ? 0 : hang, "", (int)end,
                  text.p + i);
        l->n++;
        i += n;
        while (i < text.n && text.p[i] == ' ')
            i++;
        first = false;
    }
}

// Greedy filling of the arguments from column `at` of the first line; later lines begin at `hang`.
// Returns the number of breaks, -1 if something does not fit. `brk` (may be NULL) gets which
// arguments begin a line.
static int fill(const hb_str *arg, int n, int at, int hang, bool *brk)
{
    int breaks = 0, col = at;
    for (int i = 0; i < n; i++) {
        int tail = i + 1 < n ? 1 : 2; // "," or ");"
        int width = columns(arg[i]) + tail;
        bool fresh = i > 0 && col + 1 + width > LINES_WIDTH;
        if (brk) brk[i] = fresh;
        if (fresh) {
            breaks++;
            col = hang + width;
        } else {
            col += (i > 0 ? 1 : 0) + width;
        }
        if (col > LINES_WIDTH) return -1;
    }
    return breaks;
}

int lines_call(lines *l, int indent, hb_str head, const hb_str *arg, int n, hb_str comment,
               hb_str brief)
{
    // The '=' that may end the first line, if any.
    size_t eq = 0;
    for (size_t i = 0; i + 2 < head.n && eq == 0; i++)
        if (head.p[i] == ' ' && head.p[i + 1] == '=' && head.p[i + 2] == ' ') eq = i + 2;
    hb_str left = {head.p, eq}, call = {head.p + (eq ? eq + 1 : 0), head.n - (eq ? eq + 1 : 0)};
    int whole = indent + columns(head), split = indent + 4 + columns(call);

    struct {
        int column, hang, cost;
        bool after_eq, after_paren;
    } best = {0, 0, -1, false, false};
    for (int k = 0; k < 4; k++) {
        bool after_eq = k & 1, after_paren = k & 2;
        if (after_eq && !eq) continue;
        int base = after_eq ? indent + 4 : indent;
        int at = after_paren ? base + 4 : after_eq ? split : whole;
        int breaks = fill(arg, n, at, at, NULL);
        if (breaks < 0) continue;
        int cost =
            breaks * COST_COMMA + (after_eq ? COST_ASSIGN : 0) + (after_paren ? COST_FIRST_ARG : 0);
        if (best.cost >= 0 && best.cost <= cost) continue;
        best.column = best.hang = at;
        best.cost = cost;
        best.after_eq = after_eq;
        best.after_paren = after_paren;
    }
    if (best.cost < 0) { // a name longer than a line: nothing will be right
        best.column = best.hang = whole;
    }
    bool *brk = HB_ARRAY(l->arena, bool, n + 1);
    fill(arg, n, best.column, best.hang, brk);
    if (best.cost < 0)
        for (int i = 1; i < n; i++)
            brk[i] = true;

    HB_VEC(hb_str) line = {0};
    hb_buf b = {.arena = l->arena};
    int margin = indent;
    if (best.after_eq) {
        HB_PUSH(l->arena, &line, hb_fmt(l->arena, "%*s%.*s", margin, "", HB_ARG(left)));
        margin += 4;
        hb_printf(&b, "%*s%.*s", margin, "", HB_ARG(call));
    } else {
        hb_printf(&b, "%*s%.*s", margin, "", HB_ARG(head));
    }
    int call_line = line.n;
    if (best.after_paren) {
        HB_PUSH(l->arena, &line, hb_done(&b));
        b = (hb_buf){.arena = l->arena};
        hb_printf(&b, "%*s", best.column, "");
    }
    for (int i = 0; i < n; i++) {
        if (brk[i]) {
            HB_PUSH(l->arena, &line, hb_done(&b));
            b = (hb_buf){.arena = l->arena};
            hb_printf(&b, "%*s", best.hang, "");
        } else if (i > 0) {
            hb_putc(&b, ' ');
        }
        hb_putn(&b, arg[i].p, arg[i].n);
        hb_puts(&b, i + 1 < n ? "," : ");");
    }
    if (n == 0) hb_puts(&b, ");");
    HB_PUSH(l->arena, &line, hb_done(&b));

    comment = plain(l, comment);
    int room = LINES_WIDTH - 4 - columns(line.p[line.n - 1]);
    brief = plain(l, brief);
    if (brief.n > 0 && columns(comment) > room && columns(brief) <= room) comment = brief;
    bool behind = columns(comment) <= room;
    if (comment.n > 0 && !behind) lines_comment(l, indent, 4, comment);
    for (int i = 0; i < line.n; i++)
        lines_code(l, 0, line.p[i], behind && i + 1 == line.n ? comment : (hb_str){0});
    return l->n - line.n + 1 + call_line;
}

void lines_assign(lines *l, int indent, hb_str target, hb_str value)
{
    if (indent + columns(target) + 3 + columns(value) + 1 <= LINES_WIDTH) {
        lines_text(l, indent, "%.*s = %.*s;", HB_ARG(target), HB_ARG(value));
        return;
    }
    lines_text(l, indent, "%.*s =", HB_ARG(target));
    lines_text(l, indent + 4, "%.*s;", HB_ARG(value));
}

// A line; if it is too long, entries of its braced list go on below the first one.
static void with_list(lines *l, int indent, hb_str code)
{
    size_t brace = 0, at = 0;
    while (brace < code.n && code.p[brace] != '{')
        brace++;
    for (size_t i = brace; i + 1 < code.n && indent + (int)i < LINES_WIDTH; i++)
        if (code.p[i] == ',' && code.p[i + 1] == ' ') at = i + 1;
    if (indent + columns(code) <= LINES_WIDTH || at == 0) {
        lines_code(l, indent, code, (hb_str){0});
        return;
    }
    lines_code(l, indent, (hb_str){code.p, at}, (hb_str){0});
    lines_code(l, indent + (int)brace + 1, (hb_str){code.p + at + 1, code.n - at - 1}, (hb_str){0});
}

void lines_declare(lines *l, int indent, hb_str head, const hb_str *item, int n)
{
    hb_buf b = {.arena = l->arena};
    for (int i = 0; i < n; i++) {
        if (b.n > 0 && indent + columns(hb_done(&b)) + 2 + columns(item[i]) + 1 > LINES_WIDTH) {
            hb_putc(&b, ';');
            with_list(l, indent, hb_done(&b));
            b = (hb_buf){.arena = l->arena};
        }
        hb_printf(&b, "%.*s%.*s", b.n ? 2 : (int)head.n, b.n ? ", " : head.p, HB_ARG(item[i]));
    }
    if (n == 0) return;
    hb_putc(&b, ';');
    with_list(l, indent, hb_done(&b));
}

void lines_list(lines *l, int indent, hb_str head, const lines_one *entry, int n)
{
    lines_text(l, indent, "%.*s {", HB_ARG(head));
    for (int i = 0; i < n; i++)
        lines_code(l, indent + 4, hb_fmt(l->arena, "%.*s,", HB_ARG(entry[i].code)),
                   entry[i].comment.n ? entry[i].comment : HB_STR("-"));
    lines_text(l, indent, "};");
}
