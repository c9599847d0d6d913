/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the files of tests that a program has, one after another, each with a runner
 * of its own and each test in a process of its own, so that a test finds the process
 * as main() left it, whatever ran before. Files add themselves before main(), in the
 * order of linking, which is that of their list in include.am.
 */
#include "testsuite/lib/suite.h"

#include <stdbool.h>
#include <sys/mman.h>

struct suite {
    const char *noun;
    const char *file;
    const TTest *tests[SUITE_MAX_TESTS];
    size_t count;
    struct suite *next;
};

/* Written by the processes of the tests, read by the first process. */
struct suite_skips {
    unsigned count;
    struct {
        char function[128]; /* the name that Check gives the test */
        char reason[128];
    } items[SUITE_MAX_TESTS];
};

static struct suite *first;
static struct suite **last_link = &first;
static struct suite_skips *skips;

void
suite_add(const char *noun, const char *file, const TTest *const *tests, size_t count)
{
    struct suite *suite = calloc(1, sizeof(*suite));

    if (suite == NULL || count > SUITE_MAX_TESTS)
        abort();
    suite->noun = noun;
    suite->file = file;
    memcpy(suite->tests, tests, count * sizeof(tests[0]));
    suite->count = count;
    *last_link = suite;
    last_link = &suite->next;
}

void
suite_skip(const char *function, const char *reason)
{
    unsigned i = skips->count;

    if (i >= SUITE_MAX_TESTS)
        return;
    skips->count++;
    snprintf(skips->items[i].function, sizeof(skips->items[i].function), "%s", function);
    snprintf(skips->items[i].reason, sizeof(skips->items[i].reason), "%s", reason);
}

static const char *
skip_reason(const char *test)
{
    size_t length = strlen(test);

    for (unsigned i = 0; i < skips->count; i++) {
        const char *function = skips->items[i].function;

        if (strncmp(function, test, length) == 0 && strcmp(function + length, "_fn") == 0)
            return skips->items[i].reason;
    }
    return NULL;
}

/* The part of the path from its last '/', without ".c". */
static void
file_noun(const char *path, char *noun, size_t size)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *dot = strstr(name, ".c");

    snprintf(noun, size, "%.*s", (int)(dot != NULL ? (size_t)(dot - name) : strlen(name)), name);
}

/* Prints the failure, each line as a comment. */
static void
explain(TestResult *result)
{
    const char *text = tr_msg(result);

    printf("# %s:%d:\n", tr_lfile(result), tr_lno(result));
    for (; *text != '\0'; text += text[strcspn(text, "\n")] == '\n') {
        printf("# %.*s\n", (int)strcspn(text, "\n"), text);
        text += strcspn(text, "\n");
    }
}

/* Prints the suite's points, numbered after `before` others. */
static void
report(const struct suite *suite, TestResult **results, size_t before)
{
    char file[128];

    file_noun(suite->file, file, sizeof(file));
    for (size_t i = 0; i < suite->count; i++) {
        const char *name = suite->tests[i]->name;
        const char *reason = skip_reason(name);

        if (tr_rtype(results[i]) != CK_PASS) {
            printf("not ok %zu - %s: %s\n", before + i + 1, file, name);
            explain(results[i]);
        } else {
            printf("ok %zu - %s: %s%s%s\n", before + i + 1, file, name,
                   reason != NULL ? " # SKIP " : "", reason != NULL ? reason : "");
        }
    }
    fflush(stdout);
}

/* Returns how many of the suite's tests failed. */
static int
run(const struct suite *suite, size_t before)
{
    Suite *check_suite = suite_create(suite->noun);
    TCase *tcase = tcase_create(suite->noun);
    TestResult **results;
    SRunner *runner;
    int failed;

    skips->count = 0;
    tcase_set_timeout(tcase, 120);
    for (size_t i = 0; i < suite->count; i++)
        tcase_add_test(tcase, suite->tests[i]);
    suite_add_tcase(check_suite, tcase);
    runner = srunner_create(check_suite);
    srunner_run_all(runner, CK_SILENT);
    failed = srunner_ntests_failed(runner);
    results = srunner_results(runner);
    if ((size_t)srunner_ntests_run(runner) == suite->count)
        report(suite, results, before);
    free(results);
    srunner_free(runner);
    return failed;
}

static bool
is_file(const struct suite *suite, const char *path)
{
    char ours[128], theirs[128];

    file_noun(suite->file, ours, sizeof(ours));
    file_noun(path, theirs, sizeof(theirs));
    return strcmp(ours, theirs) == 0;
}

static bool
is_asked(const struct suite *suite, int n_paths, char **paths)
{
    for (int i = 0; i < n_paths; i++)
        if (is_file(suite, paths[i]))
            return true;
    return n_paths == 0;
}

static bool
is_here(const char *path)
{
    const struct suite *suite = first;

    while (suite != NULL && !is_file(suite, path))
        suite = suite->next;
    return suite != NULL;
}

int
main(int argc, char **argv)
{
    size_t count = 0;
    int failed = 0;

    unsetenv("CK_TAP_LOG_FILE_NAME");
    setenv("KILN_ABORT_ON_FAULT", "1", 1);
    for (int i = 1; i < argc; i++) {
        if (is_here(argv[i]))
            continue;
        fprintf(stderr, "%s: there is no file of tests '%s' here; 'test_NAME' runs one alone\n",
                argv[0], argv[i]);
        return 2;
    }
    skips = mmap(NULL, sizeof(*skips), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (skips == MAP_FAILED)
        abort();
    for (const struct suite *suite = first; suite != NULL; suite = suite->next) {
        if (!is_asked(suite, argc - 1, argv + 1))
            continue;
        failed += run(suite, count);
        count += suite->count;
    }
    printf("1..%zu\n", count);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
