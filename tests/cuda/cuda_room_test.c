// Rooms of workspaces (cuda/device/cuda_room.h) on a device that is the host's memory: what a room
// gives, and which of its places are still there.

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device/cuda_context.h"
#include "cuda/device/cuda_room.h"

// --- what the file under test calls ---

enum { MOST = 64 };
static char *place[MOST]; // that are allocated
static int64_t size[MOST];
static int64_t capacity; // bytes
static cudaStream_t waited;

cudaError_t cudaMalloc(void **p, size_t bytes)
{
    int i = 0;
    if ((int64_t)bytes > capacity) return cudaErrorMemoryAllocation;
    while (i < MOST && place[i])
        i++;
    ck_assert_int_lt(i, MOST);
    *p = place[i] = malloc(bytes);
    size[i] = (int64_t)bytes;
    return cudaSuccess;
}

cudaError_t cudaFree(void *p)
{
    int i = 0;
    while (i < MOST && place[i] != p)
        i++;
    ck_assert_int_lt(i, MOST); // nothing is freed twice
    free(p);
    place[i] = NULL;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    waited = s;
    return cudaSuccess;
}

const char *cuda_said(cudaError_t e, const char *call)
{
    return e ? call : NULL;
}

const char *cuda_fail(const char *fmt, ...)
{
    return fmt;
}

static int places(void)
{
    int n = 0;
    for (int i = 0; i < MOST; i++)
        n += place[i] != NULL;
    return n;
}

static bool there(const char *p, int64_t bytes)
{
    for (int i = 0; i < MOST; i++)
        if (place[i] == p && p) return size[i] >= bytes;
    return false;
}

static const cudaStream_t stream = (cudaStream_t)&place;

START_TEST(it_grows)
{
    cuda_context x = {0};
    cuda_room m = {0};
    capacity = 1000;
    ck_assert_ptr_null(cuda_room_take(&x, &m, stream, 0));
    ck_assert_ptr_null(m.at);
    for (int64_t bytes = 1; bytes <= 1000; bytes += 37) {
        waited = NULL;
        ck_assert_ptr_null(cuda_room_take(&x, &m, stream, bytes));
        ck_assert(there(m.at, bytes) && places() == 1); // nothing is left behind
        ck_assert_ptr_eq(waited, stream);               // before what it holds is freed
    }
    char *at = m.at;
    waited = NULL;
    ck_assert_ptr_null(cuda_room_take(&x, &m, stream, 500));
    ck_assert(m.at == at && !waited);
    cuda_room_free(&m);
    ck_assert_int_eq(places(), 0);
}
END_TEST

START_TEST(graphs_keep_what_they_hold)
{
    enum { PROGRAMS = 5 };
    cuda_context x = {0};
    cuda_room m = {0};
    char *held[PROGRAMS];
    capacity = 1000;
    for (int k = 0; k < PROGRAMS; k++) { // each wants more, and then is captured
        ck_assert_ptr_null(cuda_room_take(&x, &m, stream, 100 * (k + 1)));
        held[k] = m.at;
        x.graphs++;
        for (int i = 0; i <= k; i++)
            ck_assert(there(held[i], 100 * (i + 1)));
    }
    x.graphs--; // one of them
    ck_assert_ptr_null(cuda_room_take(&x, &m, stream, 600));
    ck_assert_int_eq(places(), PROGRAMS + 1);
    x.graphs = 0;
    ck_assert_ptr_null(cuda_room_take(&x, &m, stream, 700));
    ck_assert(there(m.at, 700) && places() == 1);
    x.graphs = 1;
    ck_assert_ptr_null(cuda_room_take(&x, &m, stream, 800));
    cuda_room_free(&m);
    ck_assert_int_eq(places(), 0);
}
END_TEST

START_TEST(a_capture_takes_what_there_is)
{
    cuda_context x = {0};
    cuda_room m = {0};
    capacity = 1000;
    ck_assert_ptr_null(cuda_room_take(&x, &m, stream, 100));
    char *at = m.at;
    x.capturing = true;
    waited = NULL;
    ck_assert_ptr_null(cuda_room_take(&x, &m, stream, 100));
    ck_assert_ptr_nonnull(strstr(cuda_room_take(&x, &m, stream, 101), "captured"));
    ck_assert(m.at == at && there(at, 100) && !waited); // to wait would end the capture
    cuda_room_free(&m);
}
END_TEST

START_TEST(no_memory_is_said)
{
    cuda_context x = {.graphs = 1};
    cuda_room m = {0};
    capacity = 100;
    ck_assert_ptr_null(cuda_room_take(&x, &m, stream, 100));
    ck_assert_ptr_nonnull(strstr(cuda_room_take(&x, &m, stream, 101), "out of device memory"));
    cuda_room_free(&m);
    ck_assert_int_eq(places(), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_room");
    TCase *c = tcase_create("room");
    tcase_add_test(c, it_grows);
    tcase_add_test(c, graphs_keep_what_they_hold);
    tcase_add_test(c, a_capture_takes_what_there_is);
    tcase_add_test(c, no_memory_is_said);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
