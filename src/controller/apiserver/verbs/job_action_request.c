/* SPDX-License-Identifier: Apache-2.0 */
/* job_action_request.c - parses the body of a request for a job action */
#include "controller/apiserver/verbs/job_action_request.h"
#include "controller/apiserver/access/account_names.h"

#include <string.h>

#include "controller/apiserver/marks/job_signals.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/job_change.h"
#include "controller/apiserver/verbs/job_update_patch.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/object/field_query.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/value/id_ranges.h"
#include "lib/api/value/selector.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

#define MAX_PATTERN 128

static bool
refuse(struct request *q, const struct error *err)
{
    reply_bad_request(&q->reply, "%s", err->text);
    return false;
}

static bool
read_states(struct job_action *a, const struct json *names)
{
    for (uint32_t i = 0; i < json_count(names); i++) {
        const char *name = json_text(json_at(names, i));
        const enum job_state state = job_state_of_name(name);

        if (state == JOB_STATE_NONE) {
            reply_bad_request(&a->q->reply, "states: '%s' is not a state of a job",
                              name != NULL ? name : "");
            return false;
        }
        a->states |= JOB_STATE_BIT(state);
    }
    return true;
}

static bool
read_selection(struct job_action *a, const struct json *body)
{
    struct request *q = a->q;
    const char *fields = json_get_text(body, "fieldSelector");
    const char *labels = json_get_text(body, "labelSelector");
    const char *after = json_get_text(body, "continue");
    struct error err = {0};

    a->pattern = json_get_text(body, "name");
    if (a->pattern != NULL && strlen(a->pattern) > MAX_PATTERN) {
        reply_bad_request(&q->reply, "name: a pattern can have at most %d bytes", MAX_PATTERN);
        return false;
    }
    if (after != NULL && strlen(after) < sizeof(a->place.after))
        strcpy(a->place.after, after);
    if (fields != NULL
        && field_query_parse(q->arena, &job_kind, fields, &q->options.fields, &err) < 0)
        return refuse(q, &err);
    if (labels != NULL && label_query_parse(q->arena, labels, &q->options.labels, &err) < 0)
        return refuse(q, &err);
    return true;
}

static void
read_names(struct job_action *a, const struct json *names)
{
    struct request *q = a->q;

    for (uint32_t i = 0; i < json_count(names) && i < ID_RANGES_MOST; i++) {
        const char *name = json_text(json_at(names, i));
        const struct object *object =
            name != NULL && q->route.namespace != NULL
                ? store_find(q->server->store, STORE_PENDING, &job_kind, q->route.namespace, name)
                : NULL;

        if (object != NULL)
            job_action_choose(a, object, 0, NULL);
        else if (name != NULL)
            job_action_add_result(
                a,
                &(struct chosen){.name = name,
                                 .namespace = q->route.namespace != NULL ? q->route.namespace : ""},
                0, "NotFound", "there is no such job");
    }
}

bool
job_action_read(struct job_action *a, const struct json *body)
{
    struct request *q = a->q;
    const char *ids = json_get_text(body, "ids");
    const struct json *names = json_get(body, "names");
    struct error err = {0};

    q->route.namespace = account_names_resolve(q, json_get_text(body, "namespace"));
    a->is_dry_run = json_is_true(json_get(body, "dryRun"));
    a->at_most = json_get_int(body, "atMost", 0);
    a->is_selection = ids == NULL && json_count(names) == 0;
    if (ids != NULL && id_ranges_add(&a->ids, ids, q->arena, &err) < 0)
        return refuse(q, &err);
    read_names(a, names);
    a->update = json_get(body, "update");
    if (strcmp(a->change->name, "update") == 0 && job_update_patch_check(a->update, &err) < 0)
        return refuse(q, &err);
    if (strcmp(a->change->name, "signal") == 0) {
        struct job_signal signal;

        a->update = json_get(body, "signal");
        if (job_signal_read(a->update, &signal, &err) < 0)
            return refuse(q, &err);
    }
    return read_states(a, json_get(body, "states"))
           && (!a->is_selection || read_selection(a, body));
}
