// The text of a program.c as calls, for tests that change it: comments gone, every call of the
// runtime with its arguments and the statement it stands in.

#ifndef HAP_TESTS_TEXT_CALLS_H
#define HAP_TESTS_TEXT_CALLS_H

#include "ir/base/arena.h"

enum { TEXT_MAX_ARGS = 20 };

typedef struct text_span {
    size_t at, n;
} text_span;

typedef struct text_call {
    hb_str name; // "op_linear"
    int n;
    text_span arg[TEXT_MAX_ARGS];
    text_span statement; // with its semicolon and what is assigned to
    bool step;           // an op or a change of state
} text_call;

// A row of the table of buffers: {to, shape, place, as}.
typedef struct text_row {
    int n;
    text_span part[4];
} text_row;

typedef struct text_program {
    hb_arena *a;
    hb_str text;
    HB_VEC(text_call) calls;
    HB_VEC(text_row) rows;
} text_program;

text_program *text_read(hb_arena *a, hb_str program_c);
// program.c with buffers.h in place of its #include: one text that compiles alone.
hb_str text_whole(hb_arena *a, hb_str program_c, hb_str buffers_h);
hb_str text_of(const text_program *p, text_span s);
// The text with n spans replaced (they do not overlap; any order).
hb_str text_edit(const text_program *p, int n, const text_span *span, const hb_str *by);
// The row that declares a tensor, by the expression a statement has for it; NULL: there is none.
const text_row *text_declared(const text_program *p, hb_str tensor);
// The entry of the table of cuts that has this name.
const text_call *text_cut(const text_program *p, hb_str name);
bool text_is(hb_str s, const char *prefix); // begins so

#endif
