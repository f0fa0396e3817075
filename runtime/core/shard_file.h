// Writer of one safetensors file of global tensors, gathered from all ranks by rank 0.

#ifndef HAP_RUNTIME_SHARD_FILE_H
#define HAP_RUNTIME_SHARD_FILE_H

#include "core/shards.h"

int64_t hap_global_bytes(const hap_tensor *t);
// Called by all ranks together. On rank 0 the file is at `path` afterwards and on the disk; another
// file of this name is lost. saved: what the file says of the run; NULL: nothing. Rank 0 gets false
// and errno where it cannot be written, and the others go on; no half of it is left.
bool hap_shard_write(hap_rank *r, const char *path, int n, const hap_var *const *var,
                     const hap_saved *saved);

#endif
