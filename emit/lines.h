// The layout of emitted C: at most 100 columns, what does not fit goes on 4 columns further in,
// numbers stand at the right margin.
//
//     int line = lines_call(l, 4, HB_STR("op_add("), args, 3, &(lines_note){.text = …, .ms = …});
//
// Comments are given without "// "; bytes that are not printable ASCII or UTF-8 become '?'.

#ifndef HAP_EMIT_LINES_H
#define HAP_EMIT_LINES_H

#include "ir/base/arena.h"

enum { LINES_WIDTH = 100, LINES_NOTE = 62, LINES_NUMBER = 6 };

// A comment behind a statement: the first text that fits, from column LINES_NOTE on or behind the
// code if that is longer, and a number at the margin.
typedef struct lines_note {
    hb_str text[3];
    hb_str number;
    bool minor; // the number may be left out, where it would cost a line
} lines_note;

typedef struct lines {
    hb_arena *arena;
    hb_buf *out;
    int n; // lines so far
} lines;

void lines_blank(lines *l); // one empty line, never two
// A line of code; note may be NULL.
void lines_code(lines *l, int indent, hb_str code, const lines_note *note);
void lines_text(lines *l, int indent, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
// A comment on lines of its own, wrapped between words; `hang` more spaces on its later lines.
void lines_comment(lines *l, int indent, int hang, hb_str text);
// `head item, item tail`, as many items a line as fit; the number of the first line.
int lines_fill(lines *l, int indent, hb_str head, const hb_str *item, int n, const char *tail,
               const lines_note *note);
// The same with tail ");": a call, `head` as "op_add(" or "hap_event *e = coll_x_start(".
int lines_call(lines *l, int indent, hb_str head, const hb_str *arg, int n, const lines_note *note);

#endif
