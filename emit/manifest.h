// SHA256SUMS of a plan folder: the bytes of its files as hapc wrote them, or as `hapc check
// --accept` took them in. In the form of sha256sum(1), so that `sha256sum -c` reads it too.
//
// It guards against mistakes, not against attackers: who may write the folder may write this file.

#ifndef HAP_EMIT_MANIFEST_H
#define HAP_EMIT_MANIFEST_H

#include "ir/base/arena.h"

#define MANIFEST_NAME "SHA256SUMS"

// What a plan's file is for: which of these changed decides what may still be done with the plan.
typedef enum {
    MANIFEST_INPUT,  // what it was planned from: cluster.yaml, its curves
    MANIFEST_CHECKED // what `hapc check` reads and proves: graph, program, buffers, kernels, plan,
                     // constants
} manifest_kind;

typedef struct manifest_change {
    hb_str name;
    manifest_kind kind;
    const char *how; // "edited", "missing", "new"
} manifest_change;

typedef struct manifest_changes {
    bool there; // false: there is no SHA256SUMS, or it is broken; every file counts as new
    HB_VEC(manifest_change) v;
} manifest_changes;

// Hashes the files of the plan that are in dir, and writes DIR/SHA256SUMS at once. False with *why.
bool manifest_write(hb_arena *a, const char *dir, hb_str *why);
// What differs in dir from what its SHA256SUMS says.
manifest_changes manifest_compare(hb_arena *a, const char *dir);
// "program.c (edited), kernels.cu (new)" of those of a kind from `least` on; empty: none.
hb_str manifest_text(hb_arena *a, const manifest_changes *c, manifest_kind least);
bool manifest_changed(const manifest_changes *c, const char *name);

// The file of curves that the plan in dir came with; empty: none.
hb_str manifest_curves(hb_arena *a, const char *dir);

#endif
