// The measuring program (`hapc profile`): what ops of the table and collectives take, as a
// program of hapc runs them.
//
// A case is a list of calls, made inside a step through core's own dispatch, several times over on
// buffers that follow each other in memory; the backend is told to forget the case before, so that
// on CUDA it is recorded, fused and captured as a step of its own, and what is timed are replays.
// All ranks run all cases together, at the same times: ranks share memory and links as in training.

#ifndef HAP_PROFILE_H
#define HAP_PROFILE_H

#include "core/backend.h"
#include "core/tensor.h"

typedef enum {
    PROFILE_OP,
    PROFILE_COPY,
    PROFILE_COLL,
    PROFILE_CONTENTION,
    PROFILE_PAIR,
    PROFILE_STRETCH,
    PROFILE_OVERHEAD
} profile_kind;

// One figure of this rank.
typedef struct profile_result {
    profile_kind kind;
    const char *name, *form; // of the op or the collective; others: what
    const char *dtype;
    double thin, size; // thin: flop per byte of dense rows, else 0; size: flops, else bytes
    double sec;        // CONTENTION: how many times slower
} profile_result;

typedef enum {
    CALL_OP,
    CALL_CUT,
    CALL_START,
    CALL_WAIT,
    CALL_OVERLAP,
    CALL_OVERLAPPED
} profile_call_kind;
typedef struct profile_call {
    profile_call_kind kind;
    hap_op_call op; // CUT: out[0] and in[0]
    hap_coll_call coll;
    hap_tensor *dst, *src; // of coll
    int n_chunks;          // OVERLAP
    const int64_t (*chunks)[3];
    const hap_pair_tiles *tiles; // NULL: no list
} profile_call;

typedef struct profile {
    hap_rank *r;
    hap_device device;
    bool quick, only_dense;
    const char *dense_dtype; // what f32 matmuls are called here: "f32" or "tf32"
    bool peers;              // ranks are of one host, which one-sided puts are for
    // The segments: local, two zones, of what cases read and what they write, and one of indices;
    // and one of what other ranks write. Tensors take the next place in their zone, and go round.
    int64_t zone[3], at[3], ids;
    // The case being built.
    profile_call *call;
    int n_calls, cap_calls;
    void **owned;
    int n_owned, cap_owned;
    double step_sec; // of a step that does nothing
    double heat;     // seconds that a case runs before it is timed: clocks are those of long work
    profile_result *result;
    int n_results, cap_results;
    // Progress on stdout: what part of the whole command this run is, in percent.
    bool shown;
    double from, to;
    int n_cases, n_expected;
} profile;

enum { PROFILE_IN, PROFILE_OUT, PROFILE_SYM };

// --- building a case ---
void profile_begin(profile *p);
// A whole tensor in a zone. NULL if it is too large for the zone to hold a few of them.
hap_tensor *profile_tensor(profile *p, int zone, hap_dtype type, int rank, const int64_t *size);
hap_tensor *profile_cut(profile *p, int zone, hap_dtype type, int rank, const hap_dim *dims);
hap_tensor *profile_ids(profile *p, int64_t n); // i64 in [0, PROFILE_IDS)
enum { PROFILE_IDS = 8192 };
void *profile_own(profile *p, size_t bytes); // until the next case
profile_call *profile_add(profile *p, profile_call_kind kind);
void profile_add_coll(profile *p, const hap_coll_call *c, hap_tensor *dst, hap_tensor *src);

void profile_add_matmul(profile *p, hap_tensor *y, hap_tensor *x, hap_tensor *w); // y = x w
// An all-gather of x and y = x w beside it, in chunks and, unless NULL, as a list of tiles; without
// chunks one after the other. `form` as for coll_all_gather_start.
void profile_add_gathered(profile *p, hap_form form, int n_chunks, const int64_t (*chunks)[3],
                          const hap_pair_tiles *tiles, hap_tensor *full, hap_tensor *x,
                          hap_tensor *w, hap_tensor *y);
// y = x w, then a collective of y to dst.
void profile_add_scattered(profile *p, const hap_coll_call *c, int n_chunks,
                           const int64_t (*chunks)[3], const hap_pair_tiles *tiles, hap_tensor *dst,
                           hap_tensor *y, hap_tensor *x, hap_tensor *w);

// Seconds of the calls, from a barrier to when the device is done, the step's own overhead taken
// off: the median over some steps, at least 1 ns.
double profile_run(profile *p);
// A step of the case; seconds until the device is done.
double profile_step(profile *p);
// How often to repeat a case of about this much work, so that it can be timed.
int profile_times(const profile *p, double flops, double bytes);
void profile_keep(profile *p, profile_result x);
void profile_progress(profile *p); // a case is done

// --- the cases ---
void profile_dense(profile *p);
void profile_rows(profile *p);
void profile_colls(profile *p);
void profile_runs(profile *p);
void profile_contention(profile *p);
void profile_in_step(profile *p);
void profile_pairs(profile *p);

#endif
