/* SPDX-License-Identifier: Apache-2.0 */
/* step_reports.c - nodes/NAME/steps: an agent's records of the steps of its jobs
 *
 * A report has the pods of a node; the answer says for each whether its records are on
 * the disk. A record that comes twice, late or after a later one changes nothing, so an
 * agent repeats what was not answered.
 *
 *   {"pods": [{"podUid": "...", "code": 200},
 *      {"podUid": "...", "code": 404, "message": "..."}, ...]}
 *
 * 404: the pod never was on the node; 403: it is on another one; 422: the records cannot be
 * ones of steps; 503: to be repeated.
 */
#include <errno.h>
#include <string.h>

#include "controller/apiserver/request/body.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/summary/summary.h"
#include "controller/history/history.h"
#include "controller/store/store.h"
#include "lib/api/cluster/step_record.h"
#include "lib/api/job/history_row.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

struct step_reports {
    struct request *q;
    struct json *answers;
    unsigned left; /* not on the disk yet; plus one while they are queued */
};

struct step_answer {
    struct step_reports *all;
    struct json *answer; /* its element of `answers` */
};

static void
finish_one(struct step_reports *all)
{
    struct request *q = all->q;
    struct json *tree;

    if (--all->left > 0)
        return;
    tree = json_object(q->arena);
    json_set(q->arena, tree, "pods", all->answers);
    reply_tree(&q->reply, 200, tree);
    request_finish(q);
}

static void
answer_pod(struct step_answer *a, int code, const char *message)
{
    struct arena *arena = a->all->q->arena;

    json_set_int(arena, a->answer, "code", code);
    if (message != NULL)
        json_set_string(arena, a->answer, "message", message);
}

static void
kept(int result, const struct error *err, void *context)
{
    struct step_answer *a = context;
    const int code = result == 0 ? 200 : result == -ENOENT ? 404 : result == -EINVAL ? 422 : 503;

    answer_pod(a, code, err != NULL ? err->text : NULL);
    finish_one(a->all);
}

/* As its row of history will be. */
static void
set_owner(struct step_batch *batch, struct arena *arena, const struct object *pod)
{
    struct history_row row;

    history_row_of_pod(&row, arena, pod, NULL, NULL, 0);
    batch->job_id = row.job_id;
    batch->job_uid = row.job_uid;
    batch->index = row.index;
    batch->task = row.task;
    batch->attempt = row.attempt;
    batch->user = row.user;
    batch->uid = row.uid;
    batch->account = row.account;
}

/* The agent tells the pod; whose it is and which job, the store or history. False: the
 * answer is made.
 */
static bool
find_owner(struct step_answer *a, struct step_batch *batch)
{
    struct request *q = a->all->q;
    const struct object *pod =
        batch->namespace != NULL && batch->pod != NULL
            ? store_find(q->server->store, STORE_PUBLISHED, &pod_kind, batch->namespace, batch->pod)
            : NULL;

    batch->node = q->route.name;
    if (pod != NULL && strcmp(pod->meta->uid, batch->pod_uid) == 0) {
        const char *node = pod_of(pod)->spec.node_name;

        set_owner(batch, q->arena, pod);
        if (node != NULL && strcmp(node, q->route.name) == 0)
            return true;
        answer_pod(a, 403, "the pod is not bound to this node");
        return false;
    }
    batch->is_of_row = true;
    if (!history_waits_for(q->server->history, batch->pod_uid))
        return true;
    answer_pod(a, 503, "the pod has ended, and is not in history yet");
    return false;
}

static void
take_pod(struct step_reports *all, const struct step_batch *told)
{
    struct request *q = all->q;
    struct step_answer *a = arena_alloc(q->arena, sizeof(*a));
    struct step_batch batch = {
        .namespace = told->namespace,
        .pod = told->pod,
        .pod_uid = told->pod_uid,
        .omitted = told->omitted,
        .steps = told->steps,
    };
    struct error err = {0};

    *a = (struct step_answer){.all = all, .answer = json_object(q->arena)};
    json_append(q->arena, all->answers, a->answer);
    if (told->pod_uid != NULL)
        json_set_string(q->arena, a->answer, "podUid", told->pod_uid);
    if (step_batch_check(&batch, &err) < 0)
        answer_pod(a, 422, err.text);
    else if (find_owner(a, &batch)) {
        all->left++;
        if (history_keep_steps(q->server->history, &batch, kept, a, &err) < 0) {
            all->left--;
            answer_pod(a, 503, err.text);
        }
    }
}

static bool
is_bounded(const struct step_report *report)
{
    size_t n = 0;

    for (uint32_t i = 0; i < report->pods.count; i++)
        n += report->pods.items[i].steps.count;
    return report->pods.count <= STEP_REPORT_PODS_MOST && n <= STEP_REPORT_STEPS_MOST;
}

static void
start(struct request *q, const struct step_report *report)
{
    struct step_reports *all = arena_alloc(q->arena, sizeof(*all));

    *all = (struct step_reports){.q = q, .answers = json_array(q->arena), .left = 1};
    for (uint32_t i = 0; i < report->pods.count; i++)
        take_pod(all, &report->pods.items[i]);
    finish_one(all);
}

void
verb_report_steps(struct request *q)
{
    struct step_report report = {0};

    if (q->server->history == NULL
        || store_find(q->server->store, STORE_PUBLISHED, &node_kind, NULL, q->route.name) == NULL)
        reply_not_found(&q->reply, &node_kind, q->route.name);
    else if (body_normalize_as(q, "StepReport", &step_report_record, q->body)) {
        record_decode(&step_report_record, q->arena, q->body, &report);
        if (is_bounded(&report)) {
            start(q, &report);
            return;
        }
        reply_bad_request(&q->reply,
                          "a report may have at most %d steps of at most %d pods; send the others "
                          "in the next one",
                          STEP_REPORT_STEPS_MOST, STEP_REPORT_PODS_MOST);
    }
    request_finish(q);
}
