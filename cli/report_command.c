// hapc report: the verdict of a plan folder, all of it, or its page in a browser.

#include "cli/cli.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool print_file(hb_arena *a, const char *dir, const char *name)
{
    hb_str path = hb_fmt(a, "%s/%s", dir, name), text;
    const char *why = NULL;
    if (!hb_read_file(a, path.p, &text, &why)) {
        cli_error(CLI_INPUT, "%.*s: %s", HB_ARG(path), why);
        return false;
    }
    fwrite(text.p, 1, text.n, stdout);
    return true;
}

// The text up to its first table: what the terminal showed.
static bool print_verdict(hb_arena *a, const char *dir)
{
    hb_str path = hb_fmt(a, "%s/report.txt", dir), text;
    const char *why = NULL;
    if (!hb_read_file(a, path.p, &text, &why)) {
        cli_error(CLI_INPUT, "%.*s: %s", HB_ARG(path), why);
        return false;
    }
    const char *end = strstr(text.p, "\n---\n");
    cli_print_labelled((hb_str){text.p, end ? (size_t)(end + 1 - text.p) : text.n});
    return true;
}

// By what opens files on this system: $BROWSER, else xdg-open or open.
static bool open_page(const char *page)
{
    const char *const programs[] = {getenv("BROWSER"), "xdg-open", "open"};
    posix_spawn_file_actions_t silent; // what openers that find no browser complain of
    posix_spawn_file_actions_init(&silent);
    posix_spawn_file_actions_addopen(&silent, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    bool done = false;
    for (size_t i = 0; i < sizeof programs / sizeof *programs && !done; i++) {
        if (!programs[i] || !programs[i][0]) continue;
        char *program = strdup(programs[i]), *file = strdup(page);
        char *argv[] = {program, file, NULL};
        pid_t pid;
        int status = 1;
        bool started =
            program && file &&
            posix_spawnp(&pid, program, i > 0 ? &silent : NULL, NULL, argv, environ) == 0;
        if (started) waitpid(pid, &status, 0);
        free(program);
        free(file);
        done = started && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    posix_spawn_file_actions_destroy(&silent);
    return done;
}

static int report(hb_arena *a, const char *dir, bool full, bool open)
{
    const hb_tree *plan = cli_plan(a, dir);
    if (!plan) return CLI_INPUT;
    char *path = realpath(hb_fmt(a, "%s/report.html", dir).p, NULL);
    if (!path) return cli_error(CLI_INPUT, "%s has no report.html: plan it again", dir);
    bool shown = full ? print_file(a, dir, "report.txt") : open || print_verdict(a, dir);
    if (!open) printf("\nPage     file://%s\n", path);
    if (open && !open_page(path))
        printf("No browser opened it. The page is a file:\nfile://%s\n", path);
    free(path);
    return shown ? CLI_OK : CLI_INPUT;
}

int cmd_report(int argc, char **argv)
{
    bool full = false, open = false;
    const cli_option options[] = {{"--full", NULL, &full}, {"--open", NULL, &open}};
    const char *dir[1] = {NULL};
    cli_line line = {.least = 1, .most = 1, .rest = dir};
    int code = cli_parse("report", argc, argv, options, 2, &line);
    if (code != CLI_GO) return code;
    hb_arena *a = hb_arena_new();
    code = report(a, dir[0], full, open);
    hb_arena_free(a);
    return code;
}
