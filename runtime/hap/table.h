// The rows of a table of buffers (hap_place), a line each:
//     {ONE(loss), "f32[]", AT(512, 0)},
//     {EACH(h, ln_1), "f32[8@rows 128 768]", AT(1024, 640)},
//     {EACH(h, flat), "f32[8@rows 98304]", VIEWS(h, ln_1, 0)},
//     {EACH(h, weight), "f32[768]", AT(0, 0), AS_PARAM("h.*.ln_1.weight", HAP_FILL(1))},
// The shape names a dtype and the dims: 8@rows is cut by the table `rows`, of 3*12@heads*64 the
// middle factor. Marks behind it say what a rank holds of the values, for the reader: + a part of a
// sum, ^ of a maximum. AT has an offset a class, in units of HAP_UNIT bytes, AT_SYM one for all, in
// SEG_SYM. A view is another shape of the same bytes: no call makes it, it is there with what it is
// a view of. AS_ gives a name outside of the program, as hap_param and its like do, with the
// block's number for *.

#ifndef HAP_TABLE_H
#define HAP_TABLE_H

#include "hap/runtime.h"

// Who gets the pointers: a variable; a member of every element of an array of blocks, each with a
// place of its own; the same in one place, in turn; either from element `first` on; n of them from
// there, in `places`; an array of pointers.
#define ONE(x)                              #x, &(x), 0, 0, 1, 1
#define EACH(h, x)                          HAP_MEMBERS(h, x, 0, HAP_N(h), HAP_N(h))
#define ALL(h, x)                           HAP_MEMBERS(h, x, 0, HAP_N(h), 1)
#define EACH_FROM(first, h, x)              HAP_MEMBERS(h, x, first, HAP_N(h) - (first), HAP_N(h))
#define ALL_FROM(first, h, x)               HAP_MEMBERS(h, x, first, HAP_N(h) - (first), 1)
#define SOME(h, x, first, n, places)        HAP_MEMBERS(h, x, first, n, places)
#define LIST(x, places)                     #x, (x), sizeof *(x), 0, HAP_N(x), places
#define HAP_MEMBERS(h, x, first, n, places) #h "." #x, &(h)[first].x, sizeof *(h), first, n, places
// Where they lie.
#define AT(...)           .segment = SEG_LOCAL, .at = {__VA_ARGS__}, .line = __LINE__
#define AT_SYM(x)         .segment = SEG_SYM, .at = {x}, .line = __LINE__
#define VIEW(x)           .of = &(x), .line = __LINE__
#define VIEWS(h, x, from) .of = &(h)[from].x, .of_pitch = sizeof *(h), .line = __LINE__
#define VIEW_LIST(x)      .of = (x), .of_pitch = sizeof *(x), .line = __LINE__
// What they are called outside.
#define AS_INPUT(name)        .as = HAP_AS_INPUT, .outer = (name)
#define AS_PARAM(name, init)  .as = HAP_AS_PARAM, .outer = (name), .fill = &init
#define AS_STATE(name)        .as = HAP_AS_STATE, .outer = (name)
#define AS_BUFFER(name, init) .as = HAP_AS_BUFFER, .outer = (name), .fill = &init
#define AS_CONST(name, value) .as = HAP_AS_CONST, .outer = (name), .fill = &value
#define AS_CONST_OF(name, f)  .as = HAP_AS_CONST_FILE, .outer = (name), .file = (f)

#endif
