/* SPDX-License-Identifier: Apache-2.0 */
/* vectors.h - compares results with recorded answers, and counts agreements
 *
 * A file of vectors is gzip of JSON lines. A program reads files with
 * vectors_each(), reports for each line whether it agrees, and returns
 * vectors_end() from main: one TAP point per theme, with the first
 * disagreements below it.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

#define VECTORS_THEMES 96
#define VECTORS_SHOWN  40

struct vectors_theme {
    char name[64];
    unsigned passed, failed;
};

struct vectors {
    struct vectors_theme themes[VECTORS_THEMES];
    unsigned n_themes;
    unsigned shown;
};

/* The line and the arena are borrowed until the next line. */
typedef void (*vectors_line_fn)(struct vectors *v, struct arena *arena, const struct json *line);

static inline void
vectors_each(struct vectors *v, const char *path, vectors_line_fn fn)
{
    const char *top = getenv("top_srcdir");
    char command[4096];
    char *text = NULL;
    size_t size = 0;
    ssize_t n;
    FILE *f;

    snprintf(command, sizeof(command), "exec gzip -dc '%s/testsuite/data/conformance/%s'",
             top != NULL ? top : ".", path);
    f = popen(command, "r");
    if (f == NULL) {
        printf("Bail out! %s\n", command);
        exit(EXIT_FAILURE);
    }
    while ((n = getline(&text, &size, f)) > 0) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct error err = {0};
        struct json *line = json_parse(arena, text, (size_t)n, NULL, &err);

        if (line == NULL) {
            printf("Bail out! %s: %s\n", path, err.text);
            exit(EXIT_FAILURE);
        }
        fn(v, arena, line);
    }
    free(text);
    if (pclose(f) != 0) {
        printf("Bail out! cannot read %s\n", path);
        exit(EXIT_FAILURE);
    }
}

static inline struct vectors_theme *
vectors_theme(struct vectors *v, const char *name)
{
    struct vectors_theme *t;

    for (unsigned i = 0; i < v->n_themes; i++)
        if (strcmp(v->themes[i].name, name) == 0)
            return &v->themes[i];
    if (v->n_themes == VECTORS_THEMES)
        abort();
    t = &v->themes[v->n_themes++];
    snprintf(t->name, sizeof(t->name), "%s", name);
    return t;
}

static inline void
vectors_pass(struct vectors *v, const char *theme)
{
    vectors_theme(v, theme)->passed++;
}

/* Reports a difference: a sentence that begins with the name of the case. */
static inline void PRINTF(3, 4)
    vectors_fail(struct vectors *v, const char *theme, const char *format, ...)
{
    va_list args;

    vectors_theme(v, theme)->failed++;
    if (++v->shown > VECTORS_SHOWN && getenv("VECTORS_ALL") == NULL)
        return;
    printf("# %s: ", theme);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
}

static inline int
vectors_end(struct vectors *v)
{
    unsigned failed = 0;

    printf("1..%u\n", v->n_themes);
    for (unsigned i = 0; i < v->n_themes; i++) {
        const struct vectors_theme *t = &v->themes[i];

        printf("%s %u - %s: %u passed, %u failed\n", t->failed > 0 ? "not ok" : "ok", i + 1,
               t->name, t->passed, t->failed);
        failed += t->failed;
    }
    return failed > 0 || v->n_themes == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
