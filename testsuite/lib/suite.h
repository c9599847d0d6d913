/* SPDX-License-Identifier: Apache-2.0 */
/* suite.h - the main() of a unit test program
 *
 * SUITE("noun", test, test, ...) at the end of the file makes a Check suite of
 * up to 64 tests and a main() that runs it and prints TAP. A test that cannot
 * run on this machine calls SKIP("only root can do that") and is counted as
 * skipped. CK_FORK=no runs all in one process, for a debugger.
 */
#pragma once

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SUITE_MAX_TESTS 64

/* Check writes the place of each assertion that holds to a file, to name the
 * last one if the test crashes later. The first 32 times of an assertion in a
 * loop are enough: some tests spent most of their time on it.
 */
static inline void
suite_mark(const char *file, int line)
{
    static _Thread_local unsigned char times[4096];

    if (times[line % 4096] == 32)
        return;
    times[line % 4096]++;
    (_mark_point)(file, line);
}
#define _mark_point(file, line) suite_mark((file), (line))

/* Written by the processes of the tests, read by the first process. */
struct suite_skips {
    unsigned count;
    struct {
        char function[128]; /* the name that Check gives the test */
        char reason[128];
    } items[SUITE_MAX_TESTS];
};

static struct suite_skips *suite_skips;

static inline void
suite_skip(const char *function, const char *reason)
{
    unsigned i = suite_skips->count;

    if (i >= SUITE_MAX_TESTS)
        return;
    suite_skips->count++;
    snprintf(suite_skips->items[i].function, sizeof(suite_skips->items[i].function), "%s",
             function);
    snprintf(suite_skips->items[i].reason, sizeof(suite_skips->items[i].reason), "%s", reason);
}

/* Ends the test that calls it. */
#define SKIP(reason)                    \
    do {                                \
        suite_skip(__func__, (reason)); \
        return;                         \
    } while (0)

static inline const char *
suite_skip_reason(const char *test)
{
    size_t length = strlen(test);

    for (unsigned i = 0; i < suite_skips->count; i++) {
        const char *function = suite_skips->items[i].function;

        if (strncmp(function, test, length) == 0 && strcmp(function + length, "_fn") == 0)
            return suite_skips->items[i].reason;
    }
    return NULL;
}

/* Prints the failure, each line as a comment. */
static inline void
suite_explain(TestResult *result)
{
    const char *text = tr_msg(result);

    printf("# %s:%d:\n", tr_lfile(result), tr_lno(result));
    for (; *text != '\0'; text += text[strcspn(text, "\n")] == '\n') {
        printf("# %.*s\n", (int)strcspn(text, "\n"), text);
        text += strcspn(text, "\n");
    }
}

static inline void
suite_report(const TTest *const *tests, TestResult **results, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = tests[i]->name;
        const char *reason = suite_skip_reason(name);

        if (tr_rtype(results[i]) != CK_PASS) {
            printf("not ok %zu - %s\n", i + 1, name);
            suite_explain(results[i]);
        } else {
            printf("ok %zu - %s%s%s\n", i + 1, name, reason != NULL ? " # SKIP " : "",
                   reason != NULL ? reason : "");
        }
    }
    printf("1..%zu\n", count);
}

static inline int
suite_main(const char *name, const TTest *const *tests, size_t count)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    TestResult **results;
    SRunner *runner;
    int failed;

    unsetenv("CK_TAP_LOG_FILE_NAME");
    setenv("KILN_ABORT_ON_FAULT", "1", 1);
    suite_skips =
        mmap(NULL, sizeof(*suite_skips), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (suite_skips == MAP_FAILED)
        abort();
    tcase_set_timeout(tcase, 120);
    for (size_t i = 0; i < count; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_SILENT);
    failed = srunner_ntests_failed(runner);
    results = srunner_results(runner);
    if ((size_t)srunner_ntests_run(runner) == count)
        suite_report(tests, results, count);
    free(results);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#define SUITE(name, ...)                                                    \
    int main(void)                                                          \
    {                                                                       \
        const TTest *const tests[] = {__VA_ARGS__};                         \
        return suite_main((name), tests, sizeof(tests) / sizeof(tests[0])); \
    }
