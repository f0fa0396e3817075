// What the kinds of faults share: a changeable copy of a record, what is known of it, and edits.

#ifndef HAP_TESTS_MUTATE_PARTS_H
#define HAP_TESTS_MUTATE_PARTS_H

#include "tests/certify/mutate.h"

typedef struct mut {
    hb_arena *a;
    record *r; // the copy that is changed
    uint64_t rng;
    hb_str *what;
    bool *needed;   // by call
    uint64_t *term; // scratch of mut_walk(): by buffer
} mut;

typedef bool mut_fits(mut *m, int c); // may call c be chosen?

mut mut_of(hb_arena *a, const record *r); // with no seed, for no words
bool mut_commutes(int op);
int mut_pick(mut *m, int n);
rec_call *mut_call(mut *m, int i);
int mut_first_step(const mut *m);
const uint64_t *mut_walk(mut *m, int upto);
int mut_reader(mut *m, int b, int from);
int mut_wait_of(mut *m, int start);
int mut_axis_cut(const rec_tensor *t, int axis);
bool mut_same_dims(const rec_tensor *a, const rec_tensor *b);
int64_t mut_global_bytes(const rec_tensor *t);
void mut_remove_call(mut *m, int at);
void mut_insert_call(mut *m, int at, rec_call k);
int mut_choose(mut *m, mut_fits *fits);
bool mut_is_op(mut *m, int c);
bool mut_is_start(mut *m, int c);
bool mut_in_place(const rec_call *k);
bool mut_droppable(mut *m, int c);

// One fault of each kind; false: this record, or this seed, has no place for it.
#define X(name, function) bool mut_##function(mut *m);
MUTATIONS(X)
#undef X

#endif
