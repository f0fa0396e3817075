// The device catalogue (devices.yaml): where it is, which of its models a driver's name means, all
// of it.

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "clusters/cluster_file.h"

cl_catalogue *cl_catalogue_new(hb_arena *a, const char *path, hb_str cluster_path, hb_diag *d)
{
    cl_catalogue *k = HB_NEW(a, cl_catalogue);
    *k = (cl_catalogue){.arena = a, .path = path, .cluster_path = cluster_path, .diag = d};
    return k;
}

// $HAPC_DATA/clusters, share/hapc next to the folder of this program, the cluster file's folder.
static const char *search(cl_catalogue *k)
{
    hb_str place[3] = {{0}};
    const char *data = getenv("HAPC_DATA");
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self);
    if (data && *data) place[0] = hb_fmt(k->arena, "%s/clusters/devices.yaml", data);
    if (n > 0 && n < (ssize_t)sizeof self) {
        while (n > 0 && self[n - 1] != '/')
            n--;
        place[1] = hb_fmt(k->arena, "%.*s../share/hapc/clusters/devices.yaml", (int)n, self);
    }
    size_t dir = k->cluster_path.n;
    while (dir && k->cluster_path.p[dir - 1] != '/')
        dir--;
    place[2] = hb_fmt(k->arena, "%.*sdevices.yaml", (int)dir, k->cluster_path.p);
    for (int i = 0; i < 3; i++)
        if (place[i].n && access(place[i].p, R_OK) == 0) return place[i].p;
    return NULL;
}

void cl_catalogue_load(cl_catalogue *k, hb_pos at, const hb_source *asking)
{
    const char *why;
    if (k->tried) return;
    k->tried = true;
    if (!k->path) k->path = search(k);
    if (!k->path) {
        hb_error(k->diag, asking, at, "no device catalogue (devices.yaml) for this model");
        hb_hint(k->diag, "set HAPC_DATA to the folder that holds clusters/devices.yaml");
        return;
    }
    k->src = HB_NEW(k->arena, hb_source);
    k->src->name = hb_str_c(k->arena, k->path);
    if (!hb_read_file(k->arena, k->path, &k->src->text, &why)) {
        hb_error(k->diag, k->src, (hb_pos){0, 0}, "cannot be read: %s", why);
        return;
    }
    k->tree = hb_yaml_read(k->arena, k->src, k->diag);
    if (k->tree && k->tree->kind != HB_TABLE) {
        hb_error(k->diag, k->src, k->tree->at, "expected a table of devices");
        k->tree = NULL;
    }
}

// Behind a model these words make another one: "RTX 4070 Ti" is no RTX 4070.
static bool makes_another(hb_str word)
{
    static const char *const words[] = {"Ti", "SUPER", "Laptop", "Max", "Ada", "D", "Mobile"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (word.n == strlen(words[i]) && strncasecmp(word.p, words[i], word.n) == 0) return true;
    return false;
}

// The next word of text from *at on, between spaces and hyphens; empty at the end.
static hb_str next_word(hb_str text, size_t *at)
{
    while (*at < text.n && (text.p[*at] == ' ' || text.p[*at] == '-'))
        ++*at;
    size_t from = *at;
    while (*at < text.n && text.p[*at] != ' ' && text.p[*at] != '-')
        ++*at;
    return (hb_str){text.p + from, *at - from};
}

// Whether successive words of the name, from `at` on, are spelt like `word`: "RTX 4090" as RTX4090.
static bool reads(hb_str name, size_t at, hb_str word)
{
    size_t n = 0;
    for (hb_str w = next_word(name, &at); w.n > 0; w = next_word(name, &at)) {
        if (n + w.n > word.n || strncasecmp(word.p + n, w.p, w.n) != 0) return false;
        n += w.n;
        if (n == word.n) return !makes_another(next_word(name, &at));
    }
    return false;
}

// Whether each word of the key stands in a driver's name.
static bool is_called(hb_str key, hb_str name)
{
    size_t at = 0;
    for (hb_str word = next_word(key, &at); word.n > 0; word = next_word(key, &at)) {
        bool found = false;
        for (size_t from = 0; from < name.n && !found;) {
            found = reads(name, from, word);
            (void)next_word(name, &from);
        }
        if (!found) return false;
    }
    return key.n > 0;
}

hb_str cl_model_of(hb_arena *a, const char *devices_path, hb_str name)
{
    hb_diag *d = hb_diag_new(a);
    cl_catalogue *k = cl_catalogue_new(a, devices_path, (hb_str){0}, d);
    hb_str best = {0};
    cl_catalogue_load(k, (hb_pos){0, 0}, HB_NEW(a, hb_source));
    for (int i = 0; k->tree && i < k->tree->n; i++)
        if (is_called(k->tree->key[i], name) && k->tree->key[i].n > best.n) best = k->tree->key[i];
    return best;
}

bool cl_in_catalogue(hb_arena *a, const char *devices_path, hb_str model)
{
    cl_catalogue *k = cl_catalogue_new(a, devices_path, (hb_str){0}, hb_diag_new(a));
    cl_catalogue_load(k, (hb_pos){0, 0}, HB_NEW(a, hb_source));
    for (int i = 0; k->tree && i < k->tree->n; i++)
        if (hb_str_eq(k->tree->key[i], model)) return true;
    return false;
}
