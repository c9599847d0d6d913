/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/client/history_pages.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/connect/inquiry.h"
#include "cli/kctl/client/kctl.h"
#include "lib/api/value/job_elements.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define PATIENCE 20 /* times that a server that is asked too much is asked */

void
history_query_add(struct strbuf *query, const char *name, const char *value)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";

    if (value == NULL)
        return;
    strbuf_printf(query, "%c%s=", query->length > 0 ? '&' : '?', name);
    for (; *value != '\0'; value++)
        if (strchr(plain, *value) != NULL)
            strbuf_add_char(query, *value);
        else
            strbuf_printf(query, "%%%02X", (unsigned char)*value);
}

void
history_query_add_time(struct strbuf *query, const char *name, int64_t us)
{
    char text[TIME_TEXT_SIZE];

    if (us == 0)
        return;
    time_format(us, false, text);
    history_query_add(query, name, text);
}

int
history_query_add_job(struct strbuf *query, const char *job, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = NULL;
    CLEANUP_STRBUF struct strbuf tasks = STRBUF_INIT;
    struct job_elements meant;
    int64_t id;
    char number[24];
    int used = 0;

    if (sscanf(job, "%" SCNd64 "%n", &id, &used) != 1 || id <= 0)
        return error_set(err, -EINVAL, "'%s' is no number of a job", job);
    (void)snprintf(number, sizeof(number), "%" PRId64, id);
    history_query_add(query, "job", number);
    if (job[used] == '\0')
        return 0;
    arena = arena_new(0);
    if (job_elements_parse(arena, job, &meant, NULL) < 0)
        return error_set(err,
                         -EINVAL,
                         "'%s' is no number of a job, nor of tasks of an "
                         "array (1041_7, 1041_[3-9] or 1041_[1-100:2])",
                         job);
    task_list_format(&meant.tasks, &tasks);
    history_query_add(query, "task", tasks.text);
    return 0;
}

/* Others of the same user may be asking, too. */
static int
ask(struct kctl *kctl,
    const char *target,
    struct arena *arena,
    struct json **ret_page,
    struct error *err)
{
    const struct timespec moment = {.tv_nsec = 250000000};
    int r = -EAGAIN;

    for (unsigned i = 0; r == -EAGAIN && i < PATIENCE; i++) {
        if (i > 0)
            nanosleep(&moment, NULL);
        r = inquiry_run(kctl->connection,
                        HTTP_GET,
                        target,
                        NULL,
                        arena,
                        ret_page,
                        err);
    }
    return r;
}

static bool
visit_page(const struct json *page, history_row_fn *visit, void *context)
{
    const struct json *items = json_get(page, "items");

    for (uint32_t i = 0; i < json_count(items); i++)
        if (!visit(json_at(items, i), context))
            return false;
    return true;
}

int
history_pages_visit(struct kctl *kctl,
                    const char *query,
                    history_row_fn *visit,
                    void *context,
                    struct error *err)
{
    CLEANUP_STRBUF struct strbuf target = STRBUF_INIT;
    const char *next = NULL;
    int r = kctl_open(kctl, err);

    strbuf_printf(&target, "/kiln/v1/history%s", query);
    while (r == 0) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct json *page = NULL;

        r = ask(kctl, target.text, arena, &page, err);
        if (r < 0 || !visit_page(page, visit, context))
            return r;
        next = json_path_text(page, "metadata.continue");
        if (next == NULL)
            return 0;
        strbuf_truncate(&target, 0);
        strbuf_printf(&target,
                      "/kiln/v1/history%s%ccontinue=%s",
                      query,
                      query[0] != '\0' ? '&' : '?',
                      next);
    }
    return r;
}
