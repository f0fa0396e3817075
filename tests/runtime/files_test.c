// Readers of .npy and safetensors: what they read, what they say of files that are cut off or
// wrong. Every truncation and thousands of random changes of a good file must end in a message or
// in tensors that lie inside the file.

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/npy.h"
#include "core/safetensors.h"
#include "core/shards.h"
#include "core/xxh64.h"

static char path[64];

static void make_path(void)
{
    strcpy(path, "/tmp/hap_files_test.XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

static void remove_path(void)
{
    unlink(path);
}

static void write_file(const void *p, size_t n)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(p, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
}

// --- .npy ---

static size_t npy(unsigned char *out, int version, const char *header, const void *data,
                  size_t bytes)
{
    size_t n = strlen(header), at = version == 1 ? 10 : 12;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (unsigned char)version;
    out[7] = 0;
    for (size_t i = 8; i < at; i++)
        out[i] = (unsigned char)(n >> (8 * (i - 8)) & 255);
    memcpy(out + at, header, n);
    if (bytes) memcpy(out + at + n, data, bytes);
    return at + n + bytes;
}

START_TEST(npy_good)
{
    static const float data[6] = {1, 2, 3, 4, 5, 6};
    unsigned char buf[512];
    char why[256] = "";
    hap_npy f;
    for (int version = 1; version <= 3; version++) {
        write_file(buf, npy(buf, version,
                            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n",
                            data, sizeof data));
        ck_assert_msg(hap_npy_open(&f, path, why, sizeof why), "%s", why);
        ck_assert_int_eq(f.type, HAP_F32);
        ck_assert_int_eq(f.rank, 2);
        ck_assert_int_eq(f.shape[0], 2);
        ck_assert_int_eq(f.shape[1], 3);
        ck_assert_int_eq(memcmp(f.data, data, sizeof data), 0);
        hap_npy_close(&f);
    }
    write_file(buf, npy(buf, 1, "{\"shape\": (3,), \"fortran_order\": True, \"descr\": \"<i8\"}\n",
                        data, 24));
    ck_assert_msg(hap_npy_open(&f, path, why, sizeof why), "%s", why);
    ck_assert_int_eq(f.type, HAP_I64);
    ck_assert_int_eq(f.rank, 1);
    hap_npy_close(&f);
    write_file(buf,
               npy(buf, 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (), }\n", data, 1));
    ck_assert_msg(hap_npy_open(&f, path, why, sizeof why), "%s", why);
    ck_assert_int_eq(f.rank, 0);
    ck_assert_int_eq(f.elements, 1);
    hap_npy_close(&f);
}
END_TEST

static const struct {
    const char *header, *says;
} npy_bad[] = {
    {"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", "elements of type '>f4'"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", "elements of type '<f8'"},
    {"{'descr': [('a','<f4')], 'fortran_order': False, 'shape': (2, 3), }", "structured"},
    {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", "Fortran"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }", "truncated: 24 bytes"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 4), }", "shape"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3), }", "shape"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,6), }", "more than 6"},
    {"{'descr': '<f4', 'shape': (2, 3), }", "incomplete"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)", "malformed"},
    {"", "malformed"},
};

START_TEST(npy_wrong)
{
    unsigned char buf[512], data[24] = {0};
    char why[256] = "";
    hap_npy f;
    write_file(buf, npy(buf, 1, npy_bad[_i].header, data, sizeof data));
    ck_assert(!hap_npy_open(&f, path, why, sizeof why));
    ck_assert_msg(strstr(why, npy_bad[_i].says) != NULL, "%s", why);
    ck_assert_msg(strncmp(why, path, strlen(path)) == 0, "%s", why);
}
END_TEST

START_TEST(npy_truncated)
{
    unsigned char buf[512], data[24] = {0};
    char why[256];
    hap_npy f;
    size_t n =
        npy(buf, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", data, 24);
    for (size_t k = 0; k < n; k++) {
        write_file(buf, k);
        why[0] = 0;
        ck_assert(!hap_npy_open(&f, path, why, sizeof why));
        ck_assert_int_ne(why[0], 0);
    }
    ck_assert(!hap_npy_open(&f, "/nowhere/x.npy", why, sizeof why));
    ck_assert_str_eq(why, "/nowhere/x.npy: No such file or directory");
    ck_assert(!hap_npy_open(&f, "/tmp", why, sizeof why));
}
END_TEST

// --- safetensors ---

static size_t st(unsigned char *out, const char *header, size_t bytes)
{
    size_t n = strlen(header);
    for (int i = 0; i < 8; i++)
        out[i] = (unsigned char)(n >> (8 * i) & 255);
    memcpy(out + 8, header, n);
    for (size_t i = 0; i < bytes; i++)
        out[8 + n + i] = (unsigned char)i;
    return 8 + n + bytes;
}

static const char good[] =
    "{\"__metadata__\":{\"format\":\"pt\"},\"w\\u0031\":{\"dtype\":\"F32\",\"shape\":[2,3],"
    "\"data_offsets\":[8,32]},\"hap.step\":{\"shape\":[],\"dtype\":\"I64\",\"data_offsets\":[0,8]},"
    "\"f8\":{\"dtype\":\"F8_E4M3\",\"shape\":[4],\"data_offsets\":[32,36]}}   ";

START_TEST(st_good)
{
    unsigned char buf[1024];
    char why[256] = "";
    hap_st f;
    write_file(buf, st(buf, good, 36));
    ck_assert_msg(hap_st_open(&f, path, why, sizeof why), "%s", why);
    ck_assert_int_eq(f.n, 3);
    const hap_st_tensor *w = hap_st_find(&f, "w1");
    ck_assert_ptr_nonnull(w);
    ck_assert_int_eq(w->type, HAP_F32);
    ck_assert_int_eq(w->rank, 2);
    ck_assert_int_eq(w->shape[1], 3);
    ck_assert_int_eq(w->data[0], 8);
    ck_assert_int_eq(hap_st_find(&f, "hap.step")->rank, 0);
    ck_assert_int_eq(hap_st_find(&f, "f8")->type, -1);
    ck_assert_ptr_null(hap_st_find(&f, "w"));
    hap_st_close(&f);
    write_file(buf, st(buf, "{}", 0));
    ck_assert_msg(hap_st_open(&f, path, why, sizeof why), "%s", why);
    hap_st_close(&f);
}
END_TEST

#define ONE(shape, offsets)                                                                        \
    "{\"w\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
static const struct {
    const char *header, *says;
    size_t bytes;
} st_bad[] = {
    {ONE("[2,3]", "[0,24]"), "truncated", 20},
    {ONE("[2,3]", "[0,24]"), "the file holds 28", 28},
    {ONE("[2,3]", "[0,20]"), "do not fit its shape", 24},
    {ONE("[2,3]", "[24,0]"), "do not fit its shape", 24},
    {ONE("[-2,3]", "[0,24]"), "byte 37: a whole number", 24},
    {ONE("[4611686018427387904,4]", "[0,24]"), "impossible shape", 24},
    {ONE("[99999999999999999999]", "[0,24]"), "too large", 24},
    {ONE("[2,3]", "[0]"), "two data_offsets", 24},
    {"{\"w\":{\"dtype\":\"F31\",\"shape\":[6],\"data_offsets\":[0,24]}}", "unknown dtype \"F31\"",
     24},
    {"{\"w\":{\"shape\":[6],\"data_offsets\":[0,24]}}", "wants dtype", 24},
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24],\"x\":1}}", "unknown key",
     24},
    {"{\"w\":{\"dtype\":\"I8\",\"shape\":[4],\"data_offsets\":[0,4]},"
     "\"w\":{\"dtype\":\"I8\",\"shape\":[4],\"data_offsets\":[4,8]}}",
     "two tensors \"w\"", 8},
    {"{\"w\":{\"dtype\":\"F32\"", "'}' expected", 0},
    {"{\"w", "without end", 0},
    {"{\"\\ud800x\":1}", "surrogate", 0},
    {"{\"\\q\":1}", "escape", 0},
    {"[]", "'{' expected", 0},
    {"{} x", "follows", 0},
    {"", "'{' expected", 0},
};

START_TEST(st_wrong)
{
    unsigned char buf[1024];
    char why[256] = "";
    hap_st f;
    write_file(buf, st(buf, st_bad[_i].header, st_bad[_i].bytes));
    ck_assert(!hap_st_open(&f, path, why, sizeof why));
    ck_assert_msg(strstr(why, st_bad[_i].says) != NULL, "%s", why);
    ck_assert_msg(strncmp(why, path, strlen(path)) == 0, "%s", why);
}
END_TEST

START_TEST(st_truncated)
{
    unsigned char buf[1024];
    char why[256];
    hap_st f;
    size_t n = st(buf, good, 36);
    for (size_t k = 0; k < n; k++) {
        write_file(buf, k);
        why[0] = 0;
        ck_assert(!hap_st_open(&f, path, why, sizeof why));
        ck_assert_int_ne(why[0], 0);
    }
}
END_TEST

START_TEST(st_mutated)
{
    unsigned char buf[1024], sick[1024];
    char why[256];
    hap_st f;
    size_t n = st(buf, good, 36);
    uint64_t state = 1;
    int opened = 0;
    for (int round = 0; round < 1000; round++) {
        memcpy(sick, buf, n);
        for (int k = 0; k < 1 + round % 3; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            size_t at = (state >> 33) % (n - 36);
            sick[at] = round % 2 ? (unsigned char)(state >> 25) : sick[(state >> 20) % n];
        }
        write_file(sick, n);
        if (!hap_st_open(&f, path, why, sizeof why)) continue;
        opened++;
        for (int i = 0; i < f.n; i++) {
            const hap_st_tensor *t = &f.tensor[i];
            ck_assert(t->data >= f.map.p && t->end - t->begin <= f.map.p + f.map.bytes - t->data);
        }
        hap_st_close(&f);
    }
    ck_assert_int_gt(opened, 0);
}
END_TEST

// --- a checkpoint's metadata ---

#define RUN(cursor, seed, shuffle, step)                                                           \
    "\"hap.cursor\":\"" cursor "\",\"hap.samples\":\"64\",\"hap.seed\":\"" seed                    \
    "\",\"hap.shuffle\":\"" shuffle "\",\"hap.step\":\"" step "\",\"hap.graph\":\"g\""
#define SUMS      ",\"hap.sums\":\"3aefa6fd5cf2deb4\"" // of four bytes that are 0
#define FORMAT(n) ",\"hap.format\":\"" n "\""

static const struct {
    const char *meta, *says; // NULL: it opens
} saved_cases[] = {
    {RUN("8", "5", "0", "4") FORMAT("1") SUMS, NULL},
    {RUN("8", "18446744073709551615", "1", "0") FORMAT("1") SUMS, NULL},
    {RUN("8", "5", "0", "9223372036854775807") FORMAT("1") SUMS, "its metadata is broken"},
    {RUN("9223372036854775807", "5", "0", "4") FORMAT("1") SUMS, "its metadata is broken"},
    {RUN("8", "5", "0", "-1") FORMAT("1") SUMS, "its metadata is broken"},
    {RUN("8", "5x", "0", "4") FORMAT("1") SUMS, "its metadata is broken"},
    {RUN("8", "", "0", "4") FORMAT("1") SUMS, "its metadata is broken"},
    {RUN("8", "-5", "0", "4") FORMAT("1") SUMS, "its metadata is broken"},
    {RUN("8", "5", "2", "4") FORMAT("1") SUMS, "its metadata is broken"},
    {RUN("8", "5", "yes", "4") FORMAT("1") SUMS, "its metadata is broken"},
    {RUN("8", "5", "0", "4") FORMAT("1"), "its metadata is broken"},
    {RUN("x", "5", "0", "4") FORMAT("2"), NULL}, // whoever goes on from it refuses
    {RUN("8", "5", "0", "4"), NULL},
};

// A file of one f32, its header sealed.
static size_t sealed(char *buf, size_t size, const char *meta)
{
    char sum[17];
    int n = snprintf(buf + 8, size - 12,
                     "{\"__metadata__\":{%s,\"hap.head\":\"0000000000000000\"},"
                     "\"w\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}",
                     meta);
    for (int i = 0; i < 8; i++)
        buf[i] = (char)((uint64_t)n >> (8 * i) & 255);
    memset(buf + 8 + n, 0, 4);
    ck_assert(hap_head_sum(buf + 8, n, sum));
    memcpy(strstr(buf + 8, HAP_HEAD_KEY) + strlen(HAP_HEAD_KEY), sum, 16);
    return (size_t)n + 12;
}

START_TEST(saved_metadata)
{
    char buf[1024], why[512] = "";
    size_t n = sealed(buf, sizeof buf, saved_cases[_i].meta);
    hap_shards s;
    write_file(buf, n);
    bool open = hap_shards_open(&s, path, why, sizeof why);
    ck_assert_msg(open == !saved_cases[_i].says, "%s", why);
    ck_assert_msg(open || strstr(why, saved_cases[_i].says), "%s", why);
    if (open) {
        hap_shards_verify(&s, 0, 1, why, sizeof why);
        ck_assert_str_eq(why, "");
        hap_shards_close(&s);
    }
}
END_TEST

// Any byte that is another, be it of a name, a shape, the metadata or the data, is found.
START_TEST(every_damaged_byte_is_found)
{
    char buf[1024], sick[1024];
    size_t n = sealed(buf, sizeof buf, saved_cases[0].meta);
    const char *format = strstr(buf + 8, "hap.format");
    for (size_t at = 8; at < n; at++) {
        char why[512] = "";
        hap_shards s;
        if (at >= (size_t)(format - buf) && at < (size_t)(format - buf) + 14) continue;
        memcpy(sick, buf, n);
        sick[at] ^= 1;
        write_file(sick, n);
        if (hap_shards_open(&s, path, why, sizeof why)) {
            hap_shards_verify(&s, 0, 1, why, sizeof why);
            hap_shards_close(&s);
        }
        ck_assert_msg(why[0], "byte %d is another and nothing is said", (int)at);
    }
}
END_TEST

// Sums of the bytes 0, 7, 14, …, by the library of XXH64's author.
static const struct {
    int n;
    uint64_t sum;
} sums[] = {{0, 0xef46db3751d8e999u},  {1, 0xe934a84adb052768u},  {3, 0x9ff70a635a6209abu},
            {4, 0xae5acdc00a55ac41u},  {14, 0x8b3c6f96512c86a1u}, {31, 0xf187c62b1e722b7u},
            {32, 0x91b0cb0931a8c629u}, {33, 0x931b043cf8d65b94u}, {100, 0x8e2272c08247d5dbu}};

START_TEST(checksum)
{
    unsigned char bytes[100];
    for (int i = 0; i < 100; i++)
        bytes[i] = (unsigned char)(i * 7);
    ck_assert_uint_eq(hap_xxh64(bytes, sums[_i].n), sums[_i].sum);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("files");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, make_path, remove_path);
    tcase_set_timeout(t, 30);
    tcase_add_test(t, npy_good);
    tcase_add_loop_test(t, npy_wrong, 0, sizeof npy_bad / sizeof *npy_bad);
    tcase_add_test(t, npy_truncated);
    tcase_add_test(t, st_good);
    tcase_add_loop_test(t, st_wrong, 0, sizeof st_bad / sizeof *st_bad);
    tcase_add_test(t, st_truncated);
    tcase_add_test(t, st_mutated);
    tcase_add_loop_test(t, saved_metadata, 0, sizeof saved_cases / sizeof *saved_cases);
    tcase_add_test(t, every_damaged_byte_is_found);
    tcase_add_loop_test(t, checksum, 0, sizeof sums / sizeof *sums);
    suite_add_tcase(s, t);
    SRunner *run = srunner_create(s);
    srunner_run_all(run, CK_NORMAL);
    int failed = srunner_ntests_failed(run);
    srunner_free(run);
    return failed;
}
