// Transfers by one-sided puts: this rank's copy engines write into the SEG_SYM of other ranks of
// the host, which are mapped here (cuda_segment.h), and raise a flag there behind the data.
//
// A collective goes through open, sends, awaits, close, in the order of the program on all members:
//
//     cuda_put *p = cuda_put_open(r, call, n_parts);
//     for each other member m, me + 1 first:
//         for each part: cuda_put_send(p, m, part, from, to, bytes);
//     cuda_put_await(p, stream, m, part);      // on any stream, before what reads the part
//     cuda_put_close(p, stream, done);         // done: sources may be written again
//
// Flags and credits are numbers that only grow. Of each axis mask one count is kept, the same on
// all members: a collective of n parts takes the next n + 1 numbers, and part k of member m has
// come when m's flag here has reached its number. So parts to one member are sent in ascending
// order, and all members open the same collectives with the same number of parts; parts may be left
// out. The numbers are values in the calls; in a captured step they are set anew before each launch
// (cuda_whole.h).
//
// Who may write what, and when. Let C be a collective, f its first number, A and B two members.
//
//     memory of A that B writes   by B's transfer stream alone, once B has seen A's credit >= f. A
//                                 gives it when its compute stream has come to the open of C, or
//                                 to a call before from which on none but C's touches that memory
//                                 (cuda_ahead.h): nothing of A still reads or writes what lay
//                                 there, and what A does next with it waits for B's flag. Only A
//                                 gives credits for its memory, in the order of the opens; when,
//                                 is its own affair.
//     A's flag of B, ARRIVED      by B's transfer stream alone, behind the copies of the part and
//                                 behind all earlier flags of B there: they are written by one
//                                 stream, or by streams that were joined when their number changed.
//                                 What a kernel stored in A's memory need not be there when the
//                                 kernel has ended: the write of a number is a fence of the system
//                                 before it, for all that its stream comes behind.
//     B's flag of A, CREDIT       by A's stream of credits alone, in the order of the opens. Each
//                                 write waits for A's compute stream alone, at the open or before.
//     A's flag MADE of a part     by A's kernel that makes it, once in the collective, with a
//                                 release of the system behind all stores of the part; A's streams
//                                 wait for it before they send the part.
//     A's flag STORED of B's part by B's kernel that stores the part in A's memory itself, in
//                                 place of a copy: once in the collective, with a release of the
//                                 system behind all stores of the part, once B has seen A's credit.
//                                 Parts have flags of their own, as they come in any order.
//     sources                     by B once `done` of the close has come: behind all of its copies.
//
// Nothing blocks for good: a stream waits only for events and for numbers, and of what a collective
// waits for everything belongs to earlier collectives of the program, or is enqueued on each member
// before anything that waits for it. By induction over the collectives in the order of the program,
// which is the same on all members, each of them ends; streams that hold several (credits,
// transfers) hold them in that order. A first launch that loads its kernel may wait for all of this
// device: in a collective no send stands behind a wait for what the other members enqueue behind
// such a send. Kernels of transfers are short and wait for nothing. Work is enqueued so that this
// holds for streams that share a queue of the device as well. A captured step is not covered by
// this: its launch is enqueued whole, but nodes without order between them may stand in a queue in
// another order than they were enqueued in (cuda_whole.h). One one-sided put is open at a time.
// tests/cuda/put_order_test.c runs this file on streams of its own, in orders drawn at random.
//
// What a stream waits for or writes at one place goes to the driver in one batch: a transfer
// stream's credits before its first copy, the flags of a whole collective behind its last one, a
// receiver's waits for all members. That was the fastest of the ways that were tried
// (bench/results/2026-11-21-push-ways-h200x4.txt).

#ifndef HAP_RUNTIME_CUDA_PUT_H
#define HAP_RUNTIME_CUDA_PUT_H

#ifdef __cplusplus
extern "C" {
#endif

#include "core/coll_geometry.h"
#include "core/put_turns.h"
#include "cuda/device/cuda_context.h"

typedef struct cuda_put cuda_put;
enum { CUDA_PUT_MEMBERS = 64 }; // of a group, at most

// Behind the tensors of SEG_SYM lie flags, [axis mask][kind][source rank], then [axis mask][part],
// MADE, [axis mask][part][source member], STORED, and [axis mask], NUMBER, CUDA_PUT_FLAG_BYTES
// apart.
typedef enum { CUDA_PUT_CREDIT, CUDA_PUT_ARRIVED, CUDA_PUT_KINDS } cuda_put_flag;
enum { CUDA_PUT_FLAG_BYTES = 128 };
// Of parts that kernels store, at most, and of members.
enum { CUDA_PUT_STORED_PARTS = 64, CUDA_PUT_STORED_MEMBERS = 8 };

// Bytes; tests change them between steps, on all ranks alike.
typedef struct cuda_put_sizes {
    int64_t piece; // of a piece of a message, on average, at least
    int64_t run;   // parts that lie in shorter runs are copied by a kernel
    int64_t turn;  // of a message that is sent in several turns, each of them
} cuda_put_sizes;
cuda_put_sizes *cuda_put_sizes_of(const hap_rank *r);

// In which order the members of a group send what goes from i to j, bytes[i * n + j]; kept. With
// more than one of the copies of a member in flight, messages stay whole and go by distance.
// `gathers`: all get the same of a member, so that others may pass it on.
const hap_put_turns *cuda_put_turns(hap_rank *r, int n, const int64_t *bytes, int copies,
                                    bool gathers);

// All members of this rank's group have one another's segments mapped: the form is done by
// one-sided puts. Else it is done point to point by NCCL. The same answer on all members; false for
// a group of one.
bool cuda_put_peers(const hap_rank *r, unsigned axes);

// Credits for the next collective of the mask that has none, once the compute stream has come here.
void cuda_put_credit(hap_rank *r, unsigned axes, int n_parts);

// The collective's turn: credits to every member, unless they are given, once the compute stream
// has come here; sends wait for the compute stream as well.
cuda_put *cuda_put_open(hap_rank *r, const hap_coll_call *c, int n_parts);

// The event of the open on the compute stream; until the next open.
cudaEvent_t cuda_put_opened(const cuda_put *p);

// The stream that sends to the member, of as many as the form has copies in flight: members by
// distance in turn, so that each gets as many messages at a time as it sends. Sends of what is made
// after the open are to wait for it (cudaStreamWaitEvent on this stream).
cudaStream_t cuda_put_stream(const cuda_put *p, int member);

// `bytes` from `from` to where the member has what is at `to` in this rank's SEG_SYM; then the flag
// of the part. The first send to a member waits for its credit.
void cuda_put_send(cuda_put *p, int member, int part, const void *from, void *to, int64_t bytes);
// The same in pieces: copies, of `part` of tensors that are stored over boxes; then the flag.
void cuda_put_copy(cuda_put *p, int member, const hap_coll_view *v, const void *from,
                   hap_box from_held, void *to, hap_box to_held, hap_box part);
void cuda_put_raise(cuda_put *p, int member, int part);
// The flags of n parts, of different members; behind all sends so far to them.
void cuda_put_raise_all(cuda_put *p, int n, const int *member, const int *part);

// Sends from here on wait for what stream s has been given.
void cuda_put_sends_after(cuda_put *p, cudaStream_t s);

// What stream s does next waits for that part of the member.
void cuda_put_await(cuda_put *p, cudaStream_t s, int member, int part);
void cuda_put_await_all(cuda_put *p, cudaStream_t s, int n, const int *member, const int *part);

// A kernel of this rank that makes parts, or reads them as they come (cuda_pair_tiles.h). Flags by
// number from those of cuda_put_flags on; part k's value is cuda_put_number + k. Part k is made
// when the kernel has raised its flag; sends to the member are to wait for it. The number is an
// argument of the kernel; in a captured step it is written where cuda_put_number_at says, before
// the kernel.
int cuda_put_credit_flag(const hap_rank *r, unsigned axes, int member); // of its memory
int cuda_put_arrived_flag(const hap_rank *r, unsigned axes, int member);
// Of its part, of CUDA_PUT_STORED_PARTS.
int cuda_put_stored_flag(const hap_rank *r, unsigned axes, int part, int member);
int cuda_put_made_flag(const hap_rank *r, unsigned axes, int part);
uint32_t cuda_put_number(const cuda_put *p);
const uint32_t *cuda_put_number_at(cuda_put *p, cudaStream_t s);
void cuda_put_await_made(cuda_put *p, cudaStream_t s, int part);
// What the member has at `at` of this rank's SEG_SYM, and its flags, as they are mapped here.
void *cuda_put_at(hap_rank *r, unsigned axes, int member, const void *at);
uint32_t *cuda_put_flags_at(const hap_rank *r, unsigned axes, int member);

// Where a kernel says what it waited for too long, 1 + the flag's number: host memory, mapped.
// NULL, or a message, once for each time.
uint32_t *cuda_put_late_at(const hap_rank *r);
const char *cuda_put_late(const hap_rank *r);

// Stream s goes on when all that was sent has left; done: and what it has been given has run. NULL:
// nobody asks.
void cuda_put_close(cuda_put *p, cudaStream_t s, cudaEvent_t done);

// A whole collective of form PUT between peers; `done` is recorded on the stream, or
// NULL, where it is the compute stream.
void cuda_put_run(hap_rank *r, const hap_coll_call *c, cudaStream_t s, cudaEvent_t done);
// Its credits, ahead of it.
void cuda_put_run_credit(hap_rank *r, const hap_coll_call *c);
// The same point to point by NCCL, on the stream.
void cuda_put_by_nccl(hap_rank *r, const hap_coll_call *c, cudaStream_t s);

// For steps that are captured with their one-sided puts (cuda_whole.h). All streams of transfers
// and credits.
enum { CUDA_PUT_STREAMS = CUDA_PUT_MEMBERS + 1 };
int cuda_put_streams(const hap_rank *r, cudaStream_t s[CUDA_PUT_STREAMS]);
// Numbers taken of the mask, and from here on; no credit is given of what comes behind.
uint32_t cuda_put_taken(const hap_rank *r, unsigned axes);
void cuda_put_take(hap_rank *r, unsigned axes, uint32_t number);
// The axis mask of the flag there, -1: it is none.
int cuda_put_mask_at(const hap_rank *r, const void *at);
// All flags of this rank, whatever they say, n of them; NULL: it has none.
void *cuda_put_flags(const hap_rank *r, int *n);

// The segment of transfers, NULL if this rank has no peers; streams and flags; the end of the rank.
char *cuda_put_start(hap_rank *r, int64_t bytes);
void cuda_put_end(hap_rank *r);

#ifdef __cplusplus
}
#endif

#endif
