// hapc: which command, and nothing else.

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/commands.h"

static int cmd_completion(int argc, char **argv)
{
    const char *shell[1];
    cli_line l = {.least = 1, .most = 1, .rest = shell};
    int code = cli_parse("completion", argc, argv, NULL, 0, &l);
    if (code != CLI_GO) return code;
    if (cli_print_completion(stdout, shell[0])) return CLI_OK;
    return cli_error(CLI_USAGE, "there is completion for bash, zsh and fish, not '%s'", shell[0]);
}

static int cmd_man(int argc, char **argv)
{
    cli_line l = {0};
    int code = cli_parse("man", argc, argv, NULL, 0, &l);
    if (code == CLI_GO) cli_print_man(stdout);
    return code == CLI_GO ? CLI_OK : code;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {{"run", cmd_run},         {"check", cmd_check},     {"report", cmd_report},
                {"explain", cmd_explain}, {"diff", cmd_diff},       {"compare", cmd_compare},
                {"profile", cmd_profile}, {"devices", cmd_devices}, {"completion", cmd_completion},
                {"man", cmd_man}};

int main(int argc, char **argv)
{
    if (argc < 2) {
        cli_print_help(stderr, "");
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
#ifdef HAP_COMMIT
        printf("hapc %s (%s)\n", cli_version(), HAP_COMMIT);
#else
        printf("hapc %s\n", cli_version());
#endif
        return CLI_OK;
    }
    enum { N = sizeof commands / sizeof *commands };
    const char *names[N];
    for (int i = 0; i < N; i++) {
        names[i] = commands[i].name;
        if (strcmp(argv[1], names[i]) == 0) return commands[i].run(argc - 2, argv + 2);
    }
    struct stat s;
    size_t n = argc > 2 ? strlen(argv[2]) : 0;
    bool word = argv[1][0] != '-' && !strpbrk(argv[1], "./");
    if (word && n > 5 && strcmp(argv[2] + n - 5, ".json") == 0) {
        cli_error(CLI_USAGE, "there is no command '%s'; planning needs no word", argv[1]);
        fprintf(stderr, "hint: hapc");
        for (int i = 2; i < argc; i++)
            fprintf(stderr, " %s", argv[i]);
        fputc('\n', stderr);
        return CLI_USAGE;
    }
    if (word && stat(argv[1], &s) != 0) {
        const char *near = hb_nearest((hb_str){argv[1], strlen(argv[1])}, names, N);
        if (near) {
            cli_error(CLI_USAGE, "unknown command '%s'", argv[1]);
            fprintf(stderr, "hint: did you mean '%s'?\n", near);
            return CLI_USAGE;
        }
    }
    return cmd_synthesize(argc - 1, argv + 1);
}
