// hapc: what its commands share.
//
// Exit codes (docs: design.md section 2): 0 done, 1 bad input, 2 usage, 3 no feasible plan, 4 bug,
// 5 the run failed, 130 interrupted. Errors go to stderr as "hapc: error: …", or located, like a
// compiler's.

#ifndef HAP_CLI_CLI_H
#define HAP_CLI_CLI_H

#include "emit/emit.h"
#include "ir/base/tree.h"

enum {
    CLI_GO = -1, // no exit code: what was asked goes on
    CLI_OK = 0,
    CLI_INPUT = 1,
    CLI_USAGE = 2,
    CLI_INFEASIBLE = 3,
    CLI_BUG = 4,
    CLI_FAILED = 5,
    CLI_INTERRUPTED = 130
};

int cmd_synthesize(int argc, char **argv); // argv[0] is the first argument of the command itself
int cmd_run(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_devices(int argc, char **argv);

// "hapc: error: …"; returns the code.
int cli_error(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// A line behind it or of its own: "hint: …", "note: …".
void cli_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
// Prints a verdict; on a terminal its labels, at the start of lines, are bold.
void cli_print_labelled(hb_str text);

// Where the values of a command's options go. Options are "--name value" or "--name=value"; flags
// have no value. Which there are stands in cli/commands.def.
typedef struct cli_option {
    const char *name;   // "--batch", "-o"
    const char **value; // where the value goes; NULL: a flag
    bool *flag;         // with a value: the option may be repeated, value has room for every
                        // argument and is ended by NULL
} cli_option;
// What stands on a command line beside them.
typedef struct cli_line {
    int least, most;   // how many other arguments
    const char **rest; // they; room for most
    char **passed;     // `hapc run`: the program's options, with their values; room for argc + 1
    int n_rest, n_passed;
} cli_line;
// Goes through argv. CLI_GO, or an exit code: after --help, and after an error was printed.
int cli_parse(const char *command, int argc, char **argv, const cli_option *o, int n, cli_line *l);
// Whether an option may have this value; its choices are said if not.
bool cli_choice(const char *command, const char *option, const char *value);
// The value of --cuda. False after an error was printed, with the nearest key or value as a hint.
bool cli_cuda_options(const char *text);
bool cli_integer(const char *option, const char *text, int64_t least,
                 int64_t *out); // prints its error
bool cli_real(const char *option, const char *text, double *out);

const char *cli_version(void);
const char *cli_self_dir(hb_arena *a); // folder of the hapc binary
const char *cli_devices(hb_arena *a);  // catalogue of devices, NULL: let cl_read search

// Graph, cluster and cost model, from files; errors are printed.
typedef struct cli_inputs {
    ir_graph *g;
    cl_cluster *cluster;
    cost_model model;
} cli_inputs;
bool cli_load(hb_arena *a, const char *graph, const char *cluster, const ir_options *o,
              cli_inputs *out);
// The same of a cluster file with values changed (cl_read_changed).
bool cli_load_changed(hb_arena *a, const char *graph, const char *cluster, const hb_str *change,
                      int n_changes, const ir_options *o, cli_inputs *out);

// A cluster file, or the sample of that name that hapc brings. NULL after an error was printed.
const char *cli_cluster_file(hb_arena *a, const char *name);

// A plan folder's plan.json, read and checked for being one. NULL after an error was printed.
hb_tree *cli_plan(hb_arena *a, const char *dir);
int64_t cli_plan_int(const hb_tree *plan, const char *key, int64_t otherwise);
hb_str cli_text_at(const hb_tree *t, const char *key);         // empty if it is not there
double cli_number_at(const hb_tree *t, const char *key);       // NaN if it is not there
const hb_tree *cli_list_at(const hb_tree *t, const char *key); // empty if it is not there
// With which batch, precision, micro-batches and recomputation the plan was made. False after an
// error was printed.
bool cli_plan_options(hb_arena *a, const hb_tree *plan, ir_options *o);
// Pins (--pin) of a graph, as typed or from a plan; NULL in *out if there are none. False after
// errors were printed, located in the pin's text.
bool cli_pins(hb_arena *a, const cli_inputs *in, const hb_str *text, int n, const syn_pins **out);
bool cli_plan_pins(hb_arena *a, const cli_inputs *in, const hb_tree *plan, const syn_pins **out);
// --precision and --grad-dtype; NULL: not given. False after an error was printed (exit 2).
bool cli_precision(const char *precision, const char *grad_dtype, ir_options *o);
// --micro-batches and --recompute (none, all, how many or which blocks); as cli_precision.
bool cli_variant(const char *micro_batches, const char *recompute, ir_options *o);

#endif
