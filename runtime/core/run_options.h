// Options that every emitted program takes (hap/run_options.def).

#ifndef HAP_RUNTIME_RUN_OPTIONS_H
#define HAP_RUNTIME_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HAP_MAX_INPUTS = 64 };

#define HAP_OPTION_GROUP(title)
#define HAP_OPTION(name, value, what)
#define HAP_OPTION_INNER(name, value, what)

// HAP_CUDA_graph_list, …: values of a key count from 0, the usual one.
enum {
#define HAP_CUDA_KEY(key, what)          HAP_CUDA_##key##_ = -1,
#define HAP_CUDA_VALUE(key, value, what) HAP_CUDA_##key##_##value,
#include "hap/run_options.def"
#undef HAP_CUDA_KEY
#undef HAP_CUDA_VALUE
    HAP_CUDA_VALUES_END
};

// --cuda: an int a key. On CPUs they have no meaning.
typedef struct hap_cuda_options {
#define HAP_CUDA_KEY(key, what) int key;
#define HAP_CUDA_VALUE(key, value, what)
#include "hap/run_options.def"
#undef HAP_CUDA_KEY
#undef HAP_CUDA_VALUE
} hap_cuda_options;

#undef HAP_OPTION_GROUP
#undef HAP_OPTION
#undef HAP_OPTION_INNER

typedef struct hap_named_file {
    const char *name, *file;
} hap_named_file;

typedef struct hap_options {
    int64_t steps;  // of this run
    int64_t epochs; // since training began, 0: steps count
    int n_inputs, n_evals;
    hap_named_file input[HAP_MAX_INPUTS], eval[HAP_MAX_INPUTS];
    int64_t eval_every;   // 0: only at the end
    int64_t eval_batches; // 0: all
    int tokens;           // type of .bin files: hap_item of npy.h
    const char *init, *save, *save_grads, *trace, *metrics;
    int64_t save_every; // 0: only at the end
    int64_t keep;       // checkpoints; 0: all
    int64_t shard_size; // bytes
    bool fresh;         // of --init the weights alone
    bool json, shuffle, check_nan, has_seed, has_steps, has_rehearse, verbose;
    uint64_t seed;
    int64_t rehearse; // has_rehearse: passes ahead of step 0, else as many as the backend wants
    int64_t pace;     // say how fast ranks are every so many steps; 0: never
    hap_cuda_options cuda;
    const char *folder;    // of the program: files of constants are relative to it
    const char *heartbeat; // folder of the ranks' files, NULL: none (heartbeat.h)
    const char
        *calls; // what a step calls, by stage (core/call_sum.h): hex numbers and commas; NULL
    double peak_seconds;      // of a step's matmuls at the devices' peak, 0: not known
    double predicted_seconds; // of a step, 0: not known
} hap_options;

// False with a message in why (of size n) on a usage error.
bool hap_options_parse(hap_options *o, int argc, char **argv, char *why, int n);
uint64_t hap_calls_wanted(const hap_options *o, int stage); // of --calls; 0: it has none for it
// The value of --cuda alone: "graph=list,tune=off".
bool hap_cuda_options_parse(hap_cuda_options *o, const char *text, char *why, int n);

#ifdef __cplusplus
}
#endif

#endif
