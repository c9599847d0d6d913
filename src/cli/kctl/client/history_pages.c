/* SPDX-License-Identifier: Apache-2.0 */
/* A listing of years has more rows than fit into memory, so rows are visited page by page, and
 * the next page is on its way while this one is printed. The next is requested only after the
 * first rows were visited, for a caller who wants a few. A job that has just ended has its row
 * a moment later; asking for it is repeated a few times, and given up soon for one that may
 * never have existed.
 */
#include "cli/kctl/client/history_pages.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/connect/inquiry.h"
#include "cli/kctl/client/kctl.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/job_elements.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define PATIENCE       20 /* attempts while the server is overloaded */
#define ROWS_AT_A_TIME 250

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
        return error_set(err, -EINVAL, "'%s' is not a job id", job);
    (void)snprintf(number, sizeof(number), "%" PRId64, id);
    history_query_add(query, "job", number);
    if (job[used] == '\0')
        return 0;
    arena = arena_new(0);
    if (job_elements_parse(arena, job, &meant, NULL) < 0)
        return error_set(err, -EINVAL,
                         "'%s' is neither a job id nor a list of array tasks "
                         "(1041_7, 1041_[3-9] or 1041_[1-100:2])",
                         job);
    task_list_format(&meant.tasks, &tasks);
    history_query_add(query, "task", tasks.text);
    return 0;
}

/* A page whose rows are visited while the next page is requested. */
struct page_visit {
    struct arena *arena;
    struct json *tree;
    uint32_t next; /* index of the next row */
    history_row_fn *visit;
    void *context;
    bool is_stopped; /* the visitor asked to stop */
};

/* Returns true if rows are left. */
static bool
visit_some(void *context)
{
    struct page_visit *page = context;
    const struct json *items = json_get(page->tree, "items");
    const uint32_t count = json_count(items);

    for (unsigned i = 0; i < ROWS_AT_A_TIME && page->next < count; i++)
        if (!page->visit(json_at(items, page->next++), page->context)) {
            page->is_stopped = true;
            return false;
        }
    return page->next < count;
}

/* Retries when the server is busy, for example with other requests of this
 * user.
 */
static int
ask(struct kctl *kctl, const char *target, struct page_visit *before, struct page_visit *page,
    struct error *err)
{
    const struct timespec moment = {.tv_nsec = 250000000};
    int r = inquiry_run_beside(kctl->connection, target, visit_some, before, page->arena,
                               &page->tree, err);

    for (unsigned i = 1; r == -EAGAIN && i < PATIENCE; i++) {
        nanosleep(&moment, NULL);
        r = inquiry_run(kctl->connection, HTTP_GET, target, NULL, page->arena, &page->tree, err);
    }
    return r;
}

static void
begin(struct page_visit *page, struct page_visit *after)
{
    *after = *page;
    *page = (struct page_visit){
        .arena = arena_new(0), .visit = after->visit, .context = after->context};
}

/* Visits the rows of a page while the server makes the next page. The first
 * rows are visited before the next page is requested, so that a caller who
 * wants only a few can stop there.
 */
int
history_pages_visit(struct kctl *kctl, const char *query, history_row_fn *visit, void *context,
                    struct error *err)
{
    CLEANUP_STRBUF struct strbuf target = STRBUF_INIT;
    struct page_visit page = {.visit = visit, .context = context}, before = {0};
    const char *next = "";
    int r = kctl_open(kctl, err);

    strbuf_printf(&target, "/kiln/v1/history%s", query);
    while (r == 0 && next != NULL) {
        begin(&page, &before);
        r = ask(kctl, target.text, &before, &page, err);
        arena_free(before.arena);
        if (r < 0 || before.is_stopped)
            break;
        next = json_path_text(page.tree, "metadata.continue");
        if (visit_some(&page) && next == NULL)
            while (visit_some(&page))
                ;
        if (page.is_stopped)
            break;
        strbuf_truncate(&target, 0);
        strbuf_printf(&target, "/kiln/v1/history%s%ccontinue=%s", query,
                      query[0] != '\0' ? '&' : '?', next != NULL ? next : "");
    }
    arena_free(page.arena);
    return r;
}

/* ---- A job that has just ended ---- */

#define ROW_TRIES  10
#define GONE_TRIES 3                  /* of one command, for jobs that are gone */
#define ROW_WAIT   INT64_C(100000000) /* nanoseconds between them */
#define RECENT_US  INT64_C(10000000)

struct counted_visit {
    history_row_fn *visit;
    void *context;
    uint32_t count;
};

static bool
visit_counted(const struct json *row, void *context)
{
    struct counted_visit *c = context;

    c->count++;
    return c->visit(row, c->context);
}

/* A job that is gone may have been deleted at its end. Whether it has ever been
 * is not known, so not much time is spent on it.
 */
static bool
may_come(struct kctl *kctl, int64_t id)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct target_object job = {
        .kind = &job_kind,
        .namespace = kctl_namespace(kctl),
        .name = arena_printf(arena, "job-%" PRId64, id),
    };
    struct json *object = NULL;
    const struct json *conditions;

    if (kctl_find(kctl, &job, arena, &object, NULL) < 0)
        return false;
    if (object == NULL)
        return kctl->n_gone_waits++ < GONE_TRIES;
    conditions = json_get_path(object, "status.conditions");
    for (uint32_t i = 0; i < json_count(conditions); i++) {
        const struct json *c = json_at(conditions, i);
        const char *type = json_get_text(c, "type");
        const char *since = json_get_text(c, "lastTransitionTime");
        int64_t us;

        if (type != NULL && (strcmp(type, "Complete") == 0 || strcmp(type, "Failed") == 0))
            return since != NULL && time_parse(since, &us) == 0
                   && clock_real_us(&clock_system) - us < RECENT_US;
    }
    return false;
}

int
history_pages_visit_job(struct kctl *kctl, int64_t id, const char *query, history_row_fn *visit,
                        void *context, struct error *err)
{
    struct counted_visit c = {visit, context, 0};
    int r = history_pages_visit(kctl, query, visit_counted, &c, err);

    for (unsigned i = 0; r == 0 && c.count == 0 && i < ROW_TRIES && may_come(kctl, id); i++) {
        nanosleep(&(struct timespec){.tv_nsec = ROW_WAIT}, NULL);
        r = history_pages_visit(kctl, query, visit_counted, &c, err);
    }
    return r;
}
