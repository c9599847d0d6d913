/* SPDX-License-Identifier: Apache-2.0 */
/* The rules stand in one table, in the order in which they run, because later ones rely on
 * earlier ones: a name before what counts names, defaults before limits, and quotas at the
 * end, since an object that another rule of creation refuses must not be charged. Each rule
 * has a name, which a refusal carries, so that an administrator finds it in the manual. Rules
 * of upstream are told from Kiln's by a flag; under --conformance only the former run.
 */
#include "controller/apiserver/admission/admission.h"

#include <stddef.h>
#include <string.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/objects/content.h"
#include "controller/apiserver/objects/node_record.h"
#include "controller/apiserver/request/api_profile.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

enum {
    ON_CREATE = 1 << 0,
    ON_UPDATE = 1 << 1,
    ON_DELETE = 1 << 2,
    KILN = 1 << 3, /* Kiln's own: not run for conformance */
};

#define ANY_KIND   NULL
#define NAMES_TOLD 200u /* bytes */

static const struct admission_rule {
    const char *name;
    const struct kind *kind;
    unsigned when;
    admission_rule_fn *admit;
} rules[] = {
    {"NamespaceLifecycle", ANY_KIND, ON_CREATE, namespace_lifecycle_admit},
    {"NamespaceLifecycle", &namespace_kind, ON_DELETE, namespace_deletion_admit},
    {"AccountName", &namespace_kind, ON_CREATE | ON_UPDATE | KILN, account_name_admit},
    {"AccountName", &pod_kind, ON_CREATE | ON_UPDATE | KILN, account_copy_admit},
    {"AccountName", &job_kind, ON_CREATE | ON_UPDATE | KILN, account_copy_admit},
    {"ListLengths", ANY_KIND, ON_CREATE | ON_UPDATE | KILN, list_lengths_admit},
    {"AttemptBytes", &job_kind, ON_CREATE | ON_UPDATE | KILN, attempt_bytes_admit},
    {"Owner", &pod_kind, ON_CREATE | ON_UPDATE | KILN, owner_admit},
    {"Owner", &job_kind, ON_CREATE | ON_UPDATE | KILN, owner_admit},
    {"Owner", &cron_job_kind, ON_CREATE | ON_UPDATE | KILN, owner_admit},
    {"RootJobs", &pod_kind, ON_CREATE | ON_UPDATE | KILN, root_pods_admit},
    {"RootJobs", &job_kind, ON_CREATE | ON_UPDATE | KILN, root_jobs_admit},
    {"RootJobs", &cron_job_kind, ON_CREATE | ON_UPDATE | KILN, root_jobs_admit},
    {"Placing", &pod_kind, ON_CREATE | KILN, placing_admit},
    {"Placing", &job_kind, ON_CREATE | ON_UPDATE | KILN, placing_admit},
    {"Placing", &cron_job_kind, ON_CREATE | ON_UPDATE | KILN, placing_admit},
    {"JobName", ANY_KIND, ON_CREATE | KILN, job_name_admit},
    {"Mail", &job_kind, ON_CREATE | ON_UPDATE | KILN, mail_admit},
    {"JobPod", &pod_kind, ON_CREATE | ON_UPDATE | KILN, job_pod_admit},
    {"MemberObject", &config_map_kind, ON_CREATE | ON_UPDATE | KILN, member_object_admit},
    {"MemberObject", &lease_kind, ON_CREATE | ON_UPDATE | KILN, member_object_admit},
    {"MemberObject", &pod_group_kind, ON_CREATE | ON_UPDATE | KILN, member_object_admit},
    {"MemberObject", &event_kind, ON_CREATE | ON_UPDATE | KILN, member_object_admit},
    {"MemberObject", &events_event_kind, ON_CREATE | ON_UPDATE | KILN, member_object_admit},
    {"EventOwner", &event_kind, ON_CREATE | ON_UPDATE | KILN, event_admit},
    {"EventOwner", &events_event_kind, ON_CREATE | ON_UPDATE | KILN, event_admit},
    {"PreemptionMode", &priority_class_kind, ON_CREATE | ON_UPDATE | KILN, preemption_mode_admit},
    {"OwnerReferences", ANY_KIND, ON_CREATE | ON_UPDATE | KILN, owner_references_admit},
    {"AffinityTerms", &pod_kind, ON_CREATE | KILN, affinity_terms_admit},
    {"AffinityTerms", &job_kind, ON_CREATE | ON_UPDATE | KILN, affinity_terms_admit},
    {"Repelling", &pod_kind, ON_CREATE | ON_UPDATE | KILN, repelling_admit},
    {"Repelling", &job_kind, ON_CREATE | ON_UPDATE | KILN, repelling_admit},
    {"Tolerations", &pod_kind, ON_CREATE | ON_UPDATE | KILN, tolerations_admit},
    {"Tolerations", &job_kind, ON_CREATE | ON_UPDATE | KILN, tolerations_admit},
    {"Array", &job_kind, ON_CREATE | ON_UPDATE | KILN, array_admit},
    {"Freeze", &job_kind, ON_CREATE | ON_UPDATE | KILN, freeze_admit},
    {"Yield", &pod_kind, ON_CREATE | ON_UPDATE | KILN, yield_admit},
    {"HeldJob", &job_kind, ON_CREATE | ON_UPDATE | KILN, held_job_admit},
    {"Dependencies", &job_kind, ON_CREATE | ON_UPDATE | KILN, dependencies_admit},
    {"Signature", &node_kind, ON_CREATE | ON_UPDATE | KILN, signature_admit},
    {"Signature", &job_kind, ON_CREATE | ON_UPDATE | KILN, job_signature_admit},
    {"Signature", &pod_kind, ON_CREATE | ON_UPDATE | KILN, signature_admit},
    {"EligibleTime", &pod_kind, ON_CREATE | ON_UPDATE | KILN, pod_eligible_time_admit},
    {"EligibleTime", &job_kind, ON_CREATE | ON_UPDATE | KILN, job_eligible_time_admit},
    {"Process", &pod_kind, ON_CREATE | ON_UPDATE | KILN, pod_process_admit},
    {"Process", &job_kind, ON_CREATE | ON_UPDATE | KILN, process_admit},
    {"Process", &cron_job_kind, ON_CREATE | ON_UPDATE | KILN, process_admit},
    {"UserLimits", ANY_KIND, ON_CREATE | ON_UPDATE | KILN, user_limits_admit},
    {"PartitionDefaults", &pod_kind, ON_CREATE | ON_UPDATE | KILN, partition_defaults_admit},
    {"PartitionDefaults", &job_kind, ON_CREATE | ON_UPDATE | KILN, partition_defaults_admit},
    {"MaximumTime", &pod_kind, ON_CREATE | ON_UPDATE | KILN, maximum_time_admit},
    {"MaximumTime", &job_kind, ON_CREATE | ON_UPDATE | KILN, maximum_time_admit},
    {"MaximumGrace", &pod_kind, ON_CREATE | ON_UPDATE | KILN, maximum_grace_admit},
    {"MaximumGrace", &job_kind, ON_CREATE | ON_UPDATE | KILN, maximum_grace_admit},
    {"MaximumGrace", &pod_kind, ON_DELETE | KILN, delete_grace_admit},
    {"PidsPerPod", &pod_kind, ON_CREATE | ON_UPDATE | KILN, pids_admit},
    {"PidsPerPod", &job_kind, ON_CREATE | ON_UPDATE | KILN, pids_admit},
    {"DefaultMemory", &pod_kind, ON_CREATE | KILN, default_memory_admit},
    {"DefaultMemory", &job_kind, ON_CREATE | ON_UPDATE | KILN, default_memory_admit},
    {"Partition", &pod_kind, ON_CREATE | ON_UPDATE | KILN, partition_admit},
    {"Partition", &job_kind, ON_CREATE | ON_UPDATE | KILN, partition_admit},
    {"Reservation", &pod_kind, ON_CREATE | ON_UPDATE | KILN, reservation_admit},
    {"Reservation", &job_kind, ON_CREATE | ON_UPDATE | KILN, reservation_admit},
    {"KnownNames", &namespace_kind, ON_CREATE | ON_UPDATE | KILN, known_members_admit},
    {"KnownNames", &priority_class_kind, ON_CREATE | ON_UPDATE | KILN, known_members_admit},
    {"Deadline", &job_kind, ON_CREATE | ON_UPDATE | KILN, deadline_admit},
    {"Schedule", &cron_job_kind, ON_CREATE | ON_UPDATE | KILN, schedule_admit},
    {"JobContent", &job_kind, ON_CREATE | ON_UPDATE | KILN, content_admit},
    {"JobContent", &cron_job_kind, ON_CREATE | ON_UPDATE | KILN, content_admit},
    {"Qos", &job_kind, ON_CREATE | KILN, qos_admit},
    {"SystemPriority", &job_kind, ON_CREATE | ON_UPDATE | KILN, system_class_admit},
    {"SystemPriority", &pod_kind, ON_CREATE | KILN, system_class_admit},
    {"PriorityClassUse", &job_kind, ON_CREATE | ON_UPDATE | KILN, class_use_admit},
    {"PriorityClassUse", &pod_kind, ON_CREATE | KILN, class_use_admit},
    {"PriorityClassUse", &pod_kind, ON_UPDATE | KILN, class_mark_admit},
    {"JobUpdate", &pod_kind, ON_UPDATE | KILN, pod_update_admit},
    {"Priority", &pod_kind, ON_CREATE | ON_UPDATE, priority_admit},
    {"Priority", &job_kind, ON_CREATE | ON_UPDATE | KILN, job_priority_admit},
    {"Requeue", &job_kind, ON_UPDATE | KILN, requeue_admit},
    {"JobUpdate", &job_kind, ON_UPDATE | KILN, job_update_admit},
    {"Priority", &priority_class_kind, ON_CREATE | ON_UPDATE | ON_DELETE, default_class_admit},
    {"DefaultTolerationSeconds", &pod_kind, ON_CREATE | ON_UPDATE, default_tolerations_admit},
    {"TaintNodesByCondition", &node_kind, ON_CREATE, taint_new_node_admit},
    {"StorageObjectInUseProtection", &persistent_volume_kind, ON_CREATE, volume_in_use_admit},
    {"StorageObjectInUseProtection", &persistent_volume_claim_kind, ON_CREATE, claim_in_use_admit},
    {"ClaimOwner", &persistent_volume_claim_kind, ON_CREATE | ON_UPDATE | KILN, claim_owner_admit},
    {"DefaultStorageClass", &persistent_volume_claim_kind, ON_CREATE, default_storage_admit},
    {"NodeOwner", &lease_kind, ON_CREATE | KILN, own_name_admit},
    {"NodeOwner", &node_kind, ON_CREATE | ON_UPDATE | KILN, node_owner_admit},
    {"NodeRecord", &node_kind, ON_CREATE | KILN, node_record_admit},
    {"NodeInUse", &node_kind, ON_DELETE | KILN, node_in_use_admit},
    {"Impossible", &job_kind, ON_CREATE | ON_UPDATE | KILN, impossible_job_admit},
    {"Impossible", &cron_job_kind, ON_CREATE | ON_UPDATE | KILN, impossible_cron_job_admit},
    {"Impossible", &pod_kind, ON_CREATE | KILN, impossible_pod_admit},
    {"Allocation", &pod_kind, ON_UPDATE, allocation_admit},
    {"ResourceQuota", ANY_KIND, ON_CREATE, quota_admit},
    {"ResourceQuota", &pod_kind, ON_UPDATE | KILN, quota_update_admit},
    {"FinishedPod", &pod_kind, ON_UPDATE | KILN, finished_pod_admit},
};

static bool
run(struct request *q, unsigned when, struct json *tree, const struct object *old_object)
{
    const bool has_additions = q->server->profile->has_additions;

    for (unsigned i = 0; i < ARRAY_SIZE(rules); i++) {
        const struct admission_rule *rule = &rules[i];

        if (!(rule->when & when) || (rule->when & KILN && !has_additions)
            || (rule->kind != ANY_KIND && rule->kind != q->route.kind))
            continue;
        if (!rule->admit(q, tree, old_object))
            return false;
    }
    return true;
}

/* The rules that only this kind has. */
static bool
run_own(struct request *q, struct json *tree, const struct object *old_object)
{
    const struct kind_hooks *hooks = kind_hooks_of_route(q);

    return hooks->admit == NULL || hooks->admit(q, tree, old_object);
}

bool
admission_create(struct request *q, struct json *tree)
{
    return run(q, ON_CREATE, tree, NULL) && run_own(q, tree, NULL);
}

bool
admission_update(struct request *q, struct json *tree, const struct object *old_object)
{
    return run(q, ON_UPDATE, tree, old_object) && run_own(q, tree, old_object);
}

bool
admission_delete(struct request *q, const struct object *old_object)
{
    return run(q, ON_DELETE, NULL, old_object);
}

void
admission_note_uids(struct request *q, struct json *tree, const char *annotation, const char *uids)
{
    struct json *meta = json_make_object(q->arena, tree, "metadata");
    const char *is = json_get_text(json_get(meta, "annotations"), annotation);

    if (uids == NULL && json_get(json_get(meta, "annotations"), annotation) != NULL)
        json_remove(json_get(meta, "annotations"), annotation);
    else if (uids != NULL && (is == NULL || strcmp(is, uids) != 0))
        json_set_string(q->arena, json_make_object(q->arena, meta, "annotations"), annotation,
                        uids);
}

bool
admission_keep_uids(struct request *q, struct json *tree, const char *annotation,
                    const struct object *old_object)
{
    const char *was = string_map_find(&old_object->meta->annotations, annotation);

    if (was != NULL && json_get(json_get_path(tree, "metadata.annotations"), annotation) == NULL)
        return false;
    admission_note_uids(q, tree, annotation, was);
    return true;
}

struct json *
admission_pod_spec(const struct request *q, struct json *tree)
{
    const char *path = q->route.kind->pod_spec;

    return path != NULL ? json_get_path(tree, path) : NULL;
}

struct json *
admission_pod(const struct request *q, struct json *tree)
{
    const char *path = q->route.kind->pod_spec;
    const char *last = path != NULL ? strrchr(path, '.') : NULL;

    if (path == NULL || last == NULL)
        return path != NULL ? tree : NULL;
    return json_get_path(tree, arena_printf(q->arena, "%.*s", (int)(last - path), path));
}

const struct json *
admission_old_pod_spec(struct request *q, const struct object *old_object)
{
    const char *path = q->route.kind->pod_spec;

    return path != NULL ? json_get_path(request_old_tree(q, old_object), path) : NULL;
}

static bool
add_name(const struct object *object, void *context)
{
    struct strbuf *out = context;

    if (out->length > NAMES_TOLD) {
        strbuf_add_text(out, ", ...");
        return false;
    }
    strbuf_printf(out, "%s%s", out->length > 0 ? ", " : "", object->meta->name);
    return true;
}

const char *
admission_list_names(struct request *q, const struct kind *kind)
{
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT;

    store_list(q->server->store, kind, NULL, NULL, 0, add_name, &names);
    return arena_strdup(q->arena, names.length > 0 ? names.text : "none");
}

bool
admission_allows_account(const char *const *accounts, unsigned count, const char *account)
{
    for (unsigned i = 0; i < count; i++)
        if (account != NULL && strcmp(accounts[i], account) == 0)
            return true;
    return count == 0;
}

bool
admission_refuse(struct request *q, const struct json *tree, const char *rule, const char *why)
{
    reply_forbidden(&q->reply, q->route.kind, json_path_text(tree, "metadata.name"), "%s: %s", rule,
                    why);
    return false;
}
