// Values a run starts from and leaves behind: safetensors files of global tensors.
//
// A file holds parameters, buffers and, if it is a checkpoint, moments and hap.step, hap.seed,
// hap.cursor (i64 scalars). No cut is in it: any plan of the same graph reads it, each rank its
// part.

#ifndef HAP_RUNTIME_CHECKPOINT_H
#define HAP_RUNTIME_CHECKPOINT_H

#include "core/rank.h"

// All functions are called by all ranks together.

// Gives every variable its first value: from --init, from the file of a constant, or made. Exits
// with one message if a file is wrong.
void hap_checkpoint_load(hap_rank *r);
// The same for rehearsals: file and shapes are checked, but of its values only hap.step, hap.cursor
// and hap.seed are read. Parameters and buffers get numbers like those they are made with, moments
// are left zero.
void hap_checkpoint_stand_in(hap_rank *r);
// Written beside `path` and renamed: the file is never half there.
void hap_checkpoint_save(hap_rank *r, const char *path);
void hap_checkpoint_save_grads(hap_rank *r, const char *path);
// Says at the start what could not be written at the end. "" or why.
void hap_checkpoint_check(const hap_rank *r, char *why, int n);

#endif
