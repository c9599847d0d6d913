/* SPDX-License-Identifier: Apache-2.0 */
/* summary_status.c - the controller and the jobs of all users:
 *
 *   {"version": "...", "leaders": [{"name": "kube-scheduler",
 *    "holder": "head_1"}, ...], "jobs": {"Pending": 12, ...},
 *    "oldestWaiting": {"id": 7, "user": "alice", "since": "..."},
 *    "scheduling": {"attempts": 40, "totalMicroseconds": 3100, ...},
 *    "warnings": ["..."]}
 */
#include <inttypes.h>
#include <stdatomic.h>

#include "controller/apiserver/access/audit_log.h"
#include "controller/apiserver/access/membership.h"
#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/scheduling_pause.h"
#include "controller/apiserver/marks/node_reports.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/summary/job_counts.h"
#include "controller/apiserver/summary/summary.h"
#include "controller/history/history.h"
#include "controller/store/store.h"
#include "lib/api/cluster/lease.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"
#include "lib/base/metric.h"
#include "lib/base/strbuf.h"
#include "lib/base/version/version.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

static void
add_jobs(struct request *q, struct json *tree)
{
    struct job_counts *counts = q->server->job_counts;
    struct json *jobs = json_make_object(q->arena, tree, "jobs");
    const struct object *oldest;
    struct json *at;
    char text[TIME_TEXT_SIZE];

    for (enum job_state s = JOB_STATE_PENDING; s < JOB_STATE_COUNT; s++)
        if (job_counts_get(counts, s) > 0)
            json_set_int(q->arena, jobs, job_state_words(s)->name, job_counts_get(counts, s));
    oldest = job_counts_find_oldest(counts, q->server->store);
    if (oldest == NULL)
        return;
    at = json_make_object(q->arena, tree, "oldestWaiting");
    json_set_int(q->arena, at, "id", job_of(oldest)->status.id);
    json_set_string(q->arena, at, "user", job_find_user(job_of(oldest)));
    time_format(oldest->meta->created_at_us, false, text);
    json_set_string(q->arena, at, "since", text);
}

static void
warn(struct request *q, struct json *warnings, const char *text)
{
    json_append(q->arena, warnings, json_string(q->arena, text));
}

static void
add_history_warnings(struct request *q, struct json *warnings)
{
    struct history_status s;

    if (q->server->history == NULL)
        return;
    history_status(q->server->history, &s);
    if (s.trouble != NULL)
        warn(q, warnings,
             arena_printf(q->arena, "history cannot be written, and %zu row%s wait%s: %s",
                          s.waiting, s.waiting == 1 ? "" : "s", s.waiting == 1 ? "s" : "",
                          s.trouble));
    if (s.lost > 0)
        warn(q, warnings,
             arena_printf(q->arena, "%llu rows of history were lost", (unsigned long long)s.lost));
    if (s.notice != NULL)
        warn(q, warnings, arena_printf(q->arena, "history: %s", s.notice));
}

static void
add_audit_warnings(struct request *q, struct json *warnings)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    struct audit_log *audit = q->server->audit;
    unsigned long long dropped;
    bool is_passing;

    if (audit == NULL)
        return;
    dropped = audit_log_dropped(audit);
    if (audit_log_find_trouble(audit, &words, &is_passing))
        warn(q, warnings,
             arena_printf(q->arena, "the audit log cannot be written, and %llu line%s %s: %s",
                          dropped, dropped == 1 ? "" : "s",
                          dropped == 1 ? "was dropped" : "were dropped", words.text));
    else if (dropped > 0)
        warn(q, warnings,
             arena_printf(q->arena,
                          "%llu line%s of the audit log could not be written since the "
                          "controller was started",
                          dropped, dropped == 1 ? "" : "s"));
}

#define MOST_TROUBLES 5

struct trouble_list {
    struct request *q;
    struct json *warnings;
    unsigned n;
};

static void
add_trouble(const char *text, void *context)
{
    struct trouble_list *list = context;

    if (list->n++ < MOST_TROUBLES)
        warn(list->q, list->warnings, text);
}

static void
add_member_warnings(struct request *q, struct json *warnings)
{
    const struct apiserver *s = q->server;
    const struct membership *all[] = {s->membership, s->class_users, s->partition_users,
                                      s->reservation_users};
    struct trouble_list list = {.q = q, .warnings = warnings};

    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        membership_visit_troubles(all[i], add_trouble, &list);
    if (list.n > MOST_TROUBLES)
        warn(q, warnings,
             arena_printf(q->arena, "%u more lists of members have unknown names (see the log)",
                          list.n - MOST_TROUBLES));
}

static void
add_warnings(struct request *q, struct json *tree)
{
    const struct apiserver *server = q->server;
    struct json *warnings = json_array(q->arena);
    const char *paused = scheduling_pause_describe(server, q->arena);
    const size_t damaged =
        store_count_damaged(server->store) + store_count_damaged_since(server->store);

    if (store_is_read_only(server->store))
        warn(q, warnings,
             store_is_in_database(server->store)
                 ? "the database has no space: nothing can be changed"
                 : "the controller's disk is full: nothing can be changed");
    if (store_waits(server->store))
        warn(q, warnings,
             "the database does not answer: changes wait for it, and what is shown may be old");
    if (store_is_in_database(server->store) && store_copies(server->store) == 1)
        warn(q, warnings,
             "the database has no synchronous standby: what is acknowledged is on one disk only");
    if (server->is_munge_dead != NULL && atomic_load(server->is_munge_dead))
        warn(q, warnings, "MUNGE does not answer on the controller's machine");
    if (node_reports_are_awaited(server->node_reports))
        warn(q, warnings,
             "new jobs wait, and none starts, until the nodes have reported what they know of this "
             "cluster "
             "(startupWait)");
    if (paused != NULL)
        warn(q, warnings,
             arena_printf(q->arena,
                          "scheduling is paused %s: no job starts until 'kctl resume scheduling'",
                          paused));
    if (damaged > 0)
        warn(q, warnings,
             arena_printf(q->arena,
                          "%zu row%s of the store cannot be read "
                          "(kiln-controller --check-store)",
                          damaged, damaged == 1 ? "" : "s"));
    add_history_warnings(q, warnings);
    add_audit_warnings(q, warnings);
    add_member_warnings(q, warnings);
    for (unsigned i = 0; i < ARRAY_SIZE(server->leases); i++)
        if (server->leases[i] != NULL && atomic_load(server->leases[i]))
            warn(q, warnings,
                 i == 0 ? "the scheduler cannot renew its lease"
                        : "the lifecycle controllers cannot renew their lease");
    json_set(q->arena, tree, "warnings", warnings);
}

/* Only the leases of the components: kube-system may have others, too. */
static void
add_topology(struct request *q, struct json *tree)
{
    const struct policy *policy = q->server->policy;
    struct json *levels = json_array(q->arena);

    for (size_t i = 0; i < policy->n_topology_levels; i++)
        json_append(q->arena, levels, json_stringf(q->arena, "%s", policy->topology_levels[i]));
    if (policy->n_topology_levels > 0)
        json_set(q->arena, json_make_object(q->arena, tree, "topology"), "levels", levels);
}

static void
add_leaders(struct request *q, struct json *tree)
{
    static const char *const names[] = {"kube-scheduler", "kube-controller-manager"};
    struct json *leaders = json_array(q->arena);

    for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
        const struct object *lease =
            store_find(q->server->store, STORE_PUBLISHED, &lease_kind, "kube-system", names[i]);
        const char *holder = lease != NULL ? lease_of(lease)->spec.holder : NULL;
        struct json *leader = json_object(q->arena);

        if (holder == NULL)
            continue;
        json_set_string(q->arena, leader, "name", names[i]);
        json_set_string(q->arena, leader, "holder", holder);
        json_append(q->arena, leaders, leader);
    }
    json_set(q->arena, tree, "leaders", leaders);
}

/* The cycles of the scheduler of this process since it started, for sdiag. */
static void
add_scheduling(struct request *q, struct json *tree)
{
    struct metric_totals cycles;
    struct json *at;

    if (q->server->metrics == NULL
        || !metric_find_totals(q->server->metrics, "scheduler_scheduling_attempt_duration_seconds",
                               &cycles))
        return;
    at = json_make_object(q->arena, tree, "scheduling");
    json_set_int(q->arena, at, "attempts", (int64_t)cycles.count);
    json_set_int(q->arena, at, "totalMicroseconds", (int64_t)(cycles.sum * 1e6));
    json_set_int(q->arena, at, "lastMicroseconds", (int64_t)(cycles.last * 1e6));
    json_set_int(q->arena, at, "longestMicroseconds", (int64_t)(cycles.most * 1e6));
    json_set_int(q->arena, at, "uptimeSeconds",
                 (clock_monotonic_us(q->server->clock) - q->server->started_us) / 1000000);
}

void
summary_status(struct request *q)
{
    struct json *tree = json_object(q->arena);
    int64_t revision, job_id;

    store_durable(q->server->store, &revision, &job_id);
    json_set_int(q->arena, tree, "lastJobId", job_id);
    json_set_string(q->arena, tree, "version", version_text());
    add_leaders(q, tree);
    if (q->server->job_counts != NULL)
        add_jobs(q, tree);
    add_warnings(q, tree);
    add_topology(q, tree);
    add_scheduling(q, tree);
    json_set_int(q->arena, json_make_object(q->arena, tree, "limits"), "maximumArraySize",
                 q->server->policy->limits.maximum_array_size);
    reply_tree(&q->reply, 200, tree);
    request_finish(q);
}
