/* SPDX-License-Identifier: Apache-2.0 */
/* step_records_report.c - which records of steps the controller does not have yet */
#include <string.h>

#include "agent/steps/step_records.h"
#include "agent/steps/step_records_state.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"

/* Of a report; the controller takes 3 MiB. */
#define REPORT_BYTES    (2u << 20)
#define STEP_BYTES      800u /* of a step, without its texts */
#define STEP_BYTES_MOST (STEP_BYTES + 12 * STEP_TEXT_MOST)

static bool
is_news(const struct kept_step *r)
{
    return r->acknowledged != r->version;
}

static bool
has_news(const struct kept_pod *p)
{
    for (unsigned i = 0; i < p->count; i++)
        if (is_news(&p->records[i]))
            return true;
    return p->omitted != p->omitted_acknowledged;
}

bool
step_records_have_news(const struct step_records *s)
{
    size_t at = 0;
    void *p;

    while (map_next(s->pods, &at, NULL, &p))
        if (has_news(p))
            return true;
    return false;
}

static size_t
text_length(const char *text)
{
    return text != NULL ? strlen(text) : 0;
}

/* At most, as JSON: a quote of a user's command takes two bytes. */
static size_t
printed_bytes(const struct step_record *r)
{
    return STEP_BYTES
           + 2
                 * (text_length(r->name) + text_length(r->command) + text_length(r->nodes)
                    + text_length(r->distribution) + text_length(r->host)
                    + text_length(r->submit_line));
}

/* How much more a report may have. */
struct report_room {
    unsigned steps, pods;
    size_t bytes;
};

static void
collect_pod(struct kept_pod *p, struct arena *arena, struct report_room *left,
            struct step_batch *ret_batch)
{
    struct step_record *steps;
    unsigned n = 0, room = 0;

    for (unsigned i = 0; i < p->count && left->steps > 0; i++) {
        const size_t bytes = printed_bytes(&p->records[i].r);

        if (!is_news(&p->records[i]))
            continue;
        if (bytes > left->bytes)
            break;
        left->bytes -= bytes;
        left->steps--;
        room++;
    }
    left->pods--;
    steps = arena_new_array(arena, struct step_record, room + 1);
    for (unsigned i = 0; i < p->count && n < room; i++)
        if (is_news(&p->records[i])) {
            p->records[i].sent = p->records[i].version;
            steps[n++] = p->records[i].r;
        }
    p->omitted_sent = p->omitted;
    p->is_collected = true;
    *ret_batch = (struct step_batch){
        .namespace = p->namespace,
        .pod = p->name,
        .pod_uid = p->uid,
        .omitted = p->omitted,
    };
    ret_batch->steps.items = steps;
    ret_batch->steps.count = n;
}

/* Records that were sent before and not answered are not of this report. */
static void
forget_sent(struct kept_pod *p)
{
    p->is_collected = false;
    for (unsigned i = 0; i < p->count; i++)
        p->records[i].sent = 0;
}

void
step_records_collect(struct step_records *s, struct arena *arena, struct step_report *ret_report)
{
    struct report_room left = {
        .steps = STEP_REPORT_STEPS_MOST, .pods = STEP_REPORT_PODS_MOST, .bytes = REPORT_BYTES};
    struct step_batch *batches = arena_new_array(arena, struct step_batch, STEP_REPORT_PODS_MOST);
    unsigned n = 0;
    size_t at = 0;
    void *value;

    while (map_next(s->pods, &at, NULL, &value)) {
        struct kept_pod *p = value;

        forget_sent(p);
        if (left.steps > 0 && left.pods > 0 && left.bytes > STEP_BYTES_MOST && has_news(p))
            collect_pod(p, arena, &left, &batches[n++]);
    }
    ret_report->pods.items = batches;
    ret_report->pods.count = n;
}

void
step_records_acknowledge(struct step_records *s, const char *pod_uid)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct kept_pod *p = map_find(s->pods, pod_uid);

    if (p == NULL || !p->is_collected)
        return;
    for (unsigned i = 0; i < p->count; i++) {
        struct kept_step *r = &p->records[i];

        if (r->sent == 0)
            continue;
        r->acknowledged = r->sent;
        if (kept_step_is_known(r))
            strbuf_printf(&text, "{\"" MEMBER_KNOWN "\":%lld}\n", (long long)r->r.id);
    }
    p->omitted_acknowledged = p->omitted_sent;
    p->is_collected = false;
    kept_pod_remove_known(s, p);
    if (kept_pod_forget_if_done(s, p) || text.length == 0)
        return;
    kept_pod_append(s, p, &text);
}
