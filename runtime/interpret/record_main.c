// hap-record PROGRAM.c --record FILE [--class K] [--stage S]: what the program calls in a step, as
// the recording backend logs it, without compiling or running it (`hapc check`).
//
// Ends with 1 and one message, with line and column, if the program has what the language of
// emitted programs has not (interpret.h); with 5, as any program of the runtime, if a call cannot
// be right.

#include <stdio.h>

#include "core/fail.h"
#include "interpret/interpret.h"

// Is the name of token i declared there? Behind "int", "int64_t", or a "*" or "* const" of a type.
static bool is_declared(const interpreter *x, int i)
{
    const token *k = x->t.token;
    int type = i - 1;
    if (type < 1 || k[i].kind != TOK_NAME) return false;
    if (k[type].kind == TOK_NAME && (k[type].name == W_int || k[type].name == W_int64_t))
        return true;
    if (k[type].kind == TOK_NAME && k[type].name == W_const) type--;
    if (type < 1 || k[type].kind != TOK_SIGN || k[type].sign != '*' || k[type - 1].kind != TOK_NAME)
        return false;
    int name = k[type - 1].name;
    return name == W_hap_event || name == W_hap_tensor || x->symbol[name].kind == S_TYPE;
}

// What a walk does not come by, such as another stage, holds no names of others either.
static void check_names(interpreter *x)
{
    for (int i = 0; i < x->t.n; i++)
        if (is_declared(x, i) && x->t.token[i].name >= x->n_fixed) declare(x, i);
    for (int i = 0; i < x->t.n; i++)
        if (x->t.token[i].kind == TOK_NAME && !x->known[x->t.token[i].name])
            refuse(x, i, "'%s'", name_at(x, i));
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: hap-record PROGRAM.c --record FILE [--class K] [--stage S]\n", stderr);
        return HAP_EXIT_USAGE;
    }
    interpreter x = {
        .argc = argc - 1, .argv = argv + 1, .runtime = runtime_value, .function = call_function};
    know_calls(&x);
    tokens_read(&x.t, argv[1]);
    x.symbol = take_memory(x.t.n_names * (int64_t)sizeof *x.symbol);
    x.known = take_memory(x.t.n_names);
    for (int i = 0; i < x.n_known; i++)
        x.known[i] = true;
    read_declarations(&x);
    check_names(&x);
    run_main(&x);
    return 0;
}
