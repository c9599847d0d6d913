/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/why_answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/kctl.h"
#include "cli/kctl/output/describe_output.h"
#include "cli/print/human.h"
#include "cli/print/local_time.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/pod/refusals.h"
#include "lib/base/duration.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

/* ---- The nearest nodes ---- */

/*   Needs:      24 CPUs on whole cores in one NUMA node, 48Gi of memory
 *   Nearest:    n17 has 32 CPUs free, at most 14 in one NUMA node
 *
 * and for a pod that only requests amounts of CPUs and memory
 *
 *   Nearest:    n17 has 9 of 64 CPUs and 181Gi of 512Gi of memory free
 *   Would fit:  on 12 nodes with --mem 180G or less
 */

#define GIB (INT64_C(1) << 30)
#define MIB (INT64_C(1) << 20)

static void
format_cpus(int64_t mcpu, char out[HUMAN_TEXT_SIZE])
{
    if (mcpu % 1000 == 0)
        snprintf(out, HUMAN_TEXT_SIZE, "%lld", (long long)mcpu / 1000);
    else
        snprintf(out, HUMAN_TEXT_SIZE, "%.1f", (double)mcpu / 1000);
}

static void
print_room(const struct json *node, bool is_first, struct strbuf *out)
{
    char cpus[HUMAN_TEXT_SIZE], all_cpus[HUMAN_TEXT_SIZE];
    char memory[HUMAN_TEXT_SIZE], all_memory[HUMAN_TEXT_SIZE];

    format_cpus(json_get_int(node, "freeMilliCPU", 0), cpus);
    format_cpus(json_get_int(node, "milliCPU", 0), all_cpus);
    human_bytes(json_get_int(node, "freeMemory", 0), memory);
    human_bytes(json_get_int(node, "memory", 0), all_memory);
    describe_output_add(out, 2, is_first ? "Nearest" : "",
                        "%s has %s of %s CPUs and %s of %s of memory free",
                        json_get_text(node, "node"), cpus, all_cpus, memory, all_memory);
}

static void
print_nearest(const struct json *why, bool is_plain, struct strbuf *out)
{
    const struct json *nearest = json_get(why, "nearest");

    for (uint32_t i = 0; i < json_count(nearest); i++) {
        const struct json *node = json_at(nearest, i);

        if (is_plain)
            print_room(node, i == 0, out);
        else
            describe_output_add(out, 2, i == 0 ? "Nearest" : "", "%s %s",
                                json_get_text(node, "node"), json_get_text(node, "message"));
    }
}

/* Uses the options of ksub. */
static void
print_fits(const struct json *why, struct strbuf *out)
{
    const struct json *fits = json_get(why, "wouldFit");

    for (uint32_t i = 0; i < json_count(fits); i++) {
        const struct json *fit = json_at(fits, i);
        long long nodes = (long long)json_get_int(fit, "nodes", 0);
        int64_t bytes = json_get_int(fit, "memory", 0);
        char option[64];

        if (bytes > 0)
            snprintf(option, sizeof(option), bytes % GIB == 0 ? "--mem %lldG" : "--mem %lldM",
                     (long long)(bytes % GIB == 0 ? bytes / GIB : bytes / MIB));
        else
            snprintf(option, sizeof(option), "-c %lld",
                     (long long)json_get_int(fit, "milliCPU", 0) / 1000);
        describe_output_add(out, 2, i == 0 ? "Would fit" : "", "on %lld node%s with %s or less",
                            nodes, nodes == 1 ? "" : "s", option);
    }
}

static void
describe_nearest_nodes(const struct json *why, struct strbuf *out)
{
    const char *needs = json_get_text(why, "needs");

    if (needs != NULL)
        describe_output_add(out, 2, "Needs", "%s", needs);
    print_nearest(why, json_is_true(json_get(why, "isPlain")), out);
    print_fits(why, out);
}

/* ---- The answer ---- */

static const struct json *
find_condition(const struct json *object, const char *type)
{
    const struct json *all = json_get_path(object, "status.conditions");

    for (uint32_t i = 0; i < json_count(all); i++) {
        const char *name = json_get_text(json_at(all, i), "type");

        if (name != NULL && strcmp(name, type) == 0)
            return json_at(all, i);
    }
    return NULL;
}

static bool
holds(const struct json *condition)
{
    const char *status = json_get_text(condition, "status");

    return status != NULL && strcmp(status, "True") == 0;
}

static const char *
words_of(const struct json *condition)
{
    const char *message = json_get_text(condition, "message");
    const char *reason = json_get_text(condition, "reason");

    if (message != NULL && message[0] != '\0')
        return message;
    return reason != NULL ? reason : "no reason is known";
}

/* Adds the nodes by reason, as the scheduler finds them now. False: there is no
 * answer, or it has no reasons.
 */
static bool
add_reasons(struct strbuf *out, const struct json *why)
{
    const struct json *reasons = json_get(why, "reasons");

    for (uint32_t i = 0; i < json_count(reasons); i++) {
        const struct json *r = json_at(reasons, i);

        describe_output_add(out, 2, i == 0 ? "Not placed" : "", "%lld of %lld nodes: %s (%s)",
                            (long long)json_get_int(r, "nodes", 0),
                            (long long)json_get_int(why, "nodes", 0), json_get_text(r, "message"),
                            json_get_text(r, "code"));
    }
    return json_count(reasons) > 0;
}

/* Adds the nodes by reason; reasons that may pass with time come first. */
static void
add_refusals(struct strbuf *out, const struct json *scheduled)
{
    const char *message = words_of(scheduled);
    struct refusals all;

    if (!refusals_parse(message, &all) || all.count == 0) {
        describe_output_add(out, 2, "Not placed", "%s (%s)", message,
                            json_get_text(scheduled, "reason") != NULL
                                ? json_get_text(scheduled, "reason")
                                : "Other");
        return;
    }
    for (unsigned i = 0; i < all.count; i++) {
        const struct refusal *r = &all.items[i];

        if (r->nodes == 0)
            describe_output_add(out, 2, i == 0 ? "Not placed" : "", "%.*s (%s)", (int)r->length,
                                r->text, r->code);
        else
            describe_output_add(out, 2, i == 0 ? "Not placed" : "", "%u of %u nodes: %.*s (%s)",
                                r->nodes, all.total, (int)r->length, r->text, r->code);
    }
}

/* No scheduler has reported on the pod; another scheduler may be responsible
 * for it.
 */
static void
add_no_scheduler(struct strbuf *out, const struct json *pod)
{
    const char *scheduler = json_path_text(pod, "spec.schedulerName");

    describe_output_add(out, 2, "Not placed",
                        "no scheduler named '%s' has looked at it yet (NoScheduler)",
                        scheduler != NULL ? scheduler : "default-scheduler");
}

/* The scheduler is preempting other pods for this pod. */
static void
add_nomination(struct strbuf *out, const struct json *pod)
{
    const char *node = json_path_text(pod, "status.nominatedNodeName");

    if (node != NULL)
        describe_output_add(out, 2, "Waits for",
                            "room on %s, where lower-priority pods are being "
                            "preempted (Nominated)",
                            node);
}

/* Nothing that the scheduler said of the pod before counts then. */
static bool
is_paused(const struct why_answer *a)
{
    const char *code = json_path_text(a->why, "cause.code");

    return code != NULL && strcmp(code, REASON_SCHEDULING_PAUSED) == 0;
}

bool
why_answer_is_waiting(const struct json *pod)
{
    const char *phase = json_path_text(pod, "status.phase");

    return json_path_text(pod, "spec.nodeName") == NULL
           && (phase == NULL || strcmp(phase, "Pending") == 0);
}

void
why_answer_get(struct kctl *kctl, const struct target_object *target, struct arena *arena,
               struct why_answer *a)
{
    const struct client_request request = {
        .verb = CLIENT_GET,
        .kind = target->kind,
        .namespace = target->namespace,
        .name = target->name,
        .subresource = "why",
        .raw = true,
    };
    struct json *why = NULL;

    *a = (struct why_answer){0};
    if (kctl_call(kctl, &request, arena, &why, &a->error) < 0)
        return;
    a->why = why;
    a->pod = target->kind == &job_kind ? json_get_text(why, "pod") : target->name;
}

void
why_answer_add_wait(const struct why_answer *a, const struct json *pod, struct strbuf *out)
{
    const struct json *scheduled = find_condition(pod, "PodScheduled");

    if (!why_answer_is_waiting(pod))
        return;
    if (is_paused(a)) {
        describe_output_add(out, 2, "Not placed", "%s (" REASON_SCHEDULING_PAUSED ")",
                            json_path_text(a->why, "cause.message"));
        return;
    }
    if (scheduled == NULL && a->why == NULL)
        return;
    if (scheduled == NULL && json_get(a->why, "reasons") == NULL)
        add_no_scheduler(out, pod);
    else if (!add_reasons(out, a->why) && scheduled != NULL && !holds(scheduled))
        add_refusals(out, scheduled);
    add_nomination(out, pod);
    if (json_count(json_get(a->why, "reasons")) > 0)
        describe_nearest_nodes(a->why, out);
}

void
why_answer_add_quota(const struct why_answer *a, struct strbuf *out)
{
    const struct json *quota = json_get(a->why, "quota");
    const char *name = json_get_text(quota, "name");
    const int64_t waiting = json_get_int(quota, "waiting", 0);
    const int64_t before = json_get_int(quota, "place", 1) - 1;

    if (name == NULL)
        return;
    if (before == 0)
        describe_output_add(out, 2, "Quota", "%s; it is the first of %" PRId64 " that wait%s", name,
                            waiting, waiting == 1 ? "s" : "");
    else
        describe_output_add(out, 2, "Quota",
                            "%s; %" PRId64 " of %" PRId64 " that wait %s before it", name, before,
                            waiting, before == 1 ? "goes" : "go");
}

void
why_answer_add_dependencies(const struct why_answer *a, struct strbuf *out)
{
    const struct json *all = json_get(a->why, "dependencies");

    for (uint32_t i = 0; i < json_count(all); i++) {
        const struct json *one = json_at(all, i);
        const char *state = json_get_text(one, "state");
        const int64_t job = json_get_int(one, "job", 0);
        CLEANUP_STRBUF struct strbuf of = STRBUF_INIT;

        if (job != json_get_int(json_at(all, 0), "job", 0))
            strbuf_printf(&of, ", for job %" PRId64, job);
        describe_output_add(out, 2, i == 0 ? "Waits for" : "", "%s%s%s%s%s",
                            json_get_text(one, "dependency"), state != NULL ? " (" : "",
                            state != NULL ? state : "", state != NULL ? ")" : "", of.text);
    }
}

/* Smaller requests that could start now. */
static void
add_smaller(const struct why_answer *a, struct strbuf *out)
{
    const struct json *all = json_get(a->why, "smaller");

    for (uint32_t i = 0; i < json_count(all); i++)
        describe_output_add(out, 2, i == 0 ? "Sooner" : "", "%s",
                            json_get_text(json_at(all, i), "message"));
}

/* Adds what the expected start time is based on. */
static void
add_basis(const struct why_answer *a, struct strbuf *out)
{
    const struct json *start = json_get(a->why, "start");
    const struct json *order = json_get(a->why, "order");
    const char *policy = json_get_text(order, "policy");
    const int64_t predicted_s = json_get_int(order, "predictedSeconds", 0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (json_get(start, "from") == NULL || policy == NULL)
        return;
    strbuf_add_text(&text, json_is_true(json_get(start, "assumed"))
                               ? "an assumed end, because a running job has no time "
                                 "limit"
                           : json_get(start, "byLimits") != NULL
                               ? "how long earlier jobs ran compared to their limits"
                           : json_get(start, "earliest") != NULL
                               ? "the time limits of the running jobs and of the "
                                 "jobs before it"
                               : "the time limits of the running jobs");
    strbuf_printf(&text, "; order %s", policy);
    if (predicted_s > 0) {
        strbuf_add_text(&text, ", which expects it to run for ");
        duration_format(predicted_s, &text);
    }
    if (json_is_true(json_get(order, "waitedTooLong")))
        strbuf_add_text(&text, " and considers that it has waited too long: it goes "
                               "first");
    describe_output_add(out, 2, "By", "%s", text.text);
}

void
why_answer_add_outlook(const struct why_answer *a, struct strbuf *out)
{
    const struct json *start = json_get(a->why, "start");
    const char *outlook = json_get_text(start, "outlook");
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (outlook == NULL) /* a controller of the previous release */
        outlook = json_get_text(start, "message");
    if (outlook != NULL)
        local_time_add_text(outlook, &text);
    else if (a->why == NULL && a->error.code == -EAGAIN)
        strbuf_add_text(&text, a->error.text);
    if (text.length > 0)
        describe_output_add(out, 2, "Outlook", "%s", text.text);
    add_smaller(a, out);
    add_basis(a, out);
}
