/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/why_history.h"

#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/history_pages.h"
#include "cli/kctl/output/history_columns.h"
#include "cli/print/sanitize_text.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

struct gone {
    const char *id;
    enum why_history how;
    struct arena *arena;
    size_t count;
};

static const char *
gone_text(const struct json *row, const char *column, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    history_columns_text(column, row, &text);
    return arena_strdup(arena, text.length > 0 ? text.text : "");
}

static void
print_heading(const struct gone *g, const char *name)
{
    switch (g->how) {
    case WHY_HISTORY_GONE:
        printf("Job %s (%s) is no longer in the API; its record in history:\n", g->id, name);
        break;
    case WHY_HISTORY_TASK:
        printf("Task %s (%s) has ended:\n", g->id, name);
        break;
    case WHY_HISTORY_EARLIER:
        printf("Its earlier attempts:\n");
        break;
    }
}

/* The text that explains the end: not again what the state says. */
static const char *
words_of_end(const struct json *row, struct arena *arena)
{
    const char *message = json_get_text(row, "message");
    const char *reason = json_get_text(row, "reason");
    const char *state = gone_text(row, "state", arena);
    const char *by = json_get_text(row, "endedBy");
    const bool says_reason = reason != NULL && reason[0] != '\0' && strcmp(reason, state) != 0;
    const char *end = by != NULL ? arena_printf(arena, "cancelled by %s", by) : NULL;

    if (message != NULL && (message[0] == '\0' || (end != NULL && strcmp(message, end) == 0)))
        message = NULL;
    return arena_printf(arena, "%s%s%s%s%s%s", by != NULL ? " by " : "", by != NULL ? by : "",
                        says_reason ? ": " : "", says_reason ? reason : "",
                        message != NULL ? (says_reason ? ", " : ": ") : "",
                        message != NULL ? message : "");
}

static bool
explain_row(const struct json *row, void *context)
{
    struct gone *g = context;
    const bool has_started = json_get(row, "startTime") != NULL;
    CLEANUP_FREE char *words = sanitize_text_dup(words_of_end(row, g->arena));
    CLEANUP_FREE char *name = sanitize_text_dup(gone_text(row, "name", g->arena));

    if (g->count++ == 0)
        print_heading(g, name);
    printf("%s  %s%s  %s%s\n", gone_text(row, "ended", g->arena),
           has_started ? "attempt " : "never started",
           has_started ? gone_text(row, "attempt", g->arena) : "",
           gone_text(row, "state", g->arena), words);
    return true;
}

bool
why_history_print(struct kctl *kctl, const char *id, enum why_history how, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf query = STRBUF_INIT;
    struct gone g = {.id = id, .how = how, .arena = arena};

    return history_query_add_job(&query, id, NULL) >= 0
           && history_pages_visit(kctl, query.text, explain_row, &g, NULL) >= 0 && g.count > 0;
}
