// Values a run starts from and leaves behind: safetensors files of global tensors (shards.h).
//
// Parameters and buffers stand under their own names, so that a folder is one that transformers
// reads; moments in files beside them; step, seed and place in the data in the files' metadata. No
// cut is in a file: any plan of the same graph reads it, each rank its part.
//
//     --save F.safetensors   one file of all
//     --save DIR             DIR/step-N, a folder each time

#ifndef HAP_RUNTIME_CHECKPOINT_H
#define HAP_RUNTIME_CHECKPOINT_H

#include "core/rank.h"

// All functions but the checks are called by all ranks together.

// Gives every variable its first value: from --init, from the file of a constant, or made. Exits
// with one message if a file is wrong.
void hap_checkpoint_load(hap_rank *r);
// The same for rehearsals: files and shapes are checked, but of their values only step, place and
// seed are read. Parameters and buffers get numbers like those they are made with, moments are left
// zero.
void hap_checkpoint_stand_in(hap_rank *r);
// To --save, --save-grads: whole or not at all; what was there stays until the new is on the disk.
void hap_checkpoint_save(hap_rank *r);
void hap_checkpoint_save_grads(hap_rank *r);
// Say at the start what could not be written at the end, and clear away what runs that were killed
// left half-written. "" or why.
void hap_checkpoint_check(const hap_rank *r, char *why, int n);
void hap_checkpoint_check_steps(const hap_rank *r, char *why, int n); // r->now is set

#endif
