// Messages of hapc itself, and what a terminal shows in colour. $NO_COLOR and TERM=dumb turn that
// off.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "ir/base/plain.h"

static bool in_colour(int fd)
{
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fd) && !(none && *none) && term && strcmp(term, "dumb") != 0;
}

static void put_line(const char *fmt, va_list ap)
{
    hb_arena *a = hb_arena_new();
    hb_buf b = {.arena = a};
    hb_vprintf(&b, fmt, ap);
    hb_print_plain(stderr, hb_done(&b), false);
    fputc('\n', stderr);
    hb_arena_free(a);
}

int cli_error(int code, const char *fmt, ...)
{
    va_list ap;
    fflush(stdout);
    fputs(in_colour(STDERR_FILENO) ? "hapc: \033[1;31merror:\033[0m " : "hapc: error: ", stderr);
    va_start(ap, fmt);
    put_line(fmt, ap);
    va_end(ap);
    return code;
}

void cli_note(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put_line(fmt, ap);
    va_end(ap);
}

// Characters of the label that a line of n begins with: a word, then two spaces or more.
static size_t label_of(const char *line, size_t n)
{
    size_t word = 0;
    while (word < n && line[word] != ' ')
        word++;
    return word > 0 && word + 1 < n && line[word + 1] == ' ' ? word : 0;
}

void cli_print_labelled(hb_str text)
{
    bool colour = in_colour(STDOUT_FILENO);
    for (size_t i = 0, n; i < text.n; i += n) {
        const char *end = memchr(text.p + i, '\n', text.n - i);
        n = end ? (size_t)(end + 1 - text.p) - i : text.n - i;
        size_t label = colour ? label_of(text.p + i, n) : 0;
        if (label > 0) printf("\033[1m%.*s\033[0m", (int)label, text.p + i);
        fwrite(text.p + i + label, 1, n - label, stdout);
    }
}
