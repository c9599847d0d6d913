/* SPDX-License-Identifier: Apache-2.0 */
/* suite.h - the tests of one file, in the program of their room
 *
 * SUITE("noun", test, test, ...) at the end of a file makes a Check suite of up to
 * 64 tests and adds it to those of the program, whose main(), in suite.c, runs all
 * of them, or the files that its arguments name, and prints TAP. A test that cannot
 * run on this machine calls SKIP("only root can do that") and is counted as
 * skipped. CK_FORK=no runs all in one process, for a debugger.
 *
 * Thread: suite_add, before main; suite_skip, the only thread of a test's process.
 */
#pragma once

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void suite_add(const char *noun, const char *file, const TTest *const *tests, size_t count);
void suite_skip(const char *function, const char *reason);

/* Ends the test that calls it. */
#define SKIP(reason)                    \
    do {                                \
        suite_skip(__func__, (reason)); \
        return;                         \
    } while (0)

#define SUITE(noun, ...)                                                      \
    __attribute__((constructor)) static void add_suite_of_file(void)          \
    {                                                                         \
        const TTest *const tests[] = {__VA_ARGS__};                           \
                                                                              \
        suite_add((noun), __FILE__, tests, sizeof(tests) / sizeof(tests[0])); \
    }
