// Completion for shells, from the table of commands.
//
// Bash and zsh get one function: the words that may stand here, else files. Fish gets one line an
// option.

#include <string.h>

#include "cli/commands.h"

static bool is_option(const cli_row *r)
{
    return r->kind == CLI_ROW_OPTION || r->kind == CLI_ROW_PASSED;
}

// The choices of a row, with spaces between.
static hb_str words(hb_arena *a, const cli_row *r)
{
    hb_buf b = {.arena = a};
    if (!r->choices) return HB_STR("");
    hb_str text = cli_row_text(a, r->choices);
    for (size_t i = 0; i < text.n; i++)
        hb_putc(&b, strchr("|,", text.p[i]) ? ' ' : text.p[i]);
    return hb_done(&b);
}

static void put_bash_command(FILE *to, hb_arena *a, int c)
{
    const cli_row *command = cli_row_at(c);
    if (*command->name)
        fprintf(to, "    %s)\n", command->name);
    else
        fputs("    *)\n", to);
    fputs("        case $before in\n", to);
    for (int i = c + 1; cli_row_at(i) && cli_row_at(i)->kind != CLI_ROW_COMMAND; i++) {
        const cli_row *r = cli_row_at(i);
        if (!is_option(r) || !r->value) continue;
        hb_str choices = words(a, r);
        if (choices.n > 0)
            fprintf(to, "        %s) words='%.*s' ;;\n", r->name, HB_ARG(choices));
        else
            fprintf(to, "        %s) words= ;;\n", r->name);
    }
    fputs("        *) words='", to);
    for (int i = c + 1; cli_row_at(i) && cli_row_at(i)->kind != CLI_ROW_COMMAND; i++)
        if (is_option(cli_row_at(i))) fprintf(to, "%s ", cli_row_at(i)->name);
    if (strchr(command->value, '|')) { // its argument is one of these
        for (const char *p = command->value; *p; p++)
            fputc(*p == '|' ? ' ' : *p, to);
        fputc(' ', to);
    }
    fputs("--help' ;;\n        esac ;;\n", to);
}

static void put_bash(FILE *to, hb_arena *a)
{
    fputs("_hapc()\n{\n"
          "    local here=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\n"
          "    case ${COMP_WORDS[1]} in\n",
          to);
    for (int i = 0; cli_row_at(i); i++)
        if (cli_row_at(i)->kind == CLI_ROW_COMMAND && *cli_row_at(i)->name)
            put_bash_command(to, a, i);
    put_bash_command(to, a, cli_command_row(""));
    fputs("    esac\n    [ $COMP_CWORD = 1 ] && words=\"", to);
    for (int i = 0; cli_row_at(i); i++)
        if (cli_row_at(i)->kind == CLI_ROW_COMMAND && *cli_row_at(i)->name)
            fprintf(to, "%s ", cli_row_at(i)->name);
    fputs("--help --version $words\"\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$here\"))\n"
          "    [[ $here == -* ]] || COMPREPLY+=($(compgen -f -- \"$here\"))\n"
          "}\n"
          "complete -o filenames -F _hapc hapc\n",
          to);
}

// For fish: "it's" as 'it\'s'.
static void put_fish_text(FILE *to, hb_str text)
{
    fputc('\'', to);
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\'' || text.p[i] == '\\') fputc('\\', to);
        fputc(text.p[i], to);
    }
    fputc('\'', to);
}

static void put_fish(FILE *to, hb_arena *a)
{
    const char *command = "";
    for (int i = 0; cli_row_at(i); i++) {
        const cli_row *r = cli_row_at(i);
        hb_str text = cli_row_text(a, r->what);
        if (r->kind == CLI_ROW_COMMAND) {
            command = r->name;
            if (!*command) continue;
            fprintf(to, "complete -c hapc -n __fish_use_subcommand -a %s -d ", command);
        } else if (is_option(r)) {
            bool wide = r->name[1] == '-';
            hb_str choices = words(a, r);
            fprintf(to, "complete -c hapc -n %s%s%s -%s %s",
                    *command ? "'__fish_seen_subcommand_from " : "__fish_use_subcommand", command,
                    *command ? "'" : "", wide ? "l" : "o", r->name + 1 + wide);
            if (r->value) fputs(" -r", to);
            if (choices.n > 0) fprintf(to, " -f -a '%.*s'", HB_ARG(choices));
            fputs(" -d ", to);
        } else {
            continue;
        }
        put_fish_text(to, text);
        fputc('\n', to);
    }
}

bool cli_print_completion(FILE *to, const char *shell)
{
    hb_arena *a = hb_arena_new();
    bool known = true;
    if (strcmp(shell, "bash") == 0) {
        put_bash(to, a);
    } else if (strcmp(shell, "zsh") == 0) {
        fputs("#compdef hapc\nautoload -U +X bashcompinit && bashcompinit\n", to);
        put_bash(to, a);
    } else if (strcmp(shell, "fish") == 0) {
        put_fish(to, a);
    } else {
        known = false;
    }
    hb_arena_free(a);
    return known;
}
