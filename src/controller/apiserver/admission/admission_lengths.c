/* SPDX-License-Identifier: Apache-2.0 */
/* admission_lengths.c - limits the lengths of an object's lists, and the bytes of the pods of
 * one attempt of a job of several nodes
 *
 * Upstream bounds most of them only by the size of a request. Scheduler and
 * agents read those of a pod again and again, for each node and in each report,
 * so one pod with ten thousand tolerations would slow down everybody.
 */
#include <inttypes.h>
#include <stdint.h>

#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/request.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* The pods of an attempt are created by one transaction in one turn of the loop, while
 * everybody else waits, and each has a copy of the template.
 */
#define ATTEMPT_BYTES (INT64_C(64) << 20)

struct length {
    const char *path;
    uint32_t most;
};

static const struct length of_metadata[] = {
    {"annotations", 4096},
    {"finalizers", 64},
    {"labels", 1024},
    {"ownerReferences", 64},
};

static const struct length of_spec[] = {
    {"containers", 128},
    {"hostAliases", 1024},
    {"imagePullSecrets", 256},
    {"initContainers", 128},
    {"nodeSelector", 256},
    {"overhead", 64},
    {"readinessGates", 64},
    {"resourceClaims", 256},
    {"schedulingGates", 64},
    {"tolerations", 256},
    {"topologySpreadConstraints", 64},
    {"volumes", 1024},
};

static const struct length of_container[] = {
    {"env", 4096},
    {"envFrom", 256},
    {"ports", 1024},
    {"resources.claims", 256},
    {"resources.limits", 64},
    {"resources.requests", 64},
    {"volumeDevices", 1024},
    {"volumeMounts", 1024},
};

/* The lists of an object, new and old. */
struct lists {
    struct request *q;
    const struct json *tree, *old_tree;
    const struct json *spec, *old_spec;
    bool tells; /* make the reply for a list that is too long */
};

/* A longer list that an earlier release has accepted may remain. */
static bool
check(const struct lists *l, const struct length *lengths, size_t n, const char *where,
      const struct json *is, const struct json *was)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t count = json_count(json_get_path(is, lengths[i].path));

        if (count <= lengths[i].most || count <= json_count(json_get_path(was, lengths[i].path)))
            continue;
        if (l->tells)
            reply_forbidden(&l->q->reply, l->q->route.kind,
                            json_path_text(l->tree, "metadata.name"),
                            "ListLengths: %s.%s has %" PRIu32 " items, but "
                            "the limit is %" PRIu32,
                            where, lengths[i].path, count, lengths[i].most);
        return false;
    }
    return true;
}

static bool
check_containers(const struct lists *l, const char *name)
{
    const struct json *is = json_get(l->spec, name);
    const struct json *was = json_get(l->old_spec, name);

    for (uint32_t i = 0; i < json_count(is); i++)
        if (!check(l, of_container, ARRAY_SIZE(of_container),
                   l->tells ? arena_printf(l->q->arena, "%s[%" PRIu32 "]", name, i) : name,
                   json_at(is, i), json_at(was, i)))
            return false;
    return true;
}

static bool
check_all(const struct lists *l)
{
    return check(l, of_metadata, ARRAY_SIZE(of_metadata), "metadata", json_get(l->tree, "metadata"),
                 json_get(l->old_tree, "metadata"))
           && check(l, of_spec, ARRAY_SIZE(of_spec), "spec", l->spec, l->old_spec)
           && check_containers(l, "containers") && check_containers(l, "initContainers");
}

bool
list_lengths_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    struct lists l = {
        .q = q,
        .tree = tree,
        .spec = admission_pod_spec(q, tree),
    };
    struct json *old_tree;

    if (check_all(&l))
        return true;
    l.tells = true;
    if (old_object != NULL) {
        /* The cast is safe: the tree is only read. */
        old_tree = (struct json *)(uintptr_t)request_old_tree(q, old_object);
        l.old_tree = old_tree;
        l.old_spec = admission_pod_spec(q, old_tree);
    }
    return check_all(&l);
}

/* 0: its pods are created one by one. */
static int64_t
count_attempt_bytes(const struct json *tree, int64_t *ret_pods)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct json *spec = json_get(tree, "spec");
    int64_t bytes;

    *ret_pods = json_get_int(spec, "parallelism", 1);
    if (*ret_pods < 1 || json_get_path(spec, "template.spec.execution.runs") == NULL)
        return 0;
    json_print(json_get(spec, "template"), &text);
    return __builtin_mul_overflow((int64_t)text.length, *ret_pods, &bytes) ? INT64_MAX : bytes;
}

bool
attempt_bytes_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    int64_t pods, before = 0;
    const int64_t bytes =
        q->route.subresource == SUBRESOURCE_NONE ? count_attempt_bytes(tree, &pods) : 0;

    if (bytes <= ATTEMPT_BYTES)
        return true;
    if (old_object != NULL) /* of an earlier release */
        before = count_attempt_bytes(request_old_tree(q, old_object), &pods);
    if (bytes <= before)
        return true;
    reply_forbidden(&q->reply, q->route.kind, json_path_text(tree, "metadata.name"),
                    "AttemptBytes: the pods of an attempt are created together, and %" PRId64
                    " copies of spec.template have %" PRId64 " MiB, but the limit is %" PRId64
                    "; keep large values out of the template (spec.environment and spec.script are "
                    "stored once)",
                    json_get_int(json_get(tree, "spec"), "parallelism", 1), bytes >> 20,
                    ATTEMPT_BYTES >> 20);
    return false;
}
