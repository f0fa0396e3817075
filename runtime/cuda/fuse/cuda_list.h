// Questions about a recorded step, and the moves that its fusing is made of.
//
// What a tensor's bytes hold between two calls is known by its place in memory alone: from a call
// that writes there to the next one that does. A tensor with strides (cuda_call.at) counts as the
// whole run of bytes that it lies in.

#ifndef HAP_RUNTIME_CUDA_LIST_H
#define HAP_RUNTIME_CUDA_LIST_H

#include "cuda/fuse/cuda_record.h"

bool cuda_meets(const hap_tensor *a, const hap_tensor *b);
bool cuda_same_place(const hap_tensor *a, const hap_tensor *b); // and type; shapes may differ

// Whether call i reads or writes bytes of t.
bool cuda_reads(const cuda_record *c, int i, const hap_tensor *t);
bool cuda_writes(const cuda_record *c, int i, const hap_tensor *t);
// Whether a collective that is under way somewhere in calls from..to touches t.
bool cuda_under_way(const cuda_record *c, int from, int to, const hap_tensor *t);
// Read when the step is over, or before the next one writes it.
bool cuda_outlives(const hap_rank *r, const hap_tensor *t);
// The same of what a call makes: an input of the step that lay there is used up by then.
bool cuda_made_outlives(const hap_rank *r, const hap_tensor *t);
// The first call after i that writes on t, c->n if none does; the last one before i, -1 if none.
int cuda_next_write(const cuda_record *c, int i, const hap_tensor *t);
int cuda_last_write(const cuda_record *c, int i, const hap_tensor *t);
// No call in from..to touches t, and no collective under way there.
bool cuda_untouched(const cuda_record *c, int from, int to, const hap_tensor *t);
// What call `from` writes to t is read by call `reader` and by none but it.
bool cuda_only_reads(const cuda_record *c, int from, int reader, const hap_tensor *t);

// `as` with the elements of `of`: the same shape in another type and place.
hap_tensor *cuda_retyped(hap_rank *r, cuda_record *c, const hap_tensor *as, const hap_tensor *of);

// Whether all calls that read t, from call `from` on until it is written again, are ops with t, or
// a part of it, as a dense operand; *last is the last of them, `from` if there is none.
bool cuda_ops_read(const cuda_record *c, int from, const hap_tensor *t, int *last);
// Or collectives that send it from where it lies.
bool cuda_ops_or_colls_read(const cuda_record *c, int from, const hap_tensor *t, int *last);
// Calls in from..to that read t, or a part of it, read `there`.
void cuda_redirect(hap_rank *r, cuda_record *c, int from, int to, const hap_tensor *t,
                   const hap_tensor *there);
// Gives output t of op i a place of its own, outside the arena, if it is small and ops alone read
// it: so that calls may move that its place in the arena holds back.
bool cuda_gets_room(hap_rank *r, cuda_record *c, int i, const hap_tensor *t);

// An op that updates a parameter, alone or with those that are joined to it.
bool cuda_updates(const cuda_call *e);

// Whether calls k and j must stay in their order.
bool cuda_ordered(const cuda_record *c, int k, int j);
// Moves op `from` up to place `to` if nothing between stands in its way.
bool cuda_moves_up(cuda_record *c, int from, int to);
// The same for the start of a collective, and its way up, which is free.
bool cuda_start_ordered(const cuda_record *c, int k, int start);
void cuda_start_goes(cuda_record *c, int from, int to);
// Makes op `from` the head of the chain that starts at `first`, after it, if it may move there.
bool cuda_leads(cuda_record *c, int from, int first);
// Puts an op before call `at`.
void cuda_insert(hap_rank *r, cuda_record *c, int at, const hap_op_call *op);
// Whether op may stand at call `to` instead of call `from`, behind it.
bool cuda_may_rise(const cuda_record *c, int from, int to, const hap_op_call *op);
// Puts the ops of fusion i in its place, call by call.
void cuda_opens(hap_rank *r, cuda_record *c, int i);
// Makes op j the next call of the chain that starts at `first`, if it may move there.
bool cuda_joins(cuda_record *c, int first, int j);
// The next op of this kind among the calls soon after i that reads t as an operand and is in no
// chain; -1 if there is none.
int cuda_reader_near(const cuda_record *c, int i, hap_op_id op, const hap_tensor *t);
// The same among the next `most` calls.
int cuda_reader_within(const cuda_record *c, int i, int most, hap_op_id op, const hap_tensor *t);
// A kernel goes over rows, each thread over its own elements: what it writes lies where it reads
// the same element, or apart.
bool cuda_apart(const hap_op_call *const *op, int n);

#endif
