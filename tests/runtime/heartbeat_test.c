// What a rank says of itself to `hapc run`: the step that its rows are read for counts as that
// step, so a rank that stops between two steps is named with it.

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/heartbeat.h"

static char folder[] = "/tmp/heartbeat_test-XXXXXX";

static long long step_said(void)
{
    char path[64];
    long long pid, step;
    snprintf(path, sizeof path, "%s/rank.0", folder);
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fscanf(f, "%lld %lld", &pid, &step), 2);
    fclose(f);
    ck_assert_int_eq(pid, getpid());
    return step;
}

START_TEST(steps)
{
    hap_rank r = {.n_ranks = 1, .opt.steps = 2, .now.step = 5}; // resumed behind step 4
    ck_assert_ptr_nonnull(mkdtemp(folder));
    r.opt.heartbeat = folder;
    ck_assert_ptr_null(hap_beat_start(&r));
    ck_assert_int_eq(step_said(), -1);
    r.rehearsal = 1;
    hap_beat(&r, "linear");
    ck_assert_int_eq(step_said(), -2);
    hap_beat_quit(&r, 3);
    ck_assert_int_eq(step_said(), -2);
    r.rehearsal = 0;
    hap_beat(&r, "load");
    ck_assert_int_eq(step_said(), -1);
    r.loaded = true;
    hap_beat(&r, "input");
    ck_assert_int_eq(step_said(), 5);
    r.in_step = true;
    hap_beat(&r, "linear");
    ck_assert_int_eq(step_said(), 5);
    r.in_step = false;
    r.now.step++;
    r.steps_done++;
    hap_beat(&r, "input");
    ck_assert_int_eq(step_said(), 6);
    r.now.step++;
    r.steps_done++;
    hap_beat(&r, "save");
    ck_assert_int_eq(step_said(), -1);
    hap_beat_quit(&r, 3);
    ck_assert_int_eq(step_said(), -1);
    hap_beat_end(&r);

    char path[64];
    snprintf(path, sizeof path, "%s/rank.0", folder);
    unlink(path);
    rmdir(folder);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("heartbeat");
    TCase *t = tcase_create("heartbeat");
    tcase_add_test(t, steps);
    suite_add_tcase(s, t);
    SRunner *run = srunner_create(s);
    srunner_run_all(run, CK_NORMAL);
    int failed = srunner_ntests_failed(run);
    srunner_free(run);
    return failed != 0;
}
