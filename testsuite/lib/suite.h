/* SPDX-License-Identifier: Apache-2.0 */
/* suite.h - the main() of a unit test program
 *
 * SUITE("noun", test, test, ...) at the end of the file makes a Check suite
 * of up to 64 tests and a main() that runs it. CK_FORK=no runs it in one
 * process, for a debugger.
 */
#pragma once

#include <check.h>
#include <stdlib.h>

static inline int
suite_main(const char *name, const TTest *const *tests, size_t count)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 120);
    for (size_t i = 0; i < count; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#define SUITE(name, ...)                                                    \
    int main(void)                                                          \
    {                                                                       \
        const TTest *const tests[] = {__VA_ARGS__};                         \
        return suite_main((name), tests, sizeof(tests) / sizeof(tests[0])); \
    }
