/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler FILE.jsonl[.gz]... - compares recorded answers of kube-scheduler
 * with the real plugins, queue and framework
 *
 * Prints the differences, a line for each theme, and at the end "N passed, N
 * failed, N skipped". Succeeds when nothing failed.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "testsuite/conformance/cases/cases.h"

#define THEMES 512

/* The family of a case is recognized by the start of its name. */
static const struct family {
    const char *start;
    case_fn *run;
} families[] = {
    {"filter-", filter_case},
    {"hints-", hints_case},
    {"misc-", misc_case},
    {"nominated-", nominated_case},
    {"preemption-", preemption_case},
    {"quantity-", quantity_case},
    {"queue-", queue_case},
    {"score-", score_case},
    {"selectors-", selectors_case},
    {"sequence-", sequence_case},
    {"validation-", validation_case},
};

struct theme {
    char name[64];
    unsigned passed, failed, skipped;
    char why[96]; /* the last reason of a skipped case */
};

struct conformance_run {
    struct theme themes[THEMES];
    unsigned count;
    unsigned failures;
};

/* Finds the theme by the name of a case without its number. */
static struct theme *
theme_of(struct conformance_run *t, const char *name)
{
    size_t length = strlen(name);
    char text[64];

    while (length > 0 && strchr("0123456789", name[length - 1]) != NULL)
        length--;
    if (length > 0 && name[length - 1] == '-')
        length--;
    snprintf(text, sizeof(text), "%.*s", (int)length, name);
    for (unsigned i = 0; i < t->count; i++)
        if (strcmp(t->themes[i].name, text) == 0)
            return &t->themes[i];
    if (t->count == THEMES)
        return &t->themes[THEMES - 1];
    memcpy(t->themes[t->count].name, text, sizeof(text));
    return &t->themes[t->count++];
}

static void
run_case(struct conformance_run *run, struct arena *arena, const struct json *line)
{
    struct trial t = {
        .name = json_get_text(line, "case"),
        .line = line,
        .expect = json_get(line, "expect"),
        .arena = arena,
        .is_loud = run->failures < 20 || getenv("VECTORS_ALL") != NULL,
        .skipped = "no runner for cases of this name",
    };
    struct theme *theme = theme_of(run, t.name);

    for (size_t i = 0; i < ARRAY_SIZE(families); i++)
        if (strncmp(t.name, families[i].start, strlen(families[i].start)) == 0) {
            t.skipped = NULL;
            families[i].run(&t);
        }
    if (t.mismatches > 0) {
        theme->failed++;
        run->failures++;
    } else if (t.skipped != NULL) {
        theme->skipped++;
        snprintf(theme->why, sizeof(theme->why), "%s", t.skipped);
    } else {
        theme->passed++;
    }
}

static void
run_file(struct conformance_run *run, const char *path)
{
    char *command = NULL, *text = NULL;
    size_t size = 0;
    ssize_t n;
    FILE *f;

    /* -f: accepts uncompressed files, too */
    if (asprintf(&command, "exec gzip -dcf '%s'", path) < 0)
        abort();
    f = popen(command, "r");
    if (f == NULL) {
        printf("Bail out! %s\n", command);
        exit(EXIT_FAILURE);
    }
    while ((n = getline(&text, &size, f)) > 0) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct error err = {0};
        struct json *line = json_parse(arena, text, (size_t)n, NULL, &err);

        if (line == NULL || json_get_text(line, "case") == NULL) {
            printf("Bail out! %s: %s\n", path, err.text);
            exit(EXIT_FAILURE);
        }
        run_case(run, arena, line);
    }
    free(text);
    free(command);
    if (pclose(f) != 0) {
        printf("Bail out! cannot read %s\n", path);
        exit(EXIT_FAILURE);
    }
}

int
main(int argc, char **argv)
{
    static struct conformance_run run;
    unsigned passed = 0, failed = 0, skipped = 0;

    for (int i = 1; i < argc; i++)
        run_file(&run, argv[i]);
    selectors_end();
    for (unsigned i = 0; i < run.count; i++) {
        const struct theme *t = &run.themes[i];

        printf("%s %u - %s: %u passed, %u failed, %u skipped%s%s\n",
               t->failed > 0 ? "not ok" : "ok", i + 1, t->name, t->passed, t->failed, t->skipped,
               t->skipped > 0 ? ": " : "", t->why);
        passed += t->passed;
        failed += t->failed;
        skipped += t->skipped;
    }
    printf("1..%u\n", run.count);
    printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
    return failed > 0 || argc < 2 ? EXIT_FAILURE : EXIT_SUCCESS;
}
