/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/verbs/jobs/job_query.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/kctl/client/account_list.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/output/job_list.h"
#include "cli/kctl/output/listing.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/id_ranges.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define PAGE 5000
#define LAST 10 /* ended jobs that are shown by default */

bool
job_query_is_of_active(const struct job_query *q)
{
    return q->selection.states != 0 && (q->selection.states & JOB_STATES_ENDED) == 0;
}

static bool
is_wanted(const struct job_row *row, void *context)
{
    const struct job_query *q = context;

    return job_selection_has(&q->selection, row->namespace, row->name, row->state);
}

/* An array counts as running as soon as one task runs, while other tasks may
 * wait.
 */
static struct job_selection
widen(const struct job_selection *selection)
{
    const uint32_t waits = JOB_STATE_BIT(JOB_STATE_PENDING) | JOB_STATE_BIT(JOB_STATE_HELD);
    struct job_selection s = *selection;

    if ((s.states & waits) != 0)
        s.states |= JOB_STATE_BIT(JOB_STATE_RUNNING) | JOB_STATE_BIT(JOB_STATE_STARTING);
    return s;
}

/* Sorts the rows, and drops those that were not asked for. */
static void
arrange(const struct job_query *q, struct job_list *list)
{
    job_list_sort(list);
    if (q->is_of_last)
        job_list_keep_last_ended(list, LAST);
    if (q->limit > 0)
        job_list_keep_last(list, q->limit);
}

static bool
is_any(const struct job_row *row, void *context)
{
    (void)row;
    (void)context;
    return true;
}

/* Fetches one named job. -ENOENT: there is none. */
static int
fetch_job(struct kctl *kctl, int64_t id, bool wants_objects, struct arena *arena,
          struct job_list *list, struct error *err)
{
    struct json *page = NULL;
    const struct client_request request = {
        .verb = CLIENT_LIST,
        .kind = &job_kind,
        .field_selector = arena_printf(arena, "status.id=%" PRId64, id),
        .accept = listing_accept(&(struct listing_style){0}),
        .query = wants_objects ? "includeObject=Object" : "includeObject=Metadata",
    };
    int r = kctl_call(kctl, &request, arena, &page, err);

    if (r == 0 && json_count(json_get(page, "rows")) == 0)
        r = error_set(err, -ENOENT,
                      "job %" PRId64 " not found; 'kctl history %" PRId64 "' "
                      "shows whether it ended and was deleted",
                      id, id);
    if (r == 0)
        job_list_add(list, page, wants_objects, is_any, NULL);
    return r;
}

/* Jobs of a range may be gone, but not all of them. */
static int
fetch_named(struct kctl *kctl, const struct job_query *q, bool wants_objects, struct arena *arena,
            struct job_list *list, struct error *err)
{
    for (size_t i = 0; i < q->ids->count; i++) {
        const struct id_range *range = &q->ids->items[i];
        bool is_there = false;
        int r = 0;

        for (int64_t id = range->first; id <= range->last; id++) {
            r = fetch_job(kctl, id, wants_objects, arena, list, err);
            if (r < 0 && (r != -ENOENT || range->first == range->last))
                return r;
            is_there = is_there || r == 0;
        }
        if (!is_there)
            return error_set(err, -ENOENT, "there is no job from %" PRId64 " to %" PRId64,
                             range->first, range->last);
    }
    arrange(q, list);
    return 0;
}

int
job_query_fetch(struct kctl *kctl, const struct job_query *query_asked, bool wants_objects,
                struct arena *arena, struct job_list *list, struct error *err)
{
    struct job_query own = *query_asked;
    const struct job_query *q = &own;
    const bool is_active = job_query_is_of_active(q);
    const struct job_selection asked = widen(&q->selection);
    char since[TIME_TEXT_SIZE];
    CLEANUP_STRBUF struct strbuf query = STRBUF_INIT;
    struct client_request request = {
        .verb = CLIENT_LIST,
        .kind = &job_kind,
        .label_selector = q->label_selector,
        .field_selector =
            job_selection_fields(&asked, is_active ? "status.finished=false" : NULL, arena),
        .accept = listing_accept(&(struct listing_style){0}),
        .limit = PAGE,
    };

    own.selection.account = account_list_namespaces(kctl, own.selection.account, arena);
    request.namespace = job_selection_namespace(&q->selection);
    strbuf_printf(&query, "includeObject=%s", wants_objects ? "Object" : "Metadata");
    if (q->ended_since_us != 0 && !is_active) {
        time_format(q->ended_since_us, false, since);
        strbuf_printf(&query, "&kiln.hpc/endedSince=%s", since);
    }
    /* Conditions that the server does not check could drop the last ones. */
    if (q->is_of_last && !is_active && q->selection.name == NULL
        && (q->selection.account == NULL || request.namespace != NULL))
        strbuf_printf(&query, "&kiln.hpc/lastEnded=%d", LAST);
    request.query = job_selection_query(&q->selection, query.text, arena);
    if (q->ids != NULL)
        return fetch_named(kctl, q, wants_objects, arena, list, err);
    do {
        struct json *page = NULL;
        int r = kctl_call(kctl, &request, arena, &page, err);

        if (r < 0)
            return r;
        if (json_get(page, "rows") == NULL && json_get(page, "columnDefinitions") == NULL)
            return error_set(err, -EPROTO, "the server's answer is not a table");
        job_list_add(list, page, wants_objects, is_wanted, (void *)(uintptr_t)q);
        request.continue_token = json_path_text(page, "metadata.continue");
    } while (request.continue_token != NULL && request.continue_token[0] != '\0');
    arrange(q, list);
    return 0;
}
