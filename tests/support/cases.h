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

// How many of n fresh cases may be worse than a test of a heuristic search asks, each time: about
// three times as often as is known of such cases (1 to 3 %), and two more, so that no run fails by
// what it happened to draw. None may be worse by more than TEST_MUCH. What is worse is printed, and
// becomes a kept case; of kept cases, and of any at night, none may be.
#define TEST_MUCH 2.0

static inline int test_may_miss(int n)
{
    return 2 + n / 20;
}

#endif
