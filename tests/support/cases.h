// How many cases a test of many runs: some each time, all at night (script/nightly sets
// HAP_NIGHTLY=1). A sanitized program looks for faults of memory, which few cases show as well as
// many, and takes several times as long a case.

#ifndef HAP_TESTS_SUPPORT_CASES_H
#define HAP_TESTS_SUPPORT_CASES_H

#include <stdlib.h>

#ifdef __SANITIZE_ADDRESS__
enum { TEST_SANITIZED = 1 };
#else
enum { TEST_SANITIZED = 0 };
#endif

static inline int test_cases(int sanitized, int each_time, int at_night)
{
    const char *night = getenv("HAP_NIGHTLY");
    if (night && night[0] == '1') return at_night;
    return TEST_SANITIZED ? sanitized : each_time;
}

#endif
