/* SPDX-License-Identifier: Apache-2.0 */
/* kctl drain - keeps new jobs off nodes, and waits for running ones or evicts
 * them
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/client/wait_condition.h"
#include "cli/kctl/input/resource.h"
#include "cli/kctl/verbs/nodes/cordon.h"
#include "cli/kctl/verbs/nodes/reservation_request.h"
#include "cli/values/time_expression.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/base/timespan.h"
#include "lib/json/json.h"

/* A time up to a minute ago counts as now. */
#define LATE_US INT64_C(60000000)

struct drain_options {
    struct common_options common;
    const char *label_selector;
    const char *reason;
    const char *timeout;
    const char *at;
    const char *deadline;
    const char *duration;
    bool is_dry_run;
    bool may_overlap;
    bool evicts;
    bool waits;
};

#define PLACE(member) .offset = offsetof(struct drain_options, member)

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "at",
     .argument = "TIME",
     .help = "drain at this time, not now; until then only jobs start that "
             "end before it",
     .type = OPTION_TEXT,
     PLACE(at)},
    {.name = "deadline",
     .argument = "TIME",
     .help = "start no more jobs from now on, and list those that may still "
             "run at this time",
     .type = OPTION_TEXT,
     PLACE(deadline)},
    {.name = "dry-run",
     .help = "with --at, --deadline or --for: change nothing, and list the "
             "jobs that may still run at that time",
     .type = OPTION_FLAG,
     PLACE(is_dry_run)},
    {.name = "evict",
     .help = "end the jobs that run there; those that ask for it are "
             "requeued",
     .type = OPTION_FLAG,
     PLACE(evicts)},
    {.name = "for",
     .argument = "TIME",
     .help = "return the nodes to service after this long: 90m, 4h",
     .type = OPTION_TEXT,
     PLACE(duration)},
    {.name = "overlap",
     .help = "with --at, --deadline or --for: allow nodes that are in another "
             "reservation at the same time",
     .type = OPTION_FLAG,
     PLACE(may_overlap)},
    {.name = "reason",
     .argument = "TEXT",
     .help = "why; shown to other administrators",
     .type = OPTION_TEXT,
     PLACE(reason)},
    {.name = "selector",
     .letter = 'l',
     .argument = "LIST",
     .help = "the nodes with these labels",
     .type = OPTION_TEXT,
     PLACE(label_selector)},
    {.name = "timeout",
     .argument = "TIME",
     .help = "wait no longer than this: 90s, 2h (0: as long as it takes)",
     .type = OPTION_TEXT,
     PLACE(timeout)},
    {.name = "wait",
     .help = "wait until nothing runs there any more",
     .type = OPTION_FLAG,
     PLACE(waits)},
};

static const struct option_table table = {
    .name = "kctl drain",
    .usage = "[OPTION]... NODE...",
    .summary = "Keep new jobs off nodes and let the running ones finish.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl drain --reason 'new kernel' --wait n7\n"
            "  kctl drain --evict --wait --timeout 10m 'n[1-4],n7'\n"
            "  kctl drain --at 18:00 --for 4h --reason 'new kernel' n[1-4]",
};

static bool
has_ended(const struct json *pod)
{
    const char *phase = json_path_text(pod, "status.phase");

    return phase != NULL && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0);
}

static bool
pod_has_ended(const struct json *pod, void *context)
{
    (void)context;
    return pod == NULL || has_ended(pod);
}

static int
evict(struct kctl *kctl, const struct target_object *pod, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct json *meta;
    struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &pod_kind,
        .namespace = pod->namespace,
        .name = pod->name,
        .subresource = "eviction",
        .body = body,
    };
    int r;

    json_set_string(arena, body, "apiVersion", "policy/v1");
    json_set_string(arena, body, "kind", "Eviction");
    meta = json_make_object(arena, body, "metadata");
    json_set_string(arena, meta, "name", pod->name);
    json_set_string(arena, meta, "namespace", pod->namespace);
    r = kctl_call(kctl, &request, arena, NULL, err);
    if (r == -ENOENT)
        return 0; /* the pod was deleted already */
    if (r == 0)
        printf("%s evicted\n", kctl_label(pod, arena));
    return r;
}

static int
running_pods(struct kctl *kctl, const struct target_object *node, struct arena *arena,
             struct json **ret_pods, struct error *err)
{
    const struct target_object pods = {.kind = &pod_kind};

    return kctl_list(kctl, &pods, NULL,
                     arena_printf(arena,
                                  "spec.nodeName=%s,status.phase!=Succeeded,"
                                  "status.phase!=Failed",
                                  node->name),
                     arena, ret_pods, err);
}

/* wait_for_condition takes 0 as no limit, so return at least 1. */
static int64_t
time_left(int64_t until_us)
{
    int64_t left;

    if (until_us == 0)
        return 0;
    left = until_us - clock_monotonic_us(&clock_system);
    return left > 1000 ? left : 1000;
}

static int
empty(struct kctl *kctl, const struct drain_options *o, const struct target_object *node,
      int64_t until_us, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *pods = NULL;
    int r = running_pods(kctl, node, arena, &pods, err);

    if (r < 0)
        return r;
    if (json_count(pods) > 0 && !o->evicts && o->waits)
        printf("%s: waiting for %u pod%s\n", kctl_label(node, arena), json_count(pods),
               json_count(pods) == 1 ? "" : "s");
    fflush(stdout);
    for (uint32_t i = 0; r == 0 && o->evicts && i < json_count(pods); i++) {
        const struct target_object pod = {
            .kind = &pod_kind,
            .namespace = json_path_text(json_at(pods, i), "metadata.namespace"),
            .name = json_path_text(json_at(pods, i), "metadata.name"),
        };

        r = evict(kctl, &pod, err);
    }
    for (uint32_t i = 0; r == 0 && o->waits && i < json_count(pods); i++) {
        const struct target_object pod = {
            .kind = &pod_kind,
            .namespace = json_path_text(json_at(pods, i), "metadata.namespace"),
            .name = json_path_text(json_at(pods, i), "metadata.name"),
        };

        r = wait_for_condition(kctl, &pod, time_left(until_us), pod_has_ended, NULL, err);
    }
    if (r == 0 && (o->waits || json_count(pods) == 0))
        printf("%s drained\n", kctl_label(node, arena));
    else if (r == 0)
        printf("%s draining: %u pod%s still running\n", kctl_label(node, arena), json_count(pods),
               json_count(pods) == 1 ? "" : "s");
    return r;
}

/* ---- Planned drain: a maintenance Reservation ---- */

/* Nodes may be in short form: "n[1-3]". */
static const char *
join(struct arena *arena, int count, char **names)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    for (int i = 0; i < count; i++)
        strbuf_printf(&out, "%s%s", i > 0 ? "," : "", names[i]);
    return arena_strdup(arena, out.text);
}

/* "drain-n7-20261124-1800" */
static const char *
make_name(struct arena *arena, const char *node, int64_t at_us)
{
    time_t at = (time_t)(at_us / 1000000);
    char time[32];
    struct tm tm;

    gmtime_r(&at, &tm);
    strftime(time, sizeof(time), "%Y%m%d-%H%M%S", &tm);
    return arena_printf(arena, "drain-%.*s-%s", (int)strcspn(node, "[,"), node, time);
}

/* Refuses options that only apply to an immediate drain. */
static int
check_planned(const struct drain_options *o, int n_operands, struct error *err)
{
    if (o->evicts || o->waits || o->timeout != NULL)
        return error_set(err, -EINVAL,
                         "--evict, --wait and --timeout do not go with --at, "
                         "--deadline and --for: a planned drain ends no job");
    if (o->at != NULL && o->deadline != NULL)
        return error_set(err, -EINVAL, "give --at or --deadline, not both");
    if (o->label_selector != NULL || n_operands == 0)
        return error_set(err, -EINVAL, "name the nodes: kctl drain --at 18:00 n[1-4]");
    return 0;
}

static int
plan(struct kctl *kctl, const struct drain_options *o, int n_operands, char **operands,
     struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const int64_t now_us = clock_real_us(&clock_system);
    int64_t at_us = now_us;
    struct reservation_request request = {
        .start = o->at,
        .duration = o->duration,
        .deadline = o->deadline,
        .reason = o->reason,
        .is_maintenance = true,
        .is_flexible = o->deadline != NULL,
        .is_dry_run = o->is_dry_run,
        .may_overlap = o->may_overlap,
    };
    int r = check_planned(o, n_operands, err);

    if (r == 0 && o->at != NULL)
        r = time_expression_parse(o->at, TIME_AHEAD, now_us, &at_us, err);
    if (r == 0 && at_us < now_us - LATE_US)
        r = error_set(err, -EINVAL,
                      "--at: '%s' is in the past; leave it out to drain at "
                      "once",
                      o->at);
    if (r < 0)
        return r;
    request.nodes = join(arena, n_operands, operands);
    request.name = make_name(arena, operands[0], at_us);
    return reservation_request_send(kctl, &request, arena, err);
}

static int
drain_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
          struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct drain_options *o = options;
    struct named_resources nodes;
    int64_t timeout_us = 0;
    int64_t until_us = 0;
    int r;

    if (o->at != NULL || o->deadline != NULL || o->duration != NULL)
        return plan(kctl, o, n_operands, operands, err);
    if (o->is_dry_run || o->may_overlap)
        return error_set(err, -EINVAL, "--dry-run and --overlap go with --at, --deadline or --for");
    if (o->timeout != NULL && timespan_parse(o->timeout, &timeout_us) < 0)
        return error_set(err, -EINVAL, "--timeout: '%s' is not a time (90s, 2h)", o->timeout);
    if (timeout_us > 0)
        until_us = clock_monotonic_us(&clock_system) + timeout_us;
    r = resource_select(kctl, &node_kind, n_operands, operands, o->label_selector, false, arena,
                        &nodes, err);
    if (r == 0)
        r = cordon_check(kctl, nodes.items, nodes.count, err);
    for (size_t i = 0; r == 0 && i < nodes.count; i++)
        r = cordon_set(kctl, &nodes.items[i], true, o->reason, err);
    for (size_t i = 0; r == 0 && i < nodes.count; i++)
        r = empty(kctl, o, &nodes.items[i], until_us, err);
    return r;
}

const struct command drain_command = {
    .name = "drain",
    .options = &table,
    .options_size = sizeof(struct drain_options),
    .run = drain_run,
};
