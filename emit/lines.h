// Lines of C that clang-format leaves as they are.
//
// Knows the layout rules of .clang-format (LLVM, 4 spaces, 100 columns, AlignTrailingComments,
// bin-packed arguments): calls are wrapped by the same penalties as clang-format 14 does it,
// trailing comments of adjacent lines are aligned by its algorithm. What is printed is a fixed
// point of it (a test asserts).
//
//     int line = lines_call(l, 4, HB_STR("op_add("), args, 3, HB_STR("y = a + b"));
//
// Comments are given without "// "; bytes that are not printable ASCII or UTF-8 become '?'.

#ifndef HAP_EMIT_LINES_H
#define HAP_EMIT_LINES_H

#include "ir/base/arena.h"

enum { LINES_WIDTH = 100 };

typedef struct lines_one {
    hb_str code, comment; // comment behind the code, without "// "
} lines_one;

typedef struct lines {
    hb_arena *arena;
    hb_buf *out;
    int n;                 // lines so far
    HB_VEC(lines_one) run; // adjacent lines with trailing comments, not yet printed
} lines;

void lines_flush(lines *l);
void lines_blank(lines *l); // one empty line, never two
void lines_code(lines *l, int indent, hb_str code, hb_str comment);
void lines_text(lines *l, int indent, const char *fmt, ...) // code without a comment
    __attribute__((format(printf, 3, 4)));
// A comment on lines of its own, wrapped between words; `hang` more spaces on its later lines.
void lines_comment(lines *l, int indent, int hang, hb_str text);

// `head(arg, arg);` with head as "op_add(" or "hap_event *e = coll_x_start(". Returns the number of
// the line on which the call's name stands. The comment goes behind it; if it is too long for that,
// `brief` does; if that is too long or empty, the comment stands above.
int lines_call(lines *l, int indent, hb_str head, const hb_str *arg, int n, hb_str comment,
               hb_str brief);

// `target = value;`, on two lines if need be.
void lines_assign(lines *l, int indent, hb_str target, hb_str value);

// A declaration of several names: `head a = {…}, b = {…};`, packed into as few lines as needed.
void lines_declare(lines *l, int indent, hb_str head, const hb_str *item, int n);

// One braced list that always takes a line per entry: `head {`, entries, `};`.
void lines_list(lines *l, int indent, hb_str head, const lines_one *entry, int n);

#endif
