/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/conformance/cases/cases.h"

#define SHOWN 6

void
trial_skip(struct trial *t, const char *why)
{
    t->skipped = why;
}

void
mismatch(struct trial *t, const char *format, ...)
{
    va_list args;

    if (++t->mismatches > SHOWN || !t->is_loud)
        return;
    if (t->mismatches == 1)
        printf("# %s: %s\n", t->name,
               json_get_text(t->line, "note") != NULL ? json_get_text(t->line, "note") : "");
    printf("#   ");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
}

void
want_text(struct trial *t, const char *what, const char *wanted, const char *got)
{
    if (strcmp(wanted != NULL ? wanted : "", got != NULL ? got : "") != 0)
        mismatch(t, "%s: want '%s', got '%s'", what, wanted, got);
}

void
want_number(struct trial *t, const char *what, int64_t wanted, int64_t got)
{
    if (wanted != got)
        mismatch(t, "%s: want %lld, got %lld", what, (long long)wanted, (long long)got);
}

static int
compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static char *
sorted(const char *const *names, unsigned count)
{
    CLEANUP_FREE const char **copy = xnew_array(const char *, count + 1);
    struct strbuf text = STRBUF_INIT;

    for (unsigned i = 0; i < count; i++)
        copy[i] = names[i];
    qsort(copy, count, sizeof(*copy), compare_texts);
    for (unsigned i = 0; i < count; i++)
        strbuf_printf(&text, "%s%s", i > 0 ? " | " : "", copy[i]);
    return strbuf_take(&text);
}

void
want_names(struct trial *t, const char *what, const struct json *wanted, const char *const *got,
           unsigned count)
{
    unsigned n = json_count(wanted);
    CLEANUP_FREE const char **names = xnew_array(const char *, n + 1);
    CLEANUP_FREE char *a = NULL, *b = NULL;

    for (unsigned i = 0; i < n; i++)
        names[i] = json_text(json_at(wanted, i));
    a = sorted(names, n);
    b = sorted(got, count);
    want_text(t, what, a, b);
}

void
want_answer(struct trial *t, const struct sandbox *s, const char *what, const struct json *wanted,
            struct answer got)
{
    const char *code = wanted != NULL ? json_get_text(wanted, "code") : "Success";
    const char *plugin = json_get_text(wanted, "plugin");
    const char *reasons[16];
    CLEANUP_FREE char *text = NULL;
    unsigned n = 0;

    want_text(t, what, code, verdict_name(got.verdict));
    if (plugin != NULL)
        want_text(t, what, plugin,
                  got.plugin == PLUGIN_NONE ? "" : s->profile->entries[got.plugin].plugin->name);
    if (got.reason != STRING_ID_NONE) {
        char *save = NULL;

        text = xstrdup(string_ids_text(s->handle.reasons, got.reason));
        for (char *r = strtok_r(text, "\n", &save); r != NULL && n < 16;
             r = strtok_r(NULL, "\n", &save))
            reasons[n++] = r;
    }
    want_names(t, what, json_get(wanted, "reasons"), reasons, n);
}
