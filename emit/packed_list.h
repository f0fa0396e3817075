// Long lists of integers in few words: what was there before is copied (LZ77). A list of equal
// layers costs as much as one layer.
//
// The first entry is an offset that was added to all others to make them >= 0. Then each entry is a
// number, or -n followed by a distance d: copy n numbers from d back (they may overlap).

#ifndef HAP_EMIT_PACKED_LIST_H
#define HAP_EMIT_PACKED_LIST_H

#include "ir/base/arena.h"

// Appends "[…]".
void packed_list(hb_buf *out, const int64_t *v, int n);

#endif
