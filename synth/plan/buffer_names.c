// Names of buffers: C identifiers, unique in the program, after the values they hold.

#include <ctype.h>

#include "synth/plan/buffer_names.h"

typedef struct namer {
    syn_program *p;
    hb_map *names;
    HB_VEC(int) count; // by name: how often it was asked for
} namer;

static hb_str identifier(namer *w, hb_str name, const char *suffix)
{
    hb_buf b = {.arena = w->p->arena};
    if (name.n == 0 || !(isalpha((unsigned char)name.p[0]) || name.p[0] == '_')) hb_puts(&b, "t_");
    for (size_t i = 0; i < name.n; i++)
        hb_putc(&b, isalnum((unsigned char)name.p[i]) && (unsigned char)name.p[i] < 128 ? name.p[i]
                                                                                        : '_');
    hb_puts(&b, suffix);
    hb_str base = hb_done(&b);
    int at = hb_map_get(w->names, base);
    if (at < 0) {
        hb_map_put(w->names, base, w->count.n);
        HB_PUSH(w->p->arena, &w->count, 1);
        return base;
    }
    return identifier(w, hb_fmt(w->p->arena, "%.*s_%d", HB_ARG(base), ++w->count.p[at]), "");
}

static const char *suffix_of(const syn_state *s)
{
    bool cut = false;
    for (int a = 0; a < SYN_MAX_AXES; a++) {
        if (s->ax[a].kind == SYN_P) return "_part";
        cut = cut || s->ax[a].kind == SYN_S;
    }
    return cut ? "_cut" : "_all";
}

void syn_name_buffers(syn_program *p)
{
    namer w = {.p = p, .names = hb_map_new(p->arena)};
    bool *named = HB_ARRAY(p->arena, bool, p->g->tensors.n);
    for (int i = 0; i < p->tensors.n; i++) {
        syn_tensor *t = &p->tensors.p[i];
        if (t->value < 0) continue;
        t->name = identifier(&w, p->g->tensors.p[t->value].name,
                             named[t->value] ? suffix_of(&t->state) : "");
        named[t->value] = true;
    }
    for (int i = 0; i < p->instr.n; i++)
        if (p->instr.p[i].kind == SYN_START && p->instr.p[i].scratch >= 0)
            p->tensors.p[p->instr.p[i].scratch].name =
                identifier(&w, p->tensors.p[p->instr.p[i].out[0]].name, "_scratch");
}
