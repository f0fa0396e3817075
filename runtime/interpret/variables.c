// Names that a program chooses, and what the variables of the function that runs hold.

#include <string.h>

#include "interpret/interpret.h"

void declare(interpreter *x, int at)
{
    const token *k = &x->t.token[at];
    if (k->kind != TOK_NAME) refuse(x, at, "no name here");
    bool ours = k->name < x->n_fixed && k->name != W_r && k->name != W_m && k->name != W_back &&
                k->name != W_weights;
    if (ours || *k->at == '_' || strncmp(name_at(x, at), "HAP_", 4) == 0)
        refuse(x, at, "'%s' as a name of the program", name_at(x, at));
    x->known[k->name] = true;
}

void bind(interpreter *x, int at, value v)
{
    declare(x, at);
    if (x->n_locals == x->cap_locals) {
        int cap = x->cap_locals ? 2 * x->cap_locals : 64;
        local *more = take_memory(cap * (int64_t)sizeof *more);
        if (x->n_locals) memcpy(more, x->local, (size_t)x->n_locals * sizeof *more);
        x->local = more;
        x->cap_locals = cap;
    }
    x->local[x->n_locals++] = (local){x->t.token[at].name, v};
}

const value *bound(const interpreter *x, int name)
{
    for (int i = x->n_locals - 1; i >= x->frame; i--)
        if (x->local[i].name == name) return &x->local[i].v;
    return NULL;
}
