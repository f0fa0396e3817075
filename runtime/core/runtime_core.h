// What the runtime's core and a backend share. Programs do not see this.
//
// Core (this folder) knows options, mesh, segments' layout, tensors, parameters, checkpoints,
// inputs, step reports. A backend supplies the memory, the kernels and the collectives through
// hap_backend. The layout of a tensor: row-major over local sizes, where a dim cut in the middle
// (CUT_IN) is stored [outer, n_r, inner].

#ifndef HAP_RUNTIME_CORE_H
#define HAP_RUNTIME_CORE_H

#include "hap/runtime.h"

enum { HAP_MAX_IN = 10, HAP_MAX_OUT = 8, HAP_MAX_ATTR = 8 };

struct hap_tensor {
    int id; // order of declaration
    hap_segment seg;
    int64_t off, off_of[HAP_MAX_CLASSES]; // of this rank; by class
    hap_dtype type;
    int rank;
    hap_dim dim[HAP_MAX_RANK];
    int64_t local[HAP_MAX_RANK];   // this rank's size of each dim (outer * n_r * inner)
    int64_t first[HAP_MAX_RANK];   // first entry of the cut factor this rank holds
    int64_t elements, bytes;       // local
    void *data;                    // NULL in the recording backend
    int line;                      // where the program declares it
    int ring;                      // its number among those of the ring, from 1 on; 0: none
    hap_tensor *views, *next_view; // other shapes of these bytes; the next one of the same
};

typedef struct hap_attr {
    int64_t i; // int, bool, dtype
    double f;
    hap_ints v;
} hap_attr;

typedef struct hap_op_call {
    hap_op_id op;
    int n_out;
    hap_tensor *out[HAP_MAX_OUT]; // in-place rows: the operands written
    int n_in;
    hap_tensor *in[HAP_MAX_IN]; // NULL = absent optional operand
    int n_attr;
    hap_attr attr[HAP_MAX_ATTR];
} hap_op_call;

void hap_dispatch(hap_rank *r, const hap_op_call *c);
// By every generated op_ function: absent operands at the end do not count.
void hap_op_packed(hap_rank *r, hap_op_call *c);
extern const char *const hap_op_names[]; // by hap_op_id

// What may stand in a pair. Bit a of alternatives: with a as first attribute (0: it has none), rows
// of the first operand become rows of the output one by one. A row is the last `dims` dims of both;
// operands `along`, bits, have as many leading dims beside these, the others are read whole.
typedef struct hap_op_row {
    unsigned alternatives;
    int dims;
    unsigned along;
    bool matrix; // and the second operand is a matrix
} hap_op_row;
extern const hap_op_row hap_op_rows[]; // by hap_op_id

// What an op_ function takes behind r: so many outputs (none if it writes in place), so many
// operands, -1 a count and a list; then an attribute a letter: l int64_t, d double, b bool, i
// dtype, G hap_ints.
typedef struct hap_op_args {
    int n_out, n_in;
    bool in_place;
    const char *attrs;
} hap_op_args;
extern const hap_op_args hap_op_takes[]; // by hap_op_id

typedef struct hap_op_floats {
    unsigned in, out;
} hap_op_floats;
extern const hap_op_floats hap_op_any_float[]; // by hap_op_id: any float type may be there

typedef enum {
    HAP_ALL_GATHER,
    HAP_REDUCE_SCATTER,
    HAP_ALL_REDUCE,
    HAP_ALL_TO_ALL,
    HAP_RESHARD
} hap_coll_kind;

typedef struct hap_coll_call {
    hap_coll_kind kind;
    hap_reduce reduce;
    unsigned axes;
    hap_form form;
    int n;
    hap_tensor *const *dst, *const *src;
    hap_tensor *scratch;
} hap_coll_call;

// What kernels may know of the step that runs.
typedef struct hap_step_state {
    int64_t
        step;  // steps done before this one, over all runs (hap.step of the checkpoint): 0 at first
    double lr; // this step's learning rate, schedule applied
    uint64_t seed; // of the run
} hap_step_state;
const hap_step_state *hap_step(const hap_rank *r);

// Prints one line "rank 2 step 7 mlp.plan.c:31: ..." and ends every rank.
_Noreturn void hap_fatal(const hap_rank *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
