// The language of emitted programs, walked token by token: what stands there is done.
//
// It is a part of C. Tables and tensors are declared, functions call functions of hap/runtime.h and
// each other, loops count, and `if` asks for a counter. There is no other state: numbers are
// constants or counters, tensors are bound when buffers are declared, and what a step keeps of a
// collective is its event. So a program does the same in every step, on every rank of a stage and
// in every environment, and a walk through one step is one through all. What a walk does not come
// by no run comes by either; but every name in the file is one of this language or of the program.

#ifndef HAP_INTERPRET_INTERPRET_H
#define HAP_INTERPRET_INTERPRET_H

#include "core/rank.h"
#include "interpret/tokens.h"

typedef enum {
    V_NONE,
    V_INT,       // i, in the range of an int
    V_LONG,      // i, an int64_t
    V_REAL,      // f
    V_TEXT,      // p: const char *
    V_NULL,      //
    V_RANK,      // the program's r
    V_MAIN,      // &argc, &argv
    V_TENSOR,    // p: hap_tensor *
    V_EVENT,     // p: hap_event *
    V_TENSORS,   // p: hap_tensor *const *, n
    V_EVENTS,    // p: hap_event **, n
    V_INT_LIST,  // p: const int *, n
    V_LONG_LIST, // p: const int64_t *, n
    V_TRIPLES,   // p: const int64_t (*)[3], n
    V_BLOCKS,    // p: hap_tensor ** of the first block's first member, n blocks
    V_BLOCK,     // one of these
    V_BLOCK_AT,  // a pointer to it
    V_INTS,      // p: const hap_ints *
    V_FILL,      // p: const hap_fill *
    V_RATE,      // p: const hap_lr *
    V_CUTS,      // p: const hap_cuts *, n; the same of the next four
    V_PLACES,
    V_STAGES,
    V_PORTS,
    V_SLOTS,
    V_SLOT // p: const hap_slot *
} value_kind;

// A struct of tensors: what one block owns.
typedef struct block {
    int *member; // names, in order
    int n;
} block;

typedef struct value {
    value_kind kind;
    int n;
    int64_t i;
    double f;
    const void *p;
    const block *of;   // V_BLOCK…
    hap_tensor **cell; // V_TENSOR: where it stands, if that is a variable; NULL
    hap_event **event; // V_EVENT: the same
} value;

// What a name stands for in the whole program.
typedef enum { S_NONE, S_VALUE, S_TYPE, S_FUNCTION } symbol_kind;
typedef struct symbol {
    symbol_kind kind;
    value v;         // S_VALUE: an array, a table; V_TENSORS and V_EVENTS of one: `alone`
    bool alone;      // the variable itself, no array
    const block *of; // S_TYPE
    int declared;    // the token from which on it may be used
    int params;      // S_FUNCTION: the token behind its name where its body is; 0: a prototype
    char takes[5];   // a letter each parameter: r the rank, i int, l int64_t
} symbol;

typedef struct local {
    int name;
    value v;
} local;

typedef struct interpreter {
    tokens t;
    int at;               // the next token
    symbol *symbol;       // by name
    bool *known;          // by name: of the language, or declared
    int n_fixed, n_known; // names that no program declares; with those of members of hap_lr
    local *local;
    int n_locals, cap_locals, frame, depth; // the function that runs has those from frame on
    int64_t calls;
    hap_rank *r;
    // What the runtime's name of token `at` stands for; of a function, what its call returns.
    // False: it is none.
    bool (*runtime)(struct interpreter *x, int name, int at, value *v);
    value (*function)(struct interpreter *x, int name, int at); // calls one of the program
    int argc;                                                   // of the recording run
    char **argv;
} interpreter;

// Words of C and of hap/runtime.h and hap/table.h that are no functions; their numbers as names.
#define INTERPRET_WORDS(X)                                                                                  \
    X(static) X(const) X(typedef) X(struct) X(void) X(int) X(int64_t) X(unsigned) X(char)          \
    X(for) X(while) X(if) X(else) X(switch) X(case) X(break) X(return) X(main) X(argc) X(argv)     \
    X(r) X(hap_rank) X(hap_tensor) X(hap_event) X(hap_cuts) X(hap_place) X(hap_stage) X(hap_port)  \
    X(hap_slot) X(hap_ints) X(hap_lr) X(NULL) X(true) X(false) X(HAP_CUT) X(HAP_N) X(HAP_INTS)     \
    X(AXIS) X(FORM_PUT) X(HAP_FILL) X(HAP_NORMAL) X(HAP_UNIFORM) X(HAP_IOTA) X(HAP_FORWARD)        \
    X(HAP_BACK) X(HAP_WEIGHTS) X(HAP_X4) X(HAP_X8) X(HAP_X16) X(HAP_X32) X(HAP_X64) X(HAP_X128) X(HAP_X256)       \
    X(HAP_X512) X(HAP_X1024) X(ONE) X(EACH) X(ALL) X(EACH_FROM) X(ALL_FROM) X(SOME) X(LIST)        \
    X(AT) X(AT_SYM) X(VIEW) X(VIEWS) X(VIEW_LIST) X(AS_INPUT) X(AS_PARAM) X(AS_STATE)              \
    X(AS_BUFFER) X(AS_CONST) X(AS_CONST_OF) X(m) X(back) X(weights)
typedef enum {
#define WORD(word) W_##word,
    INTERPRET_WORDS(WORD)
#undef WORD
        N_WORDS
} word;

// --- tokens (walk.c) ---
const token *next_token(const interpreter *x);
bool is_sign(const interpreter *x, int sign);
bool is_word(const interpreter *x, word w);
bool take_sign(interpreter *x, int sign); // if it is next
bool take_word(interpreter *x, word w);
void want_sign(interpreter *x, int sign); // or the program is refused
void want_word(interpreter *x, word w);
const char *want_text(interpreter *x);
const char *name_at(const interpreter *x, int at);
_Noreturn void refuse(const interpreter *x, int at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));             // where token `at` stands
void skip_to_end(interpreter *x, int open, int close); // from `open` to behind its `close`

// --- variables (variables.c) ---
void declare(interpreter *x, int at);       // the name of token `at` is one of the program's
void bind(interpreter *x, int at, value v); // the same of a variable, to the end of its block
const value *bound(const interpreter *x, int name); // NULL: no variable of the function

// --- expressions (expressions.c) ---
value read_value(interpreter *x);
int64_t read_int(interpreter *x);
// Items up to the sign `end`, which is taken: whole numbers, also HAP_X256(3).
value read_longs(interpreter *x, int end);
value read_triples(interpreter *x, int end); // {-1, 3}, {0, 3, 2}
value read_tensors(interpreter *x, int end);
hap_fill read_fill(interpreter *x); // HAP_FILL(1)
value value_of_int(int64_t i, bool wide);
value ints_of(const interpreter *x, int at, value longs); // the same numbers as a list of int

// --- statements (statements.c) ---
value call_function(interpreter *x, int name, int at); // the next token is its (
// "(hap_rank *r, int i)": a letter each (symbol.takes), their names bound to `given` or, if that is
// NULL, to nothing.
void read_parameters(interpreter *x, char takes[5], const value *given);
void run_main(interpreter *x);

// --- declarations (declarations.c) ---
void read_declarations(interpreter *x); // all of the file

// --- the runtime's functions and constants (calls.c) ---
void know_calls(interpreter *x); // their names, before a program is read
bool runtime_value(interpreter *x, int name, int at, value *v); // interpreter.runtime

#endif
