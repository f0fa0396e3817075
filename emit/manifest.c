#include "emit/manifest.h"

#include <errno.h>
#include <string.h>

#include "ir/base/sha256.h"
#include "ir/base/tree.h"

static const struct {
    const char *name;
    manifest_kind kind;
} files[] = {{"graph.json", MANIFEST_CHECKED},        {"cluster.yaml", MANIFEST_INPUT},
             {"program.c", MANIFEST_CHECKED},         {"buffers.h", MANIFEST_CHECKED},
             {"kernels.cu", MANIFEST_CHECKED},        {"plan.json", MANIFEST_CHECKED},
             {"consts.safetensors", MANIFEST_CHECKED}};
enum { N_FILES = sizeof files / sizeof *files, HEX = 64 };

hb_str manifest_curves(hb_arena *a, const char *dir)
{
    hb_source src = {.name = hb_fmt(a, "%s/cluster.yaml", dir)};
    const char *why = NULL;
    if (!hb_read_file(a, src.name.p, &src.text, &why)) return (hb_str){0};
    const hb_tree *top = hb_yaml_read(a, &src, hb_diag_new(a));
    const hb_tree *file = top && top->kind == HB_TABLE ? hb_get(top, "measured") : NULL;
    if (!file || file->kind != HB_TEXT) return (hb_str){0};
    const char *name = hb_fmt(a, "%.*s", HB_ARG(file->s)).p, *slash = strrchr(name, '/');
    return hb_str_c(a, slash ? slash + 1 : name);
}

// The i-th file of a plan and what it is for; false behind the last.
static bool file_at(hb_arena *a, const char *dir, int i, hb_str *name, manifest_kind *kind)
{
    *name = i < N_FILES ? hb_str_c(a, files[i].name) : manifest_curves(a, dir);
    *kind = i < N_FILES ? files[i].kind : MANIFEST_INPUT;
    return i < N_FILES || (i == N_FILES && name->n > 0);
}

// Its hash; empty if the file is not there.
static hb_str hash_of(hb_arena *a, const char *dir, hb_str name)
{
    hb_str text, sha = {0};
    const char *why = NULL;
    hb_arena *scratch = hb_arena_new();
    if (hb_read_file(scratch, hb_fmt(scratch, "%s/%.*s", dir, HB_ARG(name)).p, &text, &why))
        sha = hb_sha256_hex(a, text);
    hb_arena_free(scratch);
    return sha;
}

bool manifest_write(hb_arena *a, const char *dir, hb_str *why)
{
    hb_buf b = {.arena = a};
    hb_str name;
    manifest_kind kind;
    for (int i = 0; file_at(a, dir, i, &name, &kind); i++) {
        hb_str sha = hash_of(a, dir, name);
        if (sha.n > 0) hb_printf(&b, "%.*s  %.*s\n", HB_ARG(sha), HB_ARG(name));
    }
    hb_str path = hb_fmt(a, "%s/" MANIFEST_NAME, dir);
    if (hb_write_file(path.p, hb_done(&b))) return true;
    *why = hb_fmt(a, "%.*s: %s", HB_ARG(path), strerror(errno));
    return false;
}

// The hash that a line of the text gives the file; empty: none does.
static hb_str hash_in(hb_str text, hb_str name)
{
    for (size_t at = 0; at < text.n;) {
        const char *end = memchr(text.p + at, '\n', text.n - at);
        size_t len = end ? (size_t)(end - text.p) - at : text.n - at;
        if (len == HEX + 2 + name.n && memcmp(text.p + at + HEX + 2, name.p, name.n) == 0)
            return (hb_str){text.p + at, HEX};
        at += len + 1;
    }
    return (hb_str){0};
}

manifest_changes manifest_compare(hb_arena *a, const char *dir)
{
    manifest_changes c = {0};
    hb_str text = {0}, name;
    manifest_kind kind;
    const char *why = NULL;
    c.there = hb_read_file(a, hb_fmt(a, "%s/" MANIFEST_NAME, dir).p, &text, &why);
    for (int i = 0; file_at(a, dir, i, &name, &kind); i++) {
        hb_str was = hash_in(text, name), is = hash_of(a, dir, name);
        if (was.n == is.n && (was.n == 0 || hb_str_eq(was, is))) continue;
        HB_PUSH(a, &c.v,
                (manifest_change){name, kind,
                                  was.n == 0  ? "new"
                                  : is.n == 0 ? "missing"
                                              : "edited"});
    }
    return c;
}

hb_str manifest_text(hb_arena *a, const manifest_changes *c, manifest_kind least)
{
    hb_buf b = {.arena = a};
    hb_puts(&b, "");
    for (int i = 0; i < c->v.n; i++)
        if (c->v.p[i].kind >= least)
            hb_printf(&b, "%s%.*s (%s)", b.n ? ", " : "", HB_ARG(c->v.p[i].name), c->v.p[i].how);
    return hb_done(&b);
}

bool manifest_changed(const manifest_changes *c, const char *name)
{
    for (int i = 0; i < c->v.n; i++)
        if (hb_str_is(c->v.p[i].name, name)) return true;
    return false;
}
