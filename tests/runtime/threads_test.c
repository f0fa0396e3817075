// What a thread of a program gets: variables that each thread has for itself lie on its stack,
// which they leave to it. Threads are OpenBLAS's, MPI's and the runtime's.

#include <check.h>
#include <pthread.h>
#include <string.h>

#include "cpu/cpu.h"

enum { STACK = 256 << 10, USED = 128 << 10 };

// All CPU ops are in this program.
static void (*volatile op)(hap_rank *, const hap_op_call *) = hap_cpu_op;

static void *use(void *arg)
{
    char room[USED];
    memset(room, *(int *)arg, sizeof room);
    return memchr(room, *(int *)arg ^ 1, sizeof room) ? NULL : arg;
}

START_TEST(a_small_stack_is_enough)
{
    pthread_attr_t attr;
    pthread_t thread;
    void *got = NULL;
    int arg = 7;
    ck_assert_ptr_nonnull((void *)(size_t)op);
    pthread_attr_init(&attr);
    ck_assert_int_eq(pthread_attr_setstacksize(&attr, STACK), 0);
    ck_assert_int_eq(pthread_create(&thread, &attr, use, &arg), 0);
    ck_assert_int_eq(pthread_join(thread, &got), 0);
    ck_assert_ptr_eq(got, &arg);
    pthread_attr_destroy(&attr);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("threads");
    TCase *t = tcase_create("threads");
    tcase_add_test(t, a_small_stack_is_enough);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
