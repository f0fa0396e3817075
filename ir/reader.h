// Parts of the graph reader, shared by reader*.c only.
//
// The reader turns the JSON tree into a graph and collects located errors. A tensor whose node was
// wrong is *poisoned*: its name is known, so that one mistake gives one error.

#ifndef HAP_IR_READER_H
#define HAP_IR_READER_H

#include "ir/base/tree.h"
#include "ir/graph.h"

enum { IR_UNKNOWN = -1, IR_POISONED = -2 };

typedef struct ir_reader {
    hb_arena *a;
    const hb_source *src;
    hb_diag *d;
    ir_graph *g;
    hb_map *tensors;     // name -> tensor, IR_POISONED; IR_UNKNOWN if not (yet) there
    hb_map *produced_by; // name -> index in `nodes`: all outputs named anywhere in the file
    hb_map *nodes;       // node name -> 1
    int64_t batch;       // value of B; 0: the file has no symbol
} ir_reader;

void rd_error(ir_reader *r, hb_pos at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

// Typed access; on a mismatch they add an error ("expected a list") and return false or NULL.
bool rd_is(ir_reader *r, const hb_tree *t, hb_kind kind);
const hb_tree *rd_need(ir_reader *r, const hb_tree *table, const char *key, const char *of,
                       hb_kind kind);
bool rd_text(ir_reader *r, const hb_tree *t, hb_str *s); // not empty
bool rd_real(ir_reader *r, const hb_tree *t, double *f); // integers too; finite
bool rd_int(ir_reader *r, const hb_tree *t, int64_t *i); // |i| <= 2^40; affine text in B
bool rd_bool(ir_reader *r, const hb_tree *t, bool *b);
bool rd_dtype(ir_reader *r, const hb_tree *t, ir_dtype *dtype);
bool rd_shape(ir_reader *r, const hb_tree *t, int *rank, int64_t *dim, int *batch);
bool rd_size_ok(ir_reader *r, hb_pos at, const ir_tensor *t); // total size within limits
bool rd_init(ir_reader *r, const hb_tree *t, ir_init *init);
bool rd_attr(ir_reader *r, const hb_tree *t, ir_attr *attr);

// The tensor a text names; IR_UNKNOWN (after an error) or IR_POISONED (silently).
int rd_tensor(ir_reader *r, const hb_tree *t);

void rd_nodes(ir_reader *r, const hb_tree *nodes);         // reader_nodes.c
void rd_optimizer(ir_reader *r, const hb_tree *optimizer); // reader_optimizer.c

#endif
