/* SPDX-License-Identifier: Apache-2.0 */
/* Random histories of jobs: counts that are updated change by change must give
 * the same plan as counts that are computed anew from the Job and its pods.
 */
#include "controller/lifecycle/job/job_pod_counts.h"

#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/job/array_ends.h"
#include "controller/lifecycle/job/array_state.h"
#include "controller/lifecycle/job/job_plan.h"
#include "controller/lifecycle/job/job_pod.h"
#include "controller/lifecycle/job/job_verdict.h"
#include "controller/lifecycle/job/removed_counts.h"
#include "lib/api/job/job.h"
#include "lib/api/job/removed_pod.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/merge.h"
#include "testsuite/lib/suite.h"

#define MAX_PODS 400
#define STEPS    600
#define LATER    INT64_C(4000000000000000) /* after all backoffs */

struct life {
    struct arena *arena; /* for the whole history */
    const struct object *job;
    struct job_pod_counts *counts; /* the updated ones */
    const struct object *pods[MAX_PODS];
    int n_pods;
    const char *told; /* annotations of the next pod */
    int clock_s;      /* every end has its own second */
};

static const struct object *
parse(const struct kind *kind, const char *text)
{
    const struct object *object = NULL;
    struct error err = {0};

    ck_assert_msg(object_parse(kind, text, strlen(text), &object, &err) == 0, "%s: %s", text,
                  err.text);
    return object;
}

static struct life *
begin_with(const char *spec, const char *template_)
{
    static struct life life;

    life = (struct life){.arena = arena_new(0), .told = ""};
    life.job =
        parse(&job_kind, arena_printf(life.arena,
                                      "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
                                      "\"metadata\":{\"name\":\"j\",\"namespace\":\"default\","
                                      "\"uid\":\"u\"},\"spec\":{\"backoffLimit\":1000,%s,"
                                      "%s},\"status\":{}}",
                                      spec, template_));
    life.counts = job_pod_counts_new(job_of(life.job));
    job_pod_counts_settle(life.counts, job_of(life.job));
    return &life;
}

static struct life *
begin(const char *spec)
{
    return begin_with(spec, "\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}");
}

static void
end(struct life *l)
{
    for (int i = 0; i < l->n_pods; i++)
        object_unref(l->pods[i]);
    job_pod_counts_free(l->counts);
    object_unref(l->job);
    arena_free(l->arena);
}

static struct job_pod_counts *
count_anew(const struct life *l)
{
    struct job_pod_counts *t = job_pod_counts_new(job_of(l->job));

    for (int i = 0; i < l->n_pods; i++)
        job_pod_counts_see(t, job_of(l->job), pod_of(l->pods[i]));
    job_pod_counts_settle(t, job_of(l->job));
    return t;
}

static void
change_job(struct life *l, const char *member, const struct json *value)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *tree = object_tree(l->job, arena);
    struct json *patch = json_object(arena);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct object *was = l->job;

    json_set(arena, patch, member, json_dup(arena, value));
    tree = json_merge(arena, tree, patch);
    json_print(tree, &text);
    l->job = parse(&job_kind, text.text);
    object_unref(was);
}

static void
agree(const struct job_plan *kept, const struct job_plan *anew)
{
    CLEANUP_STRBUF struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;

    if (kept->status != NULL)
        json_print(kept->status, &a);
    if (anew->status != NULL)
        json_print(anew->status, &b);
    ck_assert_str_eq(a.text ? a.text : "", b.text ? b.text : "");
    ck_assert_uint_eq(kept->n_create, anew->n_create);
    ck_assert(kept->delete_active == anew->delete_active);
    ck_assert(kept->end_rest == anew->end_rest);
}

static void
see(struct job_pod_counts *t, const struct job *job, const struct object *was,
    const struct object *is)
{
    if (is != NULL)
        job_pod_counts_see(t, job, pod_of(is));
    else
        job_pod_counts_see_gone(t, job, pod_of(was));
}

/* Applies a pod's change to both; their plans must be equal, then and after the
 * planned status was written.
 */
static struct job_plan
change_pod(struct life *l, int i, const struct object *pod)
{
    CLEANUP(job_pod_counts_freep) struct job_pod_counts *anew = count_anew(l);
    CLEANUP(job_pod_counts_freep) struct job_pod_counts *again = NULL;
    const struct object *was = i < l->n_pods ? l->pods[i] : NULL;
    const struct job *job = job_of(l->job);
    struct job_plan kept_plan, anew_plan;

    see(l->counts, job, was, pod);
    see(anew, job, was, pod);
    if (was == NULL)
        l->n_pods++;
    l->pods[i] = pod;
    if (pod == NULL)
        l->pods[i] = l->pods[--l->n_pods];
    job_plan(job, l->counts, LATER, 8, l->arena, &kept_plan);
    job_plan(job, anew, LATER, 8, l->arena, &anew_plan);
    agree(&kept_plan, &anew_plan);
    if (kept_plan.status != NULL)
        change_job(l, "status", kept_plan.status);

    again = count_anew(l);
    job = job_of(l->job);
    job_plan(job, l->counts, LATER, 8, l->arena, &kept_plan);
    job_plan(job, again, LATER, 8, l->arena, &anew_plan);
    agree(&kept_plan, &anew_plan);
    object_unref(was);
    return kept_plan;
}

static const char *
tell_past(struct life *l, int64_t failures, int64_t ignored)
{
    return arena_printf(l->arena,
                        ",\"annotations\":{\"%s\":\"%" PRId64 "\",\"%s\":\"%" PRId64 "\"}",
                        ANNOTATION_INDEX_FAILURES, failures, ANNOTATION_INDEX_IGNORED, ignored);
}

/* The annotations with which a pod was created remain. */
static const char *
annotations_of(struct life *l, const char *name)
{
    for (int i = 0; i < l->n_pods; i++) {
        const struct string_map *map = &l->pods[i]->meta->annotations;
        const char *failures = string_map_find(map, ANNOTATION_INDEX_FAILURES);
        const char *ignored = string_map_find(map, ANNOTATION_INDEX_IGNORED);

        if (strcmp(l->pods[i]->meta->name, name) == 0)
            return tell_past(l, failures != NULL ? atoi(failures) : 0,
                             ignored != NULL ? atoi(ignored) : 0);
    }
    return l->told;
}

static const struct object *
make_pod(struct life *l, const char *name, const char *phase, bool deleting)
{
    bool has_ended = phase[0] == 'S' || phase[0] == 'F';
    int s = has_ended ? ++l->clock_s : 0;
    const char *end = arena_printf(
        l->arena,
        ",\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":"
        "{\"exitCode\":%d,\"reason\":\"%s\",\"finishedAt\":\"2023-11-14T%02d:%02d:%02dZ\"}}}]",
        phase[0] == 'F' ? 1 + (int)(random() % 3) : 0, phase[0] == 'F' ? "Error" : "Completed",
        s / 3600, s / 60 % 60, s % 60);

    return parse(&pod_kind,
                 arena_printf(l->arena,
                              "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":"
                              "{\"name\":\"%s\",\"namespace\":\"default\"%s%s},"
                              "\"spec\":{\"containers\":[{\"name\":\"main\"}]},\"status\":"
                              "{\"phase\":\"%s\"%s}}",
                              name,
                              deleting ? ",\"deletionTimestamp\":"
                                         "\"2023-11-14T00:00:00Z\""
                                       : "",
                              annotations_of(l, name), phase, has_ended ? end : ""));
}

/* Makes one more step in the life of an existing pod. */
static void
live_on(struct life *l, int i)
{
    const struct pod *pod = pod_of(l->pods[i]);
    const char *name = pod->meta.name;
    bool is_deleting = pod->meta.deleted_at_us != 0;

    if (pod_is_finished(pod) || random() % 10 == 0)
        change_pod(l, i, NULL);
    else if (random() % 8 == 0)
        change_pod(l, i, make_pod(l, name, "Running", true));
    else if (strcmp(pod->status.phase, "Pending") == 0)
        change_pod(l, i, make_pod(l, name, "Running", is_deleting));
    else
        change_pod(l, i,
                   make_pod(l, name, random() % 3 == 0 || is_deleting ? "Failed" : "Succeeded",
                            is_deleting));
}

static void
create_what_is_planned(struct life *l)
{
    struct job_plan plan;

    job_plan(job_of(l->job), l->counts, LATER, 8, l->arena, &plan);
    for (unsigned i = 0; i < plan.n_create && l->n_pods < MAX_PODS; i++) {
        const char *name =
            job_pod_name(l->arena, "j", plan.create[i].index, plan.create[i].attempt);

        l->told = tell_past(l, plan.create[i].failures, plan.create[i].ignored);
        job_pod_counts_expect(l->counts, plan.create[i].index, plan.create[i].attempt, LATER);
        /* Some are refused, and planned again. */
        if (random() % 6 == 0) {
            job_pod_counts_refuse(l->counts, plan.create[i].index, plan.create[i].attempt, "full");
            /* The message is remembered, and cannot be computed anew. */
            free(l->counts->refusal);
            l->counts->refusal = NULL;
        } else
            change_pod(l, l->n_pods, make_pod(l, name, "Pending", false));
    }
}

static void
suspend_or_resume(struct life *l)
{
    struct json *spec = json_object(l->arena);
    struct job_plan plan;

    json_set_bool(l->arena, spec, "suspend", !job_of(l->job)->spec.suspend);
    change_job(l, "spec", spec);
    job_plan(job_of(l->job), l->counts, LATER, 8, l->arena, &plan);
    if (plan.status != NULL)
        change_job(l, "status", plan.status);
}

/* True: the job has ended. */
static bool
live(struct life *l)
{
    for (int step = 0; step < STEPS; step++) {
        int64_t expected = l->counts->n_expected;

        ck_assert_int_le(l->counts->live, l->counts->active);
        ck_assert_int_eq(l->counts->made + expected, l->counts->active + l->counts->succeeded
                                                         + l->counts->failed + l->counts->excused);
        if (job_is_finished(job_of(l->job)))
            return true;
        if (random() % 40 == 0)
            suspend_or_resume(l);
        create_what_is_planned(l);
        if (l->n_pods > 0)
            live_on(l, (int)(random() % l->n_pods));
    }
    return false;
}

static void
live_lives(const char *spec)
{
    int ended = 0;

    for (unsigned seed = 1; seed <= 20; seed++) {
        struct life *l = begin(spec);

        srandom(seed);
        ended += live(l);
        end(l);
    }
    ck_assert_int_gt(ended, 0);
}

/* ---- Attempts that are whole ---- */

#define GANG                                                                                  \
    "\"completionMode\":\"Indexed\",\"completions\":4,\"parallelism\":4,"                     \
    "\"podReplacementPolicy\":\"Failed\",\"scheduling\":{\"schedulingPolicy\":{\"gang\":{}}," \
    "\"disruptionMode\":{\"all\":{}}}"
#define GANG_TEMPLATE                                                             \
    "\"template\":{\"spec\":{\"execution\":{\"runs\":\"Each\"},\"containers\":[{" \
    "\"name\":\"main\"}]}}"

static void
create_attempt(struct life *l, const struct job_plan *plan)
{
    ck_assert_uint_eq(plan->n_create, 4);
    for (int i = 0; i < l->n_pods; i++)
        ck_assert(pod_is_finished(pod_of(l->pods[i])));
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_int_eq(plan->create[i].index, i);
        ck_assert_int_eq(plan->create[i].attempt, plan->create[0].attempt);
        job_pod_counts_expect(l->counts, plan->create[i].index, plan->create[i].attempt, LATER);
    }
    for (unsigned i = 0; i < 4; i++) { /* one transaction: no plan between them */
        const char *name = job_pod_name(l->arena, "j", (int64_t)i, plan->create[i].attempt);

        l->pods[l->n_pods] = make_pod(l, name, "Pending", false);
        see(l->counts, job_of(l->job), NULL, l->pods[l->n_pods++]);
    }
}

/* How many attempts it took. */
static int64_t
live_as_gang(struct life *l)
{
    for (int step = 0; step < STEPS && !job_is_finished(job_of(l->job)); step++) {
        struct job_plan plan;

        if (random() % 60 == 0)
            suspend_or_resume(l);
        job_plan(job_of(l->job), l->counts, LATER, 1, l->arena, &plan);
        if (plan.n_create > 0)
            create_attempt(l, &plan);
        else if (plan.end_rest)
            for (int i = 0; i < l->n_pods; i++)
                if (!pod_is_finished(pod_of(l->pods[i])))
                    change_pod(l, i, make_pod(l, l->pods[i]->meta->name, "Running", true));
        if (l->n_pods > 0)
            live_on(l, (int)(random() % l->n_pods));
    }
    if (job_is_finished(job_of(l->job)))
        ck_assert_str_eq(job_of(l->job)->status.completed_indexes, "0-3");
    return l->counts->indexes.attempts;
}

/* Pods of one attempt only, and no success of an earlier one counts. */
START_TEST(an_attempt_begins_when_the_last_is_over_and_is_done_as_a_whole)
{
    int64_t attempts = 0;
    int ended = 0;

    for (unsigned seed = 1; seed <= 20; seed++) {
        struct life *l = begin_with(GANG, GANG_TEMPLATE);

        srandom(seed);
        attempts += live_as_gang(l);
        ended += job_is_finished(job_of(l->job));
        end(l);
    }
    ck_assert_int_gt(ended, 0);
    ck_assert_int_gt(attempts, 40);
}
END_TEST

/* ---- Attempts that are whole, and a controller that is killed ---- */

static const struct object *
make_member(struct life *l, int index, int attempt, const char *phase, const char *rest)
{
    const char *name = job_pod_name(l->arena, "j", index, attempt);

    return parse(&pod_kind,
                 arena_printf(l->arena,
                              "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
                              "\"uid\":\"%s\"},\"spec\":{\"nodeName\":\"n\",\"containers\":"
                              "[{\"name\":\"main\"}]},\"status\":{\"phase\":\"%s\"%s}}",
                              name, name, phase, rest));
}

/* How a pod of a torn attempt may end. */
static const struct {
    const char *phase, *rest;
} ends[] = {
    {"Succeeded", ""},
    {"Failed", ",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\","
               "\"reason\":\"NodeLost\"}]"},
    {"Failed", ""},
};

#define LOST        1
#define OWN_FAILURE 2

/* The last plan's status, as the controller would write it. */
static void
write_counts(struct life *l)
{
    struct job_plan plan;

    job_plan(job_of(l->job), l->counts, LATER, 1, l->arena, &plan);
    if (plan.status != NULL)
        change_job(l, "status", plan.status);
}

/* The transaction that removes a pod notes it in its Job. */
static void
remove_pod(struct life *l, int i)
{
    const struct object *pod = l->pods[i];
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *status = json_object(arena),
                *list = json_get(json_get(object_tree(l->job, arena), "status"), "removedPods");

    if (list != NULL)
        json_set(arena, status, "removedPods", list);
    removed_pod_add(arena, status, object_tree(pod, arena));
    change_job(l, "status", status);
    job_pod_counts_see_gone(l->counts, job_of(l->job), pod_of(pod));
    l->pods[i] = l->pods[--l->n_pods];
    object_unref(pod);
}

/* A controller that starts now comes to the same end. Of several ends it
 * may not know which the status has counted, and then assumes fewer failures.
 */
static void
restart(struct life *l, int worst)
{
    const struct job *job = job_of(l->job);
    struct job_pod_counts *t = job_pod_counts_new(job);
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    for (int i = 0; i < l->n_pods; i++)
        job_pod_counts_see(t, job, pod_of(l->pods[i]));
    removed_counts_see(t, job);
    job_pod_counts_settle(t, job);
    ck_assert_int_eq(t->made, l->counts->made);
    ck_assert_int_eq(t->indexes.attempts, l->counts->indexes.attempts);
    ck_assert_int_eq(t->active, l->counts->active);
    ck_assert_int_le(t->failed, l->counts->failed);
    if (worst < OWN_FAILURE)
        ck_assert_int_eq(t->failed, 0);
    ck_assert_int_eq(t->succeeded + t->failed + t->excused,
                     l->counts->succeeded + l->counts->failed + l->counts->excused);
    ck_assert_int_eq(job_judge(job, t, LATER, arena).outcome,
                     job_judge(job, l->counts, LATER, arena).outcome);
    job_pod_counts_free(t);
}

static void
begin_attempt(struct life *l, int attempt, int worst)
{
    for (int i = 0; i < 4; i++) {
        const struct object *pod = make_member(l, i, attempt, "Running", "");

        l->pods[l->n_pods++] = pod;
        job_pod_counts_see(l->counts, job_of(l->job), pod_of(pod));
    }
    restart(l, worst);
}

static void
end_member(struct life *l, int i, int how)
{
    const struct object *was = l->pods[i];
    int64_t index, attempt;

    ck_assert(job_pod_name_parse("j", was->meta->name, &index, &attempt));
    l->pods[i] = make_member(l, (int)index, (int)attempt, ends[how].phase, ends[how].rest);
    object_unref(was);
    job_pod_counts_see(l->counts, job_of(l->job), pod_of(l->pods[i]));
}

/* In any order: ends pods, removes those that have ended, and writes the counts. */
static void
live_attempt(struct life *l, int most, int worst)
{
    int n_live = 4;

    while (n_live > 0) {
        int i = (int)(random() % l->n_pods);

        if (random() % 3 == 0)
            write_counts(l);
        else if (pod_is_finished(pod_of(l->pods[i])))
            random() % 3 == 0 ? remove_pod(l, i) : (void)0;
        else
            end_member(l, i, n_live-- == 2 ? most : (int)(random() % (most + 1)));
        restart(l, worst);
    }
}

START_TEST(a_controller_that_starts_anew_counts_a_gang_as_the_last_did)
{
    for (unsigned seed = 1; seed <= 400; seed++) {
        struct life *l = begin_with("\"requeue\":true," GANG, GANG_TEMPLATE);

        const int worst = seed % 2 == 0 ? LOST : OWN_FAILURE;

        srandom(seed);
        begin_attempt(l, 0, worst);
        live_attempt(l, worst, worst);
        if (seed % 3 == 0)
            while (l->n_pods > 0)
                remove_pod(l, 0);
        begin_attempt(l, 1, worst);
        live_attempt(l, 0, worst);
        write_counts(l);
        ck_assert_str_eq(job_of(l->job)->status.completed_indexes, "0-3");
        end(l);
    }
}
END_TEST

START_TEST(an_indexed_job_is_counted_right_change_by_change)
{
    live_lives("\"completionMode\":\"Indexed\",\"completions\":30,"
               "\"parallelism\":7");
}
END_TEST

START_TEST(a_job_that_only_counts_is_counted_right_change_by_change)
{
    live_lives("\"completions\":30,\"parallelism\":7");
}
END_TEST

START_TEST(a_job_of_a_single_pod_is_counted_right_change_by_change)
{
    live_lives("\"completions\":1,\"parallelism\":1");
}
END_TEST

START_TEST(a_work_queue_is_counted_right_change_by_change)
{
    live_lives("\"parallelism\":4");
}
END_TEST

START_TEST(a_job_whose_indexes_fail_by_themselves_is_counted_right)
{
    live_lives("\"completionMode\":\"Indexed\",\"completions\":30,"
               "\"parallelism\":7,\"backoffLimitPerIndex\":1");
}
END_TEST

START_TEST(a_job_with_rules_on_failure_and_success_is_counted_right)
{
    live_lives("\"completionMode\":\"Indexed\",\"completions\":40,"
               "\"parallelism\":7,\"backoffLimitPerIndex\":2,"
               "\"podFailurePolicy\":{\"rules\":[{\"action\":\"Ignore\","
               "\"onExitCodes\":{\"operator\":\"In\",\"values\":[1]}},"
               "{\"action\":\"FailIndex\",\"onExitCodes\":{\"operator\":"
               "\"In\",\"values\":[2]}}]},\"successPolicy\":{\"rules\":["
               "{\"succeededCount\":20}]}");
}
END_TEST

START_TEST(jobs_that_replace_pods_early_are_counted_right)
{
    live_lives("\"completionMode\":\"Indexed\",\"completions\":30,"
               "\"parallelism\":7,"
               "\"podReplacementPolicy\":\"TerminatingOrFailed\"");
    live_lives("\"completions\":30,\"parallelism\":7,"
               "\"podReplacementPolicy\":\"TerminatingOrFailed\"");
}
END_TEST

START_TEST(a_million_indexes_done_in_order_cost_little)
{
    struct life *l = begin("\"completionMode\":\"Indexed\","
                           "\"completions\":1000000,\"parallelism\":1000");
    const struct job *job = job_of(l->job);

    for (int i = 0; i < 20000; i++) {
        const char *name = job_pod_name(l->arena, "j", i, 0);
        const struct object *pod = make_pod(l, name, "Succeeded", false);

        job_pod_counts_see(l->counts, job, pod_of(pod));
        object_unref(pod);
    }

    ck_assert_uint_eq(l->counts->indexes.done.count, 1);
    ck_assert_uint_eq(l->counts->indexes.taken.count, 1);
    ck_assert_uint_le(l->counts->indexes.slot_room, 8);
    end(l);
}
END_TEST

static void
cancel(struct life *l)
{
    struct json *meta = json_object(l->arena);

    json_set_string(l->arena, json_make_object(l->arena, meta, "annotations"), ANNOTATION_CANCEL,
                    "alice");
    change_job(l, "metadata", meta);
}

/* Shows the counts pod j-INDEX in that phase, or that the pod is gone. */
static void
see_pod(struct life *l, int index, const char *phase, bool deleting, bool gone)
{
    const char *name = job_pod_name(l->arena, "j", index, 0);
    const struct object *pod = make_pod(l, name, phase, deleting);

    if (gone)
        job_pod_counts_see_gone(l->counts, job_of(l->job), pod_of(pod));
    else
        job_pod_counts_see(l->counts, job_of(l->job), pod_of(pod));
    object_unref(pod);
}

static const char *
list_ends(const struct life *l)
{
    static char letters[8];
    size_t n = 0;

    list_foreach(pos, &array_state_ends(l->counts->array)->list) letters[n++] =
        "dfca"[container_of(pos, struct array_end, link)->outcome];
    letters[n] = '\0';
    return letters;
}

START_TEST(with_a_whole_array_its_elements_are_cancelled_that_had_not_ended)
{
    struct life *l = begin("\"completionMode\":\"Indexed\","
                           "\"completions\":100,\"parallelism\":100,"
                           "\"backoffLimitPerIndex\":0,"
                           "\"array\":{\"tasks\":\"0-99\"}");

    see_pod(l, 0, "Running", false, false);
    see_pod(l, 1, "Pending", false, false);
    see_pod(l, 2, "Running", false, false);
    see_pod(l, 3, "Running", false, false);
    see_pod(l, 0, "Failed", false, false);
    cancel(l);
    see_pod(l, 1, "Pending", false, true);
    see_pod(l, 2, "Failed", true, false);
    see_pod(l, 3, "Succeeded", true, false);

    ck_assert_int_eq(l->counts->failed, 1);
    ck_assert_int_eq(l->counts->excused, 2);
    ck_assert_int_eq(l->counts->succeeded, 1);
    ck_assert_int_eq(job_verdict_count_cancelled(job_of(l->job), l->counts), 98);
    ck_assert_str_eq(list_ends(l), "fccd");
    end(l);
}
END_TEST

/* Attempts of element 5, each lost with its node. */
static const struct object *
make_lost(int attempt, const char *annotations)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    return parse(&pod_kind,
                 arena_printf(arena,
                              "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
                              "\"uid\":\"p%d\",\"annotations\":{%s}},\"spec\":"
                              "{\"nodeName\":\"n\",\"containers\":[{\"name\":\"main\"}]},"
                              "\"status\":{\"phase\":\"Failed\",\"conditions\":[{\"type\":"
                              "\"DisruptionTarget\",\"status\":\"True\"}]}}",
                              job_pod_name(arena, "j", 5, attempt), attempt, annotations));
}

START_TEST(a_task_that_is_interrupted_too_often_is_to_be_held)
{
    static const struct {
        const char *annotations;
        int64_t interrupted;
        bool is_held;
    } rows[] = {
        {"", 1, false},
        {"\"" ANNOTATION_REQUEUE_BEFORE "\":\"true\"", 1, false},
        {"", 2, true},
        {"", 1, false}, /* its count was reset when it was held */
    };
    struct life *l = begin("\"completionMode\":\"Indexed\",\"requeue\":true,"
                           "\"completions\":100,\"parallelism\":100,"
                           "\"backoffLimitPerIndex\":0,"
                           "\"array\":{\"tasks\":\"0-99\"}");

    l->counts->maximum_requeues = 1;
    for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct object *pod = make_lost((int)i, rows[i].annotations);
        const struct array_end *e;

        job_pod_counts_see(l->counts, job_of(l->job), pod_of(pod));
        job_pod_counts_see(l->counts, job_of(l->job), pod_of(pod));
        e = container_of(array_state_ends(l->counts->array)->list.prev, struct array_end, link);
        ck_assert_int_eq(e->outcome, ARRAY_AGAIN);
        ck_assert_int_eq(e->attempt, (int)i + 1);
        ck_assert_int_eq(e->interrupted, rows[i].interrupted);
        ck_assert(e->is_too_often == rows[i].is_held);
        ck_assert(array_state_is_barred(l->counts->array, 5) == (i >= 2));
        object_unref(pod);
    }
    ck_assert_uint_eq(array_state_ends(l->counts->array)->count, ARRAY_SIZE(rows));
    end(l);
}
END_TEST

/* A killed controller's successor begins with the last written status, and may
 * see a later end at once, which it adds to those in the status.
 */
START_TEST(an_end_that_the_status_has_not_is_added_to_those_it_has)
{
    static const int attempts[] = {2, 3};
    struct life *l = begin("\"requeue\":true,\"completions\":1");

    l->pods[l->n_pods++] =
        parse(&pod_kind, "{\"metadata\":{\"name\":\"j-0-r2\",\"namespace\":\"default\","
                         "\"uid\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"main\"}]},"
                         "\"status\":{\"phase\":\"Failed\",\"conditions\":[{\"type\":"
                         "\"DisruptionTarget\",\"status\":\"True\","
                         "\"reason\":\"PreemptionByScheduler\"}]}}");
    for (unsigned i = 0; i < ARRAY_SIZE(attempts); i++) {
        struct json *status = json_object(l->arena);
        struct job_pod_counts *t;

        json_set_int(l->arena, status, "attempts", attempts[i]);
        json_set_int(l->arena, status, "excused", 2);
        change_job(l, "status", status);
        t = count_anew(l);
        ck_assert_int_eq(t->excused, 3);
        ck_assert_int_eq(t->failed, 0);
        ck_assert_int_eq(t->made, 3);
        job_pod_counts_free(t);
    }
    end(l);
}
END_TEST

SUITE("job_pod_counts", an_indexed_job_is_counted_right_change_by_change,
      a_job_that_only_counts_is_counted_right_change_by_change,
      a_job_of_a_single_pod_is_counted_right_change_by_change,
      a_work_queue_is_counted_right_change_by_change,
      a_job_whose_indexes_fail_by_themselves_is_counted_right,
      a_job_with_rules_on_failure_and_success_is_counted_right,
      jobs_that_replace_pods_early_are_counted_right, a_million_indexes_done_in_order_cost_little,
      an_end_that_the_status_has_not_is_added_to_those_it_has,
      a_task_that_is_interrupted_too_often_is_to_be_held,
      a_controller_that_starts_anew_counts_a_gang_as_the_last_did,
      an_attempt_begins_when_the_last_is_over_and_is_done_as_a_whole,
      with_a_whole_array_its_elements_are_cancelled_that_had_not_ended)
