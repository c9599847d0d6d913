/* SPDX-License-Identifier: Apache-2.0 */
/* admission_owner.c - a job runs as the uid that submitted it, whatever the
 * body says, and on the node that the scheduler chooses
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/access/user_counts.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/base/arena.h"
#include "lib/base/log.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

static bool
may_choose(const struct request *q)
{
    return q->principal->type == PRINCIPAL_ADMINISTRATOR || !principal_is_person(q->principal);
}

/* Sets the number, or refuses a given number that differs. */
static bool
stamp(struct request *q, struct json *tree, struct json *context, const char *name, int64_t value)
{
    const struct json *given = json_get(context, name);

    if (given == NULL) {
        json_set_int(q->arena, context, name, value);
        return true;
    }
    if (may_choose(q) || json_get_int(context, name, -1) == value)
        return true;
    return admission_refuse(q, tree, "Owner",
                            arena_printf(q->arena,
                                         "jobs of user '%s' run with %s %" PRId64
                                         "; only an administrator may choose another",
                                         q->principal->name, name, value));
}

/* Whether upstream accepts the text as a label's value. */
static bool
is_label_value(const char *text)
{
    size_t n = strlen(text);
    static const char inner[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

    return n > 0 && n <= 63 && strspn(text, inner) == n && strchr("-_.", text[0]) == NULL
           && strchr("-_.", text[n - 1]) == NULL;
}

/* Writes the user's name and uid to where people look for them. */
static void
sign(struct request *q, struct json *tree)
{
    struct json *meta = json_make_object(q->arena, tree, "metadata");
    struct json *annotations = json_make_object(q->arena, meta, "annotations");
    char uid[24];

    snprintf(uid, sizeof(uid), "%u", (unsigned)q->principal->uid);
    json_set_string(q->arena, annotations, ANNOTATION_USER, q->principal->name);
    json_set_string(q->arena, annotations, ANNOTATION_UID, uid);
    if (is_label_value(q->principal->name))
        json_set_string(q->arena, json_make_object(q->arena, meta, "labels"), LABEL_USER,
                        q->principal->name);
    else if (json_is(json_get(meta, "labels"), JSON_OBJECT))
        json_remove(json_get(meta, "labels"), LABEL_USER);
}

/* The fields that name the owner cannot change after creation. */
static void
keep_signature(struct request *q, struct json *tree, const struct object *old_object)
{
    static const char *const names[] = {
        ANNOTATION_USER,
        ANNOTATION_UID,
        ANNOTATION_SUBMISSION,
        ANNOTATION_SUBMITTER,
        "kiln.hpc/submission-digest",
    };
    struct json *meta = json_make_object(q->arena, tree, "metadata");
    const char *label = string_map_find(&old_object->meta->labels, LABEL_USER);

    for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
        const char *value = string_map_find(&old_object->meta->annotations, names[i]);

        if (value != NULL)
            json_set_string(q->arena, json_make_object(q->arena, meta, "annotations"), names[i],
                            value);
        else if (json_get(meta, "annotations") != NULL)
            json_remove(json_get(meta, "annotations"), names[i]);
    }
    if (label != NULL)
        json_set_string(q->arena, json_make_object(q->arena, meta, "labels"), LABEL_USER, label);
    else if (json_is(json_get(meta, "labels"), JSON_OBJECT))
        json_remove(json_get(meta, "labels"), LABEL_USER);
}

/* An update without an owner keeps the present one. */
static void
keep_owner(struct request *q, struct json *context, const struct object *old_object)
{
    static const char *const names[] = {"runAsUser", "runAsGroup"};
    const struct json *old;

    if (json_get(context, "runAsUser") != NULL)
        return;
    old = json_get(admission_old_pod_spec(q, old_object), "securityContext");
    for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
        struct json *value = json_get(old, names[i]);

        if (json_get(context, names[i]) == NULL && value != NULL)
            json_set(q->arena, context, names[i], value);
    }
}

bool
owner_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    struct json *spec = admission_pod_spec(q, tree);
    struct json *context;
    uid_t old_uid;

    if (!principal_is_person(q->principal) || spec == NULL)
        return true;
    context = json_make_object(q->arena, spec, "securityContext");
    if (old_object != NULL) {
        keep_signature(q, tree, old_object);
        keep_owner(q, context, old_object);
        if (!object_owner(old_object, &old_uid) || may_choose(q)
            || json_get_int(context, "runAsUser", -1) == (int64_t)old_uid)
            return true;
        return admission_refuse(q, tree, "Owner", "the owner cannot be changed");
    }
    if (!stamp(q, tree, context, "runAsUser", q->principal->uid)
        || !stamp(q, tree, context, "runAsGroup", q->principal->gid))
        return false;
    if (json_get_int(context, "runAsUser", -1) == (int64_t)q->principal->uid)
        sign(q, tree);
    return true;
}

/* Of a job: the pod of a Job that was admitted, which its own user may submit. */
static bool
admit_user(struct request *q, struct json *tree, bool is_of_a_job)
{
    const struct policy *policy = q->server->policy;
    const struct json *context = json_get(admission_pod_spec(q, tree), "securityContext");
    int64_t uid = json_get_int(context, "runAsUser", -1);

    if (uid == 0 && !policy->allows_root_jobs)
        return admission_refuse(q, tree, "RootJobs",
                                "jobs of root are refused on this cluster (allowRootJobs: "
                                "false); submit as an ordinary user");
    if (uid > 0 && uid == (int64_t)geteuid() && q->principal->uid != (uid_t)uid && !is_of_a_job)
        return admission_refuse(q, tree, "RootJobs",
                                arena_printf(q->arena,
                                             "uid %" PRId64 " runs the controller: a job of that "
                                             "user would have the whole cluster; submit as an "
                                             "ordinary user",
                                             uid));
    if (uid > 0 && uid < (int64_t)policy->minimum_uid)
        return admission_refuse(q, tree, "RootJobs",
                                arena_printf(q->arena,
                                             "uid %" PRId64 " is below minimumUid %u: system users "
                                             "run no jobs here",
                                             uid, (unsigned)policy->minimum_uid));
    return true;
}

bool
root_jobs_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    (void)old_object;
    return admit_user(q, tree, false);
}

bool
root_pods_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    (void)old_object;
    return admit_user(q, tree, q->principal->type == PRINCIPAL_LIFECYCLE);
}

/* nodeName would bypass the scheduler; `ksub -w` uses node affinity instead. In a pod
 * that exists, the validation refuses a change.
 */
bool
placing_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const char *node = json_get_text(admission_pod_spec(q, tree), "nodeName");

    (void)old_object;
    if (node == NULL || node[0] == '\0' || may_choose(q))
        return true;
    return admission_refuse(q, tree, "Placing",
                            "only the scheduler sets spec.nodeName; ask for nodes with affinity "
                            "(ksub -w)");
}

static bool
is_own_node(const struct request *q, const char *name)
{
    return name != NULL && strcmp(name, q->principal->node) == 0;
}

/* The rule for nodes, and for their leases. */
bool
own_name_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    (void)old_object;
    return q->principal->type != PRINCIPAL_AGENT
           || is_own_node(q, json_path_text(tree, "metadata.name"))
           || admission_refuse(q, tree, "NodeOwner", "an agent may only use its own node");
}

/* ---- What a new node says about itself ---- */

static bool
is_permitted(const struct policy *policy, const char *label)
{
    static const char *const facts[] = {LABEL_HOSTNAME, "kubernetes.io/os", "kubernetes.io/arch"};

    for (unsigned i = 0; i < ARRAY_SIZE(facts); i++)
        if (strcmp(label, facts[i]) == 0)
            return true;
    for (size_t i = 0; i < policy->n_agent_labels; i++) {
        const char *pattern = policy->agent_labels[i];
        size_t n = strlen(pattern);

        if (n > 0 && pattern[n - 1] == '*' ? strncmp(label, pattern, n - 1) == 0
                                           : strcmp(label, pattern) == 0)
            return true;
    }
    return false;
}

/* Partitions choose nodes by labels, and rules read annotations, so a machine
 * may not say about itself what it likes. With approval an administrator sees
 * the labels first.
 */
static void
limit_own_words(struct request *q, struct json *tree)
{
    const struct policy *policy = q->server->policy;
    struct json *meta = json_make_object(q->arena, tree, "metadata");
    struct json *labels = json_make_object(q->arena, meta, "labels");
    const char *name = json_get_text(meta, "name");

    json_remove(meta, "annotations");
    json_remove(meta, "finalizers");
    if (name != NULL)
        json_set_string(q->arena, labels, LABEL_HOSTNAME, name);
    json_remove(labels, LABEL_ROOTLESS);
    for (uint32_t i = json_count(labels); !policy->must_approve_nodes && i > 0; i--) {
        const char *label = labels->members[i - 1].name;

        if (is_permitted(policy, label))
            continue;
        log_warning("node '%s' registers with the label %s, which agents may not give themselves "
                    "here (agentLabels); it was left out; 'kctl label node %s %s=...' sets it",
                    name != NULL ? name : "", label, name != NULL ? name : "", label);
        reply_warn(&q->reply, "the label %s was left out: agents may not set it (agentLabels)",
                   label);
        json_remove(labels, label);
    }
}

/* ---- Nodes of users ---- */

/* "HOST-USER", "HOST.USER", or the same with the uid: the names of the site's
 * own nodes are not for users.
 */
static bool
carries_user(const struct request *q, const char *name)
{
    const char *uid = arena_printf(q->arena, "%u", (unsigned)q->principal->uid);
    const char *const ends[] = {q->principal->name, uid};
    size_t length = name != NULL ? strlen(name) : 0;

    for (unsigned i = 0; i < ARRAY_SIZE(ends); i++) {
        size_t n = strlen(ends[i]);

        if (length > n + 1 && strcmp(name + length - n, ends[i]) == 0
            && strchr("-.", name[length - n - 1]) != NULL)
            return true;
    }
    return false;
}

static bool
admit_users_node(struct request *q, struct json *tree)
{
    const struct policy *policy = q->server->policy;
    const char *name = json_path_text(tree, "metadata.name");
    int64_t most = policy->limits.per_user.nodes;

    if (!policy->allows_rootless_agents)
        return admission_refuse(q, tree, "NodeOwner",
                                "agents of ordinary users are not allowed on this cluster "
                                "(allowRootlessAgents: false)");
    if (!carries_user(q, name))
        return admission_refuse(
            q, tree, "NodeOwner",
            arena_printf(q->arena,
                         "a node of a user has a name that ends in '-%s' or '-%u'; start the "
                         "agent with --node-name %s-%s",
                         q->principal->name, (unsigned)q->principal->uid,
                         name != NULL ? name : "HOST", q->principal->name));
    if (most > 0 && user_counts_get(q->server->counts, q->principal->uid).nodes >= most)
        return admission_refuse(
            q, tree, "NodeOwner",
            arena_printf(q->arena,
                         "user %s has %" PRId64 " nodes already (limits.perUser.nodes); an "
                         "administrator removes those that are gone (kctl delete node)",
                         q->principal->name, most));
    sign(q, tree);
    json_set_string(q->arena, json_make_object(q->arena, json_get(tree, "metadata"), "labels"),
                    LABEL_ROOTLESS, arena_printf(q->arena, "%u", (unsigned)q->principal->uid));
    return true;
}

/* An agent creates and changes only its own node. The node of a rootless agent
 * records its user. With approval required, a new node takes no pods until it
 * is approved.
 */
bool
node_owner_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    struct json *taints, *taint;

    if (!own_name_admit(q, tree, old_object))
        return false;
    if (old_object != NULL || q->principal->type == PRINCIPAL_ADMINISTRATOR
        || q->principal->type == PRINCIPAL_LIFECYCLE)
        return true;
    limit_own_words(q, tree);
    if ((q->principal->type == PRINCIPAL_USER || q->principal->type == PRINCIPAL_OPERATOR)
        && !admit_users_node(q, tree))
        return false;
    if (!q->server->policy->must_approve_nodes)
        return true;
    taints = json_get_path(tree, "spec.taints");
    if (!json_is(taints, JSON_ARRAY)) {
        taints = json_array(q->arena);
        json_set(q->arena, json_make_object(q->arena, tree, "spec"), "taints", taints);
    }
    taint = json_object(q->arena);
    json_set_string(q->arena, taint, "key", TAINT_NOT_APPROVED);
    json_set_string(q->arena, taint, "effect", "NoSchedule");
    json_append(q->arena, taints, taint);
    return true;
}
