// The tensors of a checkpoint as one set, whatever files they lie in.
//
//     F.safetensors                    one file
//     FOLDER                           model.safetensors, or the shards that
//                                      model.safetensors.index.json names; beside them
//                                      optimizer.safetensors, or its shards
//     FOLDER with step-N in it         the newest of these
//     …/model.safetensors[.index.json] the folder that it lies in
//
// Files are mapped: of a tensor only the pages are read that somebody looks at.

#ifndef HAP_RUNTIME_SHARDS_H
#define HAP_RUNTIME_SHARDS_H

#include "core/rank.h"
#include "core/safetensors.h"

// What a file of hapc says of the run that wrote it, in its metadata as hap.NAME.
typedef struct hap_saved {
    bool known;     // false: the file is of something else
    int64_t format; // 0: of an hapc before formats were numbered
    int64_t step, cursor;
    int64_t samples; // of an epoch; 0: the program reads no batches
    uint64_t seed;
    bool shuffle;
    int64_t end; // the step before which the run was to end; written for `hapc run`, not read
    char graph[72];
} hap_saved;

typedef struct hap_shards {
    int n;
    hap_st *file;
    char **path;
    char folder[2304]; // of files beside the weights (config.json); "": a single file
    hap_saved saved;   // the same in all files
} hap_shards;

enum { HAP_PIECE = 16 << 20 }; // bytes of a file's data under one checksum
// What the metadata mean; another number where a reader of this one would take them wrongly.
enum { HAP_CHECKPOINT_FORMAT = 1 };
#define HAP_HEAD_KEY "\"hap.head\":\"" // its value: hap_head_sum of the header

// Checksum of a file's header, in 16 digits and a zero: names, dtypes, shapes, places and metadata,
// its own 16 digits read as zeros. False if the header has no place for it, or memory is short.
bool hap_head_sum(const char *head, int64_t bytes, char *sum);
// False with one message in why.
bool hap_shards_open(hap_shards *s, const char *path, char *why, int n);
const hap_st_tensor *hap_shards_find(const hap_shards *s, const char *name, const char **path);
// Compares every n_ranks-th piece with its checksum, so that all ranks together read each file
// once. why names a tensor with bytes in a damaged piece. Files of others have none.
void hap_shards_verify(const hap_shards *s, int rank, int n_ranks, char *why, int n);
void hap_shards_close(hap_shards *s);

// "step-120": 120; -1 for other names.
int64_t hap_step_of_name(const char *name);

#endif
