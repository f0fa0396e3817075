#include "emit/lines.h"

#include <string.h>

#include "emit/words.h"

// As it may stand in a comment: on one line, and read as it looks.
static hb_str plain(lines *l, hb_str text)
{
    hb_str s = say_name(l->arena, text);
    hb_buf b = {.arena = l->arena};
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool odd = c == '\\' && i + 1 == s.n; // "\" last would join lines
        bool trigraph = c == '?' && i > 0 && s.p[i - 1] == '?';
        hb_putc(&b, odd ? '?' : trigraph ? '.' : (char)c);
    }
    while (b.n > 0 && b.p[b.n - 1] == ' ')
        b.p[--b.n] = 0;
    return hb_done(&b);
}

// Columns of UTF-8 text.
static int columns(hb_str s)
{
    int n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

void lines_blank(lines *l)
{
    size_t n = l->out->n;
    if (n >= 2 && l->out->p[n - 1] == '\n' && (l->out->p[n - 2] == '\n' || l->out->p[n - 2] == '{'))
        return;
    hb_putc(l->out, '\n');
    l->n++;
}

// The last line of a statement takes its number: fill leaves the room.
static int number_room(const lines_note *note)
{
    return note && note->number.n > 0 && !note->minor ? 3 + LINES_NUMBER : 0;
}

void lines_code(lines *l, int indent, hb_str code, const lines_note *note)
{
    int at = indent + columns(code), number = note ? columns(note->number) : 0;
    int column = at < LINES_NOTE ? LINES_NOTE : at + 1;
    if (number > 0 && column + 3 + number > LINES_WIDTH) number = 0;
    int room = LINES_WIDTH - column - 3 - (number > 0 ? LINES_NUMBER : 0);
    hb_printf(l->out, "%*s%.*s", indent, "", HB_ARG(code));
    hb_str text = {0};
    for (int i = 0; note && i < 3 && text.n == 0; i++) {
        hb_str t = plain(l, note->text[i]);
        if (columns(t) <= room) text = t;
    }
    if (number > 0)
        hb_printf(l->out, "%*s// %.*s%*s%.*s", column - at, "", HB_ARG(text),
                  LINES_WIDTH - column - 3 - columns(text) - number, "", HB_ARG(note->number));
    else if (text.n > 0)
        hb_printf(l->out, "%*s// %.*s", column - at, "", HB_ARG(text));
    hb_putc(l->out, '\n');
    l->n++;
}

void lines_text(lines *l, int indent, const char *fmt, ...)
{
    hb_buf b = {.arena = l->arena};
    va_list ap;
    va_start(ap, fmt);
    hb_vprintf(&b, fmt, ap);
    va_end(ap);
    lines_code(l, indent, hb_done(&b), NULL);
}

void lines_comment(lines *l, int indent, int hang, hb_str text)
{
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

int lines_fill(lines *l, int indent, hb_str head, const hb_str *item, int n, const char *tail,
               const lines_note *note)
{
    int first = l->n + 1, in = indent;
    hb_buf b = {.arena = l->arena};
    hb_putn(&b, head.p, head.n);
    for (int i = 0; i < n; i++) {
        bool last = i + 1 == n;
        int width = columns(item[i]) + (last ? (int)strlen(tail) + number_room(note) : 1);
        bool open = i == 0 && head.n > 0;
        int gap = i > 0 && b.n > 0 ? 1 : 0;
        if (b.n > 0 && in + columns(hb_done(&b)) + gap + width > LINES_WIDTH) {
            lines_code(l, in, hb_done(&b), NULL);
            in = indent + 4;
            b = (hb_buf){.arena = l->arena};
            gap = 0;
        }
        hb_printf(&b, "%s%.*s%s", gap && !open ? " " : "", HB_ARG(item[i]), last ? tail : ",");
    }
    if (n == 0) hb_puts(&b, tail);
    lines_code(l, in, hb_done(&b), note);
    return first;
}

int lines_call(lines *l, int indent, hb_str head, const hb_str *arg, int n, const lines_note *note)
{
    return lines_fill(l, indent, head, arg, n, ");", note);
}
