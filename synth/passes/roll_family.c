// Families: buffers that repeat, one a layer, in the order of the layers.
//
// A slot of a loop that holds a new buffer in each repetition is a sequence of buffers. Sequences
// that share buffers are the same chain seen from different places (a layer's output is the next
// one's input; what the forward loop saves the backward loop reads from the last to the first), so
// a sequence is laid along the chain that holds its first known member, and extends it. A buffer
// that looks different from the others (other shape, segment, role or initial value) is left out; a
// sequence that contradicts a chain is ignored. A chain's unbroken runs, of
// buffers that live alike, become families.

#include "synth/passes/roll_family.h"

#include <stdlib.h>

typedef struct link {
    int at, buffer;
} link;

typedef struct chain {
    int look;
    HB_VEC(link) links;
} chain;

typedef struct chains {
    roll *r;
    HB_VEC(chain) all;
    int *chain_of, *at; // by buffer; chain -1 none
} chains;

static bool is_free(const chain *c, int at)
{
    for (int i = 0; i < c->links.n; i++)
        if (c->links.p[i].at == at) return false;
    return true;
}

static void lay(chains *c, const int *buffer, int n)
{
    int on = -1, offset = 0;
    for (int i = 0; i < n && on < 0; i++)
        if (c->chain_of[buffer[i]] >= 0) {
            on = c->chain_of[buffer[i]];
            offset = c->at[buffer[i]] - i;
        }
    if (on < 0) {
        chain fresh = {.look = c->r->look[buffer[n / 2]]};
        HB_PUSH(c->r->arena, &c->all, fresh);
        on = c->all.n - 1;
    }
    chain *k = &c->all.p[on];
    for (int i = 0; i < n; i++) {
        int there = c->chain_of[buffer[i]];
        if (there >= 0 ? there != on || c->at[buffer[i]] != i + offset
                       : c->r->look[buffer[i]] == k->look && !is_free(k, i + offset))
            return;
    }
    for (int i = 0; i < n; i++) {
        if (c->chain_of[buffer[i]] >= 0 || c->r->look[buffer[i]] != k->look) continue;
        c->chain_of[buffer[i]] = on;
        c->at[buffer[i]] = i + offset;
        link l = {i + offset, buffer[i]};
        HB_PUSH(c->r->arena, &k->links, l);
    }
}

static void sequences(chains *c)
{
    const syn_program *p = c->r->p;
    for (int k = 0; k < p->loops.n; k++) {
        const syn_loop *l = &p->loops.p[k];
        int *buffer = HB_ARRAY(c->r->arena, int, l->count);
        for (int j = 0; j < l->len; j++)
            for (int s = 0; s < roll_slots(&p->instr.p[l->first + j]); s++) {
                int first = roll_at(p, l, 0, j, s);
                if (first < 0 || roll_at(p, l, 1, j, s) == first) continue;
                if (p->tensors.p[first].role == SYN_ROLE_INPUT) continue;
                for (int r = 0; r < l->count; r++)
                    buffer[r] = roll_at(p, l, l->dir > 0 ? r : l->count - 1 - r, j, s);
                lay(c, buffer, l->count);
            }
    }
}

static int by_place(const void *x, const void *y)
{
    const link *a = x, *b = y;
    return (a->at > b->at) - (a->at < b->at);
}

static void add_family(syn_program *p, const link *from, int n)
{
    syn_family f = {.count = n, .mod = n, .member = HB_ARRAY(p->arena, int, n)};
    for (int i = 0; i < n; i++) {
        f.member[i] = from[i].buffer;
        p->tensors.p[from[i].buffer].family = p->families.n;
        p->tensors.p[from[i].buffer].index = i;
    }
    HB_PUSH(p->arena, &p->families, f);
}

void roll_families(roll *r)
{
    syn_program *p = r->p;
    chains c = {.r = r,
                .chain_of = HB_ARRAY(r->arena, int, p->tensors.n + 1),
                .at = HB_ARRAY(r->arena, int, p->tensors.n + 1)};
    for (int t = 0; t < p->tensors.n; t++)
        c.chain_of[t] = -1;
    sequences(&c);
    for (int i = 0; i < c.all.n; i++) {
        link *k = c.all.p[i].links.p;
        int n = c.all.p[i].links.n;
        if (n < 2) continue;
        qsort(k, (size_t)n, sizeof *k, by_place);
        for (int from = 0, to; from < n; from = to) {
            roll_life life = r->life[k[from].buffer];
            for (to = from + 1; to < n && k[to].at == k[to - 1].at + 1; to++) {
                roll_life next = r->life[k[to].buffer];
                if (life != ROLL_ANY && next != ROLL_ANY && next != life) break;
                life = life == ROLL_ANY ? next : life;
            }
            if (to - from >= 2) add_family(p, &k[from], to - from);
        }
    }
}
