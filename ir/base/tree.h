// A document as a tree with positions: what the JSON and the YAML reader both give.
//
// JSON is strict (RFC 8259); in both, duplicate keys and zero bytes in text are errors. Integers
// that fit int64 keep kind HB_INT. YAML scalars: plain true/false/null/integers/reals are typed,
// all else (quoted text too) is HB_TEXT. yaml.h stays inside ir/base.

#ifndef HAP_IR_BASE_TREE_H
#define HAP_IR_BASE_TREE_H

#include "ir/base/diag.h"

typedef enum { HB_NULL, HB_BOOL, HB_INT, HB_REAL, HB_TEXT, HB_LIST, HB_TABLE } hb_kind;

typedef struct hb_tree hb_tree;
struct hb_tree {
    hb_kind kind;
    hb_pos at;
    bool b;         // HB_BOOL
    int64_t i;      // HB_INT
    double f;       // HB_REAL and HB_INT
    hb_str s;       // HB_TEXT; for other scalars the text as written
    int n;          // children
    hb_tree **v;    // HB_LIST, HB_TABLE: values in file order
    hb_str *key;    // HB_TABLE
    hb_pos *key_at; // HB_TABLE
};

// NULL after errors were added to d. Nesting deeper than 64 is an error.
hb_tree *hb_json_read(hb_arena *a, const hb_source *src, hb_diag *d);
hb_tree *hb_yaml_read(hb_arena *a, const hb_source *src, hb_diag *d);

// The tree as JSON, which is YAML too; numbers as they were written.
void hb_put_tree(hb_buf *b, const hb_tree *t);

hb_tree *hb_get(const hb_tree *table, const char *key); // NULL if absent (or not a table)
// Errors on every key of `table` that is not among names, with the nearest as hint.
void hb_only_keys(const hb_tree *table, const char *const *names, int n, const hb_source *src,
                  hb_diag *d);

#endif
