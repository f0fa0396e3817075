#include "cli/plan_words.h"

#include <string.h>

#include "cli/cli.h"
#include "emit/words.h"
#include "ir/base/plain.h"

hb_str plan_call(const hb_tree *instr)
{
    static const char tail[] = "_start";
    hb_str name = cli_text_at(instr, "call");
    size_t n = sizeof tail - 1;
    if (name.n > n && memcmp(name.p + name.n - n, tail, n) == 0) name.n -= n;
    return name;
}

hb_str plan_pattern(hb_arena *a, hb_str name)
{
    hb_buf b = {.arena = a};
    for (size_t i = 0; i < name.n;) {
        size_t n = strspn(name.p + i, "0123456789");
        bool whole =
            n > 0 && (i == 0 || name.p[i - 1] == '.') && (i + n == name.n || name.p[i + n] == '.');
        if (whole)
            hb_putc(&b, '*');
        else
            hb_putn(&b, name.p + i, n ? n : 1);
        i += n ? n : 1;
    }
    return b.n ? hb_done(&b) : HB_STR("");
}

// Of one axis: "whole", "in parts of a sum", "cut by heads 6 / 6".
static hb_str on_axis(hb_arena *a, const hb_tree *plan, hb_str state, int64_t cut)
{
    enum { MOST_ENTRIES = 8 };
    const hb_tree *cuts = cli_list_at(plan, "cuts");
    if (state.n > 0 && state.p[0] == 'P') return HB_STR("in parts of a sum");
    if (state.n == 0 || state.p[0] != 'S' || cut < 0 || cut >= cuts->n) return HB_STR("whole");
    const hb_tree *entries = cli_list_at(cuts->v[cut], "entries");
    hb_str word = cli_text_at(cuts->v[cut], "word");
    hb_buf b = {.arena = a};
    hb_printf(&b, "cut by %.*s", HB_ARG(word.n ? word : HB_STR("rows")));
    for (int i = 0; i < entries->n && entries->n <= MOST_ENTRIES; i++)
        hb_printf(&b, "%s%lld", i ? " / " : " ", (long long)entries->v[i]->i);
    return hb_done(&b);
}

hb_str plan_state_words(hb_arena *a, const hb_tree *plan, const hb_tree *tensor)
{
    hb_str s = cli_text_at(tensor, "state"), axis[2] = {{0}};
    const hb_tree *cuts = cli_list_at(tensor, "cuts");
    int n = 0;
    for (size_t from = 0; from < s.n && n < 2; n++) {
        size_t end = from, depth = 0;
        for (; end < s.n && (depth > 0 || s.p[end] != ','); end++)
            depth += (s.p[end] == '(') - (s.p[end] == ')');
        axis[n] =
            on_axis(a, plan, (hb_str){s.p + from, end - from}, n < cuts->n ? cuts->v[n]->i : -1);
        from = end + 1;
    }
    if (n < 2 || hb_str_eq(axis[0], axis[1])) return axis[0];
    size_t word = strcspn(axis[0].p, "0123456789");
    if (axis[0].p[0] == 'c' && strncmp(axis[0].p, axis[1].p, word) == 0)
        return axis[1]; // one cut over both
    return hb_fmt(a, "%.*s across machines, %.*s inside", HB_ARG(axis[0]), HB_ARG(axis[1]));
}

// The word of a letter, "h4": "heads"; of one that has none "features (768)", with its size.
static hb_str word_of(hb_arena *a, const hb_tree *plan, hb_str letter)
{
    const hb_tree *factors = cli_list_at(plan, "factors");
    for (int i = 0; i < factors->n; i++) {
        hb_str word = cli_text_at(factors->v[i], "word");
        if (!hb_str_eq(cli_text_at(factors->v[i], "letter"), letter)) continue;
        if (word.n > 0) return word;
        return hb_fmt(a, "features (%.*s)",
                      HB_ARG(say_count(a, cli_plan_int(factors->v[i], "size", 0))));
    }
    return hb_fmt(a, "its factor %.*s", HB_ARG(letter)); // a plan of an older hapc
}

// One state of one axis, "S(1:h4@compute)".
static void put_state(hb_buf *b, const hb_tree *plan, hb_str s)
{
    const char *colon = memchr(s.p, ':', s.n);
    if (s.n == 1 && s.p[0] == 'R') {
        hb_puts(b, "whole");
    } else if (s.n == 1 && s.p[0] == 'P') {
        hb_puts(b, "in parts of a sum");
    } else if (s.n > 3 && s.p[0] == 'S' && colon) {
        size_t n = 1;
        while (colon + n < s.p + s.n && colon[n] != '@' && colon[n] != ')')
            n++;
        hb_printf(b, "cut by %.*s", HB_ARG(word_of(b->arena, plan, (hb_str){colon + 1, n - 1})));
    } else {
        hb_putn(b, s.p, s.n);
    }
}

// A state of one or two axes.
static void put_states(hb_buf *b, const hb_tree *plan, hb_str s)
{
    size_t depth = 0, at = 0;
    for (; at < s.n && (depth > 0 || s.p[at] != ','); at++)
        depth += (s.p[at] == '(') - (s.p[at] == ')');
    hb_str first = {s.p, at}, second = {s.p + at + 1, at < s.n ? s.n - at - 1 : 0};
    put_state(b, plan, first);
    if (second.n == 0 || hb_str_eq(first, second)) return;
    hb_puts(b, " across machines and ");
    put_state(b, plan, second);
    hb_puts(b, " inside");
}

hb_str plan_text_words(hb_arena *a, const hb_tree *plan, hb_str text)
{
    hb_buf b = {.arena = a};
    bool after_state = false;
    for (size_t i = 0, n; i < text.n; i += n + 1) {
        for (n = 0; i + n < text.n && text.p[i + n] != ' ';)
            n++;
        hb_str word = {text.p + i, n};
        bool state = n > 0 && strchr("RPS", word.p[0]) && (n == 1 || strchr("(,", word.p[1]));
        hb_puts(&b, b.n == 0 ? "" : state && after_state ? ", " : " ");
        if (state)
            put_states(&b, plan, word);
        else
            hb_putn(&b, word.p, word.n);
        after_state = state;
    }
    return b.n ? hb_done(&b) : HB_STR("");
}
