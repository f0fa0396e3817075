#include "synth/price/move_prices.h"

#include <string.h>

#include "synth/plan/search_limits.h"

typedef struct price {
    uint64_t key;
    double sec_by[2];
    int64_t scratch; // of the form of the library
    cost_form form;
} price;

struct syn_move_prices {
    hb_arena *arena;
    hb_arena *own; // of the slots, once they are more than the first; goes with them
    price *slot;   // open addressing; key 0 is free
    size_t n, cap;
};

syn_move_prices *syn_move_prices_new(hb_arena *a)
{
    syn_move_prices *p = HB_NEW(a, syn_move_prices);
    *p = (syn_move_prices){a, NULL, HB_ARRAY(a, price, SYN_MOVE_SLOTS), 0, SYN_MOVE_SLOTS};
    return p;
}

static price *slot_of(price *slot, size_t cap, uint64_t key)
{
    size_t i = key & (cap - 1);
    while (slot[i].key && slot[i].key != key)
        i = (i + 1) & (cap - 1);
    return &slot[i];
}

static void add(syn_move_prices *p, const price *x)
{
    if (2 * (p->n + 1) > p->cap) {
        hb_arena *own = hb_arena_within(p->arena);
        price *wider = HB_ARRAY(own, price, 2 * p->cap);
        for (size_t i = 0; i < p->cap; i++)
            if (p->slot[i].key) *slot_of(wider, 2 * p->cap, p->slot[i].key) = p->slot[i];
        hb_arena_free(p->own);
        p->own = own;
        p->slot = wider;
        p->cap *= 2;
    }
    *slot_of(p->slot, p->cap, x->key) = *x;
    p->n++;
}

void syn_move_price_known(syn_costs *c, int tensor, const syn_state *a, const syn_state *b,
                          syn_move *m)
{
    uint64_t key = syn_price_key(c, tensor, a, b, m);
    price *known = c->prices ? slot_of(c->prices->slot, c->prices->cap, key) : NULL;
    if (!known || !known->key) {
        bool no_put = c->no_put;
        c->no_put = true; // decides whose scratch it is
        syn_move_price(c, tensor, a, b, NULL, m);
        c->no_put = no_put;
        if (known) add(c->prices, &(price){key, {m->sec_by[0], m->sec_by[1]}, m->scratch, m->form});
        return;
    }
    memcpy(m->sec_by, known->sec_by, sizeof m->sec_by);
    m->form = known->form;
    m->sec = m->sec_by[0];
    m->scratch = known->scratch;
}
