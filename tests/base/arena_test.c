#include "ir/base/arena.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ir/base/plain.h"
#include "ir/base/sha256.h"

static hb_arena *arena;

static void setup(void)
{
    arena = hb_arena_new();
}

static void teardown(void)
{
    hb_arena_free(arena);
}

static void assert_str(hb_str got, const char *want)
{
    ck_assert_msg(hb_str_is(got, want), "got '%.*s', want '%s'", HB_ARG(got), want);
    ck_assert_int_eq(got.p[got.n], '\0');
}

START_TEST(memory_is_zeroed_aligned_and_apart)
{
    enum { N = 2000 };
    unsigned char *block[N];
    for (int i = 0; i < N; i++) {
        size_t size = (size_t)(i * 37 % 5000) + (i % 100 == 0 ? 300000 : 1);
        block[i] = hb_alloc(arena, size);
        ck_assert_uint_eq((uintptr_t)block[i] % 16, 0);
        size_t zeros = 0;
        while (zeros < size && !block[i][zeros])
            zeros++;
        ck_assert_uint_eq(zeros, size);
        memset(block[i], i % 251 + 1, size);
    }
    for (int i = 0; i < N; i++) {
        size_t size = (size_t)(i * 37 % 5000) + (i % 100 == 0 ? 300000 : 1);
        ck_assert_uint_eq(block[i][0], i % 251 + 1);
        ck_assert_uint_eq(block[i][size - 1], i % 251 + 1);
    }
    ck_assert_ptr_nonnull(hb_alloc(arena, 0));
    hb_arena_free(NULL);
}
END_TEST

START_TEST(absurd_size_exits_3)
{
    hb_alloc(arena, SIZE_MAX);
}
END_TEST

// A program that lies in a joined arena goes on taking memory from it.
START_TEST(joined_arenas_stay_in_use)
{
    hb_arena *b = hb_arena_new(), *c = hb_arena_new();
    int *first = HB_ARRAY(c, int, 3);
    first[2] = 7;
    hb_arena_join(b, c);
    hb_arena_join(arena, b);
    int *more = HB_ARRAY(c, int, 100000);
    more[99999] = first[2];
    ck_assert_int_eq(more[99999], 7);
    hb_arena_free(hb_arena_within(b));
    ck_assert_ptr_nonnull(hb_alloc(b, 10));
}
END_TEST

START_TEST(strings_compare_bytewise)
{
    hb_str a = hb_str_c(arena, "abc"), b = hb_str_n(arena, "abcd", 4), empty = {0};
    assert_str(a, "abc");
    ck_assert(hb_str_eq(a, HB_STR("abc")));
    ck_assert(!hb_str_eq(a, b));
    ck_assert(hb_str_eq(empty, HB_STR("")));
    ck_assert(hb_str_is(empty, ""));
    ck_assert_int_lt(hb_str_cmp(a, b), 0);
    ck_assert_int_gt(hb_str_cmp(b, a), 0);
    ck_assert_int_eq(hb_str_cmp(a, HB_STR("abc")), 0);
    ck_assert_int_gt(hb_str_cmp(HB_STR("\xff"), HB_STR("a")), 0);
    ck_assert_int_lt(hb_str_cmp(empty, a), 0);
}
END_TEST

static const struct {
    const char *pattern, *text;
    bool matches;
} globs[] = {
    {"", "", true},
    {"", "a", false},
    {"*", "", true},
    {"**", "abc", true},
    {"*.bias", "h.0.attn.bias", true},
    {"*.bias", "bias", false},
    {"*.ln_*", "h.0.ln_1.weight", true},
    {"h.?.w", "h.1.w", true},
    {"h.?.w", "h.12.w", false},
    {"a*b*c", "a1b2b3c", true},
    {"a*b*c", "a1b2b3", false},
    {"*ab", "aab", true},
    {"?", "", false},
    {"a*aaaaaaaaaaaab", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
    {"[a]", "[a]", true},
};

START_TEST(glob_matches)
{
    hb_str p = hb_str_c(arena, globs[_i].pattern), t = hb_str_c(arena, globs[_i].text);
    ck_assert_msg(hb_glob(p, t) == globs[_i].matches, "'%s' on '%s'", p.p, t.p);
}
END_TEST

START_TEST(buffer_formats_and_grows)
{
    hb_buf b = {.arena = arena};
    assert_str(hb_done(&b), "");
    hb_puts(&b, "rank ");
    hb_printf(&b, "%d", 3);
    hb_putc(&b, ':');
    hb_putn(&b, "abc", 2);
    assert_str(hb_done(&b), "rank 3:ab");
    for (int i = 0; i < 1000; i++)
        hb_printf(&b, "%04d", i);
    hb_str all = hb_done(&b);
    ck_assert_uint_eq(all.n, 9 + 4000);
    ck_assert_str_eq(all.p + all.n - 4, "0999");
    assert_str(hb_fmt(arena, "%s-%.*s", "x", HB_ARG(HB_STR("yz"))), "x-yz");
    assert_str(hb_fmt(arena, "%s", ""), "");
}
END_TEST

START_TEST(json_text_is_escaped)
{
    hb_buf b = {.arena = arena};
    hb_put_json(&b, HB_STR("a\"b\\c\n\t\r\001\x7f/\xc3\xa9"));
    assert_str(hb_done(&b), "\"a\\\"b\\\\c\\n\\t\\r\\u0001\\u007f/\xc3\xa9\"");
}
END_TEST

START_TEST(vector_keeps_what_was_put)
{
    HB_VEC(int) v = {0};
    for (int i = 0; i < 1000; i++)
        HB_PUSH(arena, &v, i * i);
    ck_assert_int_eq(v.n, 1000);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(v.p[i], i * i);
}
END_TEST

START_TEST(vector_gives_back_what_it_does_not_use)
{
    enum { ROOM = 1 << 20 };
    hb_arena *a = hb_arena_new();
    HB_VEC(int) v, small;
    HB_ROOM(a, &small, 8);
    HB_PUSH(a, &small, 7);
    HB_ROOM(a, &v, ROOM);
    for (int i = 0; i < 1000; i++)
        HB_PUSH(a, &v, i);
    HB_FIT(a, &v, ROOM); // nothing to give
    ck_assert_int_eq(v.cap, ROOM);
    HB_FIT(a, &v, 1001);
    ck_assert_int_eq(v.cap, 1001);
    HB_FIT(a, &small, 1); // others stand behind it
    ck_assert_int_eq(small.cap, 8);
    int *other = HB_ARRAY(a, int, 100);
    other[0] = 1;
    for (int i = 1000; i < 3000; i++)
        HB_PUSH(a, &v, i);
    for (int i = 0; i < v.n; i++)
        ck_assert_int_eq(v.p[i], i);
    ck_assert_int_eq(small.p[0], 7);
    ck_assert_int_eq(other[0], 1);
    hb_arena_free(a);
}
END_TEST

START_TEST(map_finds_all_and_only_its_keys)
{
    hb_map *m = hb_map_new(arena);
    ck_assert_int_eq(hb_map_get(m, HB_STR("")), -1);
    for (int i = 0; i < 5000; i++)
        hb_map_put(m, hb_fmt(arena, "h.%d.weight", i), i);
    hb_map_put(m, HB_STR(""), 7);
    hb_map_put(m, HB_STR("h.3.weight"), 33); // replaces
    for (int i = 0; i < 5000; i++)
        ck_assert_int_eq(hb_map_get(m, hb_fmt(arena, "h.%d.weight", i)), i == 3 ? 33 : i);
    ck_assert_int_eq(hb_map_get(m, HB_STR("")), 7);
    ck_assert_int_eq(hb_map_get(m, HB_STR("h.5000.weight")), -1);
}
END_TEST

START_TEST(hash_is_fnv1a)
{
    // Vectors of the FNV authors.
    ck_assert(hb_hash("", 0) == UINT64_C(0xcbf29ce484222325));
    ck_assert(hb_hash("a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
    ck_assert(hb_hash("foobar", 6) == UINT64_C(0x85944171f73967e8));
}
END_TEST

START_TEST(sha256_gives_the_standard_vectors)
{
    assert_str(hb_sha256_hex(arena, HB_STR("")),
               "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_str(hb_sha256_hex(arena, HB_STR("abc")),
               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_str(
        hb_sha256_hex(arena, HB_STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *million = hb_alloc(arena, 1000000);
    memset(million, 'a', 1000000);
    assert_str(hb_sha256_hex(arena, (hb_str){million, 1000000}),
               "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
END_TEST

START_TEST(files_are_written_whole_and_read_back)
{
    char dir[] = "/tmp/hapc-arena-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(dir));
    hb_str path = hb_fmt(arena, "%s/a.txt", dir);
    char *big = hb_alloc(arena, 200001);
    for (int i = 0; i < 200000; i++)
        big[i] = (char)(i * 7 % 256);
    ck_assert(hb_write_file(path.p, (hb_str){big, 200000}));
    hb_str text;
    const char *why = NULL;
    ck_assert(hb_read_file(arena, path.p, &text, &why));
    ck_assert_uint_eq(text.n, 200000);
    ck_assert_int_eq(memcmp(text.p, big, text.n), 0);
    ck_assert(hb_write_file(path.p, HB_STR("")));
    ck_assert(hb_read_file(arena, path.p, &text, &why));
    assert_str(text, "");
    hb_str tmp = hb_fmt(arena, "%s.tmp", path.p);
    ck_assert_int_ne(access(tmp.p, F_OK), 0);

    ck_assert(!hb_read_file(arena, hb_fmt(arena, "%s/none", dir).p, &text, &why));
    ck_assert_str_eq(why, "No such file or directory");
    ck_assert(!hb_read_file(arena, dir, &text, &why));
    ck_assert_str_eq(why, "Is a directory");
    ck_assert(!hb_write_file(hb_fmt(arena, "%s/no/such", dir).p, HB_STR("x")));
    ck_assert_int_eq(errno, ENOENT);

    ck_assert(!hb_write_file(dir, HB_STR("x"))); // rename onto a folder fails, and cleans up
    ck_assert_int_ne(access(hb_fmt(arena, "%s.tmp", dir).p, F_OK), 0);
    ck_assert_int_eq(remove(path.p), 0);
    ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

START_TEST(bug_exits_4)
{
    hb_assert(arena == NULL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("arena");
    TCase *t = tcase_create("arena");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 30);
    tcase_add_test(t, memory_is_zeroed_aligned_and_apart);
    tcase_add_test(t, joined_arenas_stay_in_use);
    tcase_add_exit_test(t, absurd_size_exits_3, 3);
    tcase_add_test(t, strings_compare_bytewise);
    tcase_add_loop_test(t, glob_matches, 0, sizeof globs / sizeof *globs);
    tcase_add_test(t, buffer_formats_and_grows);
    tcase_add_test(t, json_text_is_escaped);
    tcase_add_test(t, vector_keeps_what_was_put);
    tcase_add_test(t, vector_gives_back_what_it_does_not_use);
    tcase_add_test(t, map_finds_all_and_only_its_keys);
    tcase_add_test(t, hash_is_fnv1a);
    tcase_add_test(t, sha256_gives_the_standard_vectors);
    tcase_add_test(t, files_are_written_whole_and_read_back);
    tcase_add_exit_test(t, bug_exits_4, 4);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed;
}
