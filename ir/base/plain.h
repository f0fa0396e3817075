// Text that came from outside (names, files), without what a terminal, a page or a reader's eye
// would obey: control characters, marks of writing direction, characters without width, broken
// UTF-8.

#ifndef HAP_IR_BASE_PLAIN_H
#define HAP_IR_BASE_PLAIN_H

#include <stdio.h>

#include "ir/base/arena.h"

// Bytes of the UTF-8 character at p, and the character; 0: broken (Unicode 15, table 3-7).
int hb_utf8(const char *p, size_t left, unsigned *code);
bool hb_obeyed(unsigned code);
// Each such character as U+FFFD.
hb_str hb_plain(hb_arena *a, hb_str text);
// The same of lines: ends of lines and tabs are what they are. `spaces`: a byte below 0x20 becomes
// a space, so that columns stay.
void hb_print_plain(FILE *out, hb_str text, bool spaces);
// "…", escaped as JSON; of what is obeyed each character, so nothing is lost.
void hb_put_json(hb_buf *b, hb_str s);

#endif
