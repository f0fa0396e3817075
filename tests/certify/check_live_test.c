// The checker's search for live buffers on given bytes against looking at every buffer.

#include "synth/certify/check_model.h"

#include <check.h>
#include <stdlib.h>

enum { BUFFERS = 60 };

static uint64_t state;

static int below(int n) // splitmix64
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (int)((z ^ (z >> 31)) % (uint64_t)n);
}

static void place(chk *c, rec_tensor *t, int i)
{
    chk_buffer *b = &c->buf[i];
    *t = (rec_tensor){.id = i, .seg = below(3) == 0 ? 0 : 1};
    b->t = t;
    for (int k = 0; k < c->r->n_classes; k++) {
        bool as_before = k > 0 && (t->seg == 0 || i % 2 == 0);
        t->off[k] = as_before ? t->off[k - 1] : below(40) * 10;
        b->bytes[k] = below(6) == 0 ? 0 : below(60);
        int64_t end = t->off[k] + b->bytes[k];
        b->first = k == 0 || t->off[k] < b->first ? t->off[k] : b->first;
        b->end = k == 0 || end > b->end ? end : b->end;
    }
}

START_TEST(finds_what_a_scan_finds)
{
    state = (uint64_t)_i;
    hb_arena *a = hb_arena_new();
    record r = {.n_classes = 1 + below(4)};
    chk c = {.a = a, .r = &r, .n_buffers = BUFFERS, .buf = HB_ARRAY(a, chk_buffer, BUFFERS)};
    rec_tensor *t = HB_ARRAY(a, rec_tensor, BUFFERS);
    for (int i = 0; i < BUFFERS; i++)
        place(&c, &t[i], i);
    chk_spaces(&c);
    int since[BUFFERS] = {0}, n = 0; // when each became live, 0: it is not
    for (int step = 0; step < 400; step++) {
        int b = below(BUFFERS), last = 0, hits = 0;
        if (since[b]) {
            chk_delist(&c, b);
            since[b] = 0;
        } else {
            chk_enlist(&c, b);
            since[b] = ++n;
        }
        b = below(BUFFERS);
        chk_find_live(&c, b);
        for (int i = 0; i < BUFFERS; i++)
            hits += since[i] && (i == b || chk_overlap(&c, &c.buf[i], &c.buf[b]));
        ck_assert_int_eq(c.hit.n, hits);
        for (int i = 0; i < hits; i++) { // the oldest first
            int o = c.hit.p[i];
            ck_assert(since[o] > last && (o == b || chk_overlap(&c, &c.buf[o], &c.buf[b])));
            last = since[o];
        }
    }
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("check_live");
    TCase *c = tcase_create("bytes");
    tcase_add_loop_test(c, finds_what_a_scan_finds, 0, 60);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
