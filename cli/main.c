// hapc: which command, and nothing else.

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "synth/passes/passes.h"

static const char help[] =
    "hapc plans one training step for devices that differ, as a C program.\n"
    "\n"
    "  hapc GRAPH.json CLUSTER.yaml [-o DIR]   plan, write DIR, print the verdict\n"
    "  hapc run DIR [options]                  build DIR/program.c and run its ranks\n"
    "  hapc check DIR                          prove again that DIR/program.c\n"
    "                                          computes DIR/graph.json\n"
    "  hapc report DIR [--open] [--full]       the verdict, the page in a browser,\n"
    "                                          all tables\n"
    "  hapc explain DIR [NAME]                 why a tensor or an op lies as it does,\n"
    "                                          and what else would cost\n"
    "  hapc compare DIR TRACE                  measured times beside predicted ones\n"
    "  hapc profile [CLUSTER.yaml] [-o OUT]    measure devices and links into a\n"
    "                                          cluster file\n"
    "\n"
    "  hapc COMMAND --help, hapc --version\n"
    "\n"
    "The step that is planned:\n"
    "  --batch N           size of the batch, instead of the graph's\n"
    "  --precision P       fp32 (default), tf32, bf16 (f32 master weights; casts as\n"
    "                      torch.autocast makes them)\n"
    "  --grad-dtype D      f32 (default), bf16: gradients may be summed as bf16\n"
    "  --keep-grads        keep reduced gradients for `hapc run --save-grads`\n"
    "\n"
    "Memory (without these two options the planner chooses where memory binds; for a\n"
    "large graph that has a plan, auto makes it choose):\n"
    "  --micro-batches K   the batch in K parts one after the other, gradients added\n"
    "                      up: the same numbers; auto\n"
    "  --recompute B       blocks B keep only their inputs for the backward pass and\n"
    "                      are computed again there: all, none, 3 (the first three),\n"
    "                      0,2,5-7 (these), auto\n"
    "\n"
    "The plan:\n"
    "  --strategy NAME     %s\n"
    "                      (default: auto)\n"
    "  --mesh M            auto (default), flat: one axis over all devices,\n"
    "                      machine: machines x devices\n"
    "  --pairs P           auto (default): matmuls overlap with collectives where\n"
    "                      that pays; off\n"
    "  --pin 'NAME=S'      the values that NAME names (* and ? match any) stand in\n"
    "                      state S where ops read them: R whole, P partial, S(letter)\n"
    "                      or S(dim) cut; S,S on machines and inside them. May be\n"
    "                      repeated\n"
    "  --time-limit S      stop searching after S seconds and keep the best plan\n"
    "\n"
    "Questions:\n"
    "  --what-if CHANGE    plan again with one thing changed, beside the plan:\n"
    "                      batch=64, machines.old.count=0, or another value of the\n"
    "                      cluster file, as 'network.bandwidth=100 Gbit/s'. May be\n"
    "                      repeated\n"
    "\n"
    "What is written:\n"
    "  -o DIR              write graph.json, cluster.yaml, program.c, buffers.h,\n"
    "                      plan.json, report.txt, report.html, trace.json\n"
    "  --full              all tables instead of the verdict\n"
    "  --json              one object on stdout instead of the verdict\n"
    "  -d LETTERS          print: r graph as read, x ops, m with casts, a with\n"
    "                      gradients, o whole step, v its variant (micro-batches,\n"
    "                      recomputation), f factors, c cluster, p plan, l record;\n"
    "                      the plan after a pass:%s\n"
    "  -q, -v              say less, say more\n"
    "\n"
    "Exit: 0 done, 1 bad input, 2 usage, 3 no feasible plan, 4 bug, 5 the run failed,\n"
    "130 interrupted\n";

// " L lower, W place waits, ...", in lines as wide as the help's.
static const char *pass_letters(hb_arena *a)
{
    enum { WIDTH = 78 };
    hb_buf b = {.arena = a};
    int line = WIDTH;
    for (int k = 0; k < SYN_N_PASSES; k++) {
        const char *end = k + 1 < SYN_N_PASSES ? "," : "";
        hb_str word = hb_fmt(a, " %c %s%s", syn_passes[k].letter, syn_passes[k].name, end);
        line += (int)word.n;
        if (line > WIDTH) {
            hb_puts(&b, "\n                     ");
            line = 21 + (int)word.n;
        }
        hb_putn(&b, word.p, word.n);
    }
    return hb_done(&b).p;
}

static int print_help(FILE *to)
{
    hb_arena *a = hb_arena_new();
    fprintf(to, help, syn_strategy_names(a).p, pass_letters(a));
    hb_arena_free(a);
    return to == stdout ? CLI_OK : CLI_USAGE;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {{"run", cmd_run},         {"check", cmd_check},     {"report", cmd_report},
                {"compare", cmd_compare}, {"explain", cmd_explain}, {"profile", cmd_profile}};

int main(int argc, char **argv)
{
    if (argc < 2) return print_help(stderr);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return print_help(stdout);
    if (strcmp(argv[1], "--version") == 0) {
        printf("hapc %s\n", cli_version());
        return CLI_OK;
    }
    enum { N = sizeof commands / sizeof *commands };
    const char *names[N];
    for (int i = 0; i < N; i++) {
        names[i] = commands[i].name;
        if (strcmp(argv[1], names[i]) == 0) return commands[i].run(argc - 2, argv + 2);
    }
    struct stat s;
    if (argv[1][0] != '-' && !strpbrk(argv[1], "./") && stat(argv[1], &s) != 0) {
        const char *near = hb_nearest((hb_str){argv[1], strlen(argv[1])}, names, N);
        if (near) {
            cli_error(CLI_USAGE, "unknown command '%s'", argv[1]);
            fprintf(stderr, "hint: did you mean '%s'?\n", near);
            return CLI_USAGE;
        }
    }
    return cmd_synthesize(argc - 1, argv + 1);
}
