#include "overlap_chunks.h"

#include <stdio.h>
#include <string.h>

// "0 1 2*3 3*-1 3/2": {distance, weight, via}.
static int parse_groups(int64_t (*chunk)[3], const char **text)
{
    const char *t = *text;
    int n = 0;
    for (int d, w, used; n < MOST_CHUNKS && sscanf(t, "%d%n", &d, &used) == 1; n++) {
        t += used;
        w = 1;
        if (sscanf(t, "*%d%n", &w, &used) == 1) t += used;
        chunk[n][0] = d;
        chunk[n][1] = w;
        chunk[n][2] = 0;
        if (sscanf(t, "/%d%n", &w, &used) != 1) continue;
        t += used;
        chunk[n][2] = w;
    }
    *text = t;
    return n;
}

static void parse(group_list *l, const char *t)
{
    int used;
    *l = (group_list){.n = 0};
    snprintf(l->text, sizeof l->text, "%s", t);
    l->n = parse_groups(l->chunk, &t);
    hap_pair_tiles *x = &l->tiles;
    if (sscanf(t, " | %dx%d %u%n", &x->rows, &x->cols, &x->how, &used) != 3) return;
    t += used;
    x->n_chunks = parse_groups(l->listed, &t);
    x->said = x->n_chunks > 0;
}

bool groups_same(const group_list *a, const group_list *b)
{
    return a->n == b->n && memcmp(a->chunk, b->chunk, sizeof *a->chunk * (size_t)a->n) == 0;
}

bool groups_planned(group_list *l, hap_form *form, const char *path, const char *kind,
                    const char *name, int i)
{
    char line[1024], k[4], its[64], by[16];
    bool found = false;
    int used;
    FILE *f = path ? fopen(path, "r") : NULL;
    while (f && !found && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%3s %63s %15s%n", k, its, by, &used) != 3 || strcmp(k, kind) != 0 ||
            strcmp(its, name) != 0 || strcmp(by, "sequential") == 0 || i-- > 0)
            continue;
        line[strcspn(line, "#\n")] = 0;
        int copies = 0;
        if (sscanf(by, "put(%d)", &copies) != 1 && strcmp(by, "flat") != 0) continue;
        *form = copies ? FORM_PUT(copies) : FORM_FLAT;
        parse(l, line + used);
        found = true;
    }
    if (f) fclose(f);
    return found;
}

// By member: own rows first or last; weights of the first of the others, of those between and of
// the last.
static const char *const gathered[][3] = {{"1", "1", "1"},       {"1", "1", "1 1"},
                                          {"1", "-1", "-1"},     {"1", "1", "3 1"},
                                          {"1 1", "1 1", "1 1"}, {"1 1 1 1", "1 1 1", "1 1 1 1"}};
static const char *const scattered[][3] = {{"1", "1", "1"},
                                           {"1 3", "1", "1"},
                                           {"1", "-1", "1"},
                                           {"1 1", "1 1", "1 1"},
                                           {"1 1 1 1", "1 1 1", "1 1 1 1"},
                                           {"1 1 1 1 1 1 1 1", "1 1 1 1", "1 1 1 1 1 1 1 1"}};
static const char *const reduced[] = {"0 0", "0 0 0 0", "0*4 0*3 0*2 0", "0 0 0 0 0 0 0 0"};
enum {
    N_GATHERED = sizeof gathered / sizeof *gathered,
    N_SCATTERED = sizeof scattered / sizeof *scattered,
    N_REDUCED = sizeof reduced / sizeof *reduced
};

bool groups_tried(group_list *l, const char *kind, int n_ranks, int i)
{
    bool first = kind[1] == 'G'; // own rows
    char text[256] = "";
    if (kind[1] == 'R') {
        if (i < N_REDUCED) parse(l, reduced[i]);
        return i < N_REDUCED;
    }
    if (i >= (first ? N_GATHERED : N_SCATTERED)) return false;
    const char *const *by = first ? gathered[i] : scattered[i];
    size_t at = first ? (size_t)snprintf(text, sizeof text, "0 ") : 0;
    for (int d = 1; d < n_ranks; d++) {
        const char *w = by[d == n_ranks - 1 ? 2 : d == 1 ? 0 : 1];
        for (char one[16]; sscanf(w, "%15s", one) == 1; w += strcspn(w, " "), w += *w == ' ')
            at += (size_t)snprintf(text + at, at < sizeof text ? sizeof text - at : 0, "%d*%s ", d,
                                   one);
    }
    if (!first) snprintf(text + at, at < sizeof text ? sizeof text - at : 0, "0");
    parse(l, text);
    return true;
}
