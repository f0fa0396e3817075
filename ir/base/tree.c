#include "ir/base/tree.h"

hb_tree *hb_get(const hb_tree *table, const char *key)
{
    if (!table || table->kind != HB_TABLE) return NULL;
    for (int i = 0; i < table->n; i++)
        if (hb_str_is(table->key[i], key)) return table->v[i];
    return NULL;
}

void hb_only_keys(const hb_tree *table, const char *const *names, int n, const hb_source *src,
                  hb_diag *d)
{
    if (!table || table->kind != HB_TABLE) return;
    for (int i = 0; i < table->n; i++) {
        bool known = false;
        for (int k = 0; k < n && !known; k++)
            known = hb_str_is(table->key[i], names[k]);
        if (known) continue;
        hb_error(d, src, table->key_at[i], "unknown key '%.*s'", HB_ARG(table->key[i]));
        const char *near = hb_nearest(table->key[i], names, n);
        if (near) hb_hint(d, "did you mean '%s'?", near);
    }
}
