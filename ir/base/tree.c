#include "ir/base/tree.h"
#include "ir/base/plain.h"

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

void hb_put_tree(hb_buf *b, const hb_tree *t)
{
    switch (t->kind) {
    case HB_NULL:
        hb_puts(b, "null");
        break;
    case HB_BOOL:
        hb_puts(b, t->b ? "true" : "false");
        break;
    case HB_INT:
    case HB_REAL:
        hb_putn(b, t->s.p, t->s.n);
        break;
    case HB_TEXT:
        hb_put_json(b, t->s);
        break;
    case HB_LIST:
    case HB_TABLE:
        hb_putc(b, t->kind == HB_LIST ? '[' : '{');
        for (int i = 0; i < t->n; i++) {
            if (i) hb_putc(b, ',');
            if (t->kind == HB_TABLE) {
                hb_put_json(b, t->key[i]);
                hb_putc(b, ':');
            }
            hb_put_tree(b, t->v[i]);
        }
        hb_putc(b, t->kind == HB_LIST ? ']' : '}');
        break;
    }
}
