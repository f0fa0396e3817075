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

typedef struct text_program {
    hb_arena *a;
    hb_str text;
    HB_VEC(text_call) calls;
} text_program;

text_program *text_read(hb_arena *a, hb_str program_c);
hb_str text_of(const text_program *p, text_span s);
// The text with n spans replaced (they do not overlap; any order).
hb_str text_edit(const text_program *p, int n, const text_span *span, const hb_str *by);
// The call that declares a tensor (hap_at, hap_at_layer), by the expression that it is assigned to;
// NULL: there is none.
const text_call *text_declared(const text_program *p, hb_str tensor);
bool text_is(hb_str s, const char *prefix); // begins so

#endif
