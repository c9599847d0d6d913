/* SPDX-License-Identifier: Apache-2.0 */
/* admission_process.c - a pod is one process of the host: fields of upstream
 * that ask for something else are refused, fields without effect cause a
 * warning
 */
#include <inttypes.h>
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

#define HOST_IMAGE "host"

struct field_rule {
    const char *path;
    const char *why;
};

static const struct field_rule refused_in_spec[] = {
    {"initContainers", "a pod is one process: do preparations in its script"},
    {"ephemeralContainers", "a pod is one process"},
    {"securityContext.supplementalGroups", "a process has the groups of its user on the node"},
    {"securityContext.fsGroup", "the group of a volume is never changed"},
    {"securityContext.sysctls", "kernel settings belong to the node"},
    {"runtimeClassName", "processes run directly on the host"},
};

static const struct field_rule refused_in_container[] = {
    {"envFrom", "list the variables in env"},
    {"lifecycle", "put hooks in the script"},
    {"securityContext.runAsUser", "set it for the whole pod"},
    {"securityContext.runAsGroup", "set it for the whole pod"},
    {"securityContext.privileged", "processes have their user's rights"},
    {"securityContext.capabilities", "processes have their user's rights"},
    {"volumeDevices", "block devices are not mapped"},
};

#define SAME_CONFINEMENT                              \
    "processes are confined by the node, like other " \
    "processes of the user"
#define SAME_NAMESPACES "processes run in the node's own namespaces"

/* A value of false causes no warning: it describes what happens anyway. */
static const struct field_rule warned_in_spec[] = {
    {"dnsConfig", "names are resolved as on the node"},
    {"hostAliases", "names are resolved as on the node"},
    {"hostname", "the host name is the node's"},
    {"imagePullSecrets", "there is no image to pull"},
    {"readinessGates", "a pod is ready when its process runs"},
    {"securityContext.appArmorProfile", SAME_CONFINEMENT},
    {"securityContext.seLinuxOptions", SAME_CONFINEMENT},
    {"securityContext.seccompProfile", SAME_CONFINEMENT},
    {"securityContext.supplementalGroupsPolicy",
     "a process has the groups of its user on the node"},
    {"securityContext.windowsOptions", "nodes run Linux"},
    {"serviceAccountName", "processes have their user's rights, and no token"},
    {"setHostnameAsFQDN", "the host name is the node's"},
    {"shareProcessNamespace", SAME_NAMESPACES},
    {"subdomain", "the host name is the node's"},
};

static const struct field_rule warned_in_container[] = {
    {"livenessProbe", "probes are not run"},
    {"readinessProbe", "probes are not run"},
    {"securityContext.appArmorProfile", SAME_CONFINEMENT},
    {"securityContext.procMount", SAME_NAMESPACES},
    {"securityContext.readOnlyRootFilesystem",
     "a process sees the node's own file systems, with its user's rights"},
    {"securityContext.seLinuxOptions", SAME_CONFINEMENT},
    {"securityContext.seccompProfile", SAME_CONFINEMENT},
    {"securityContext.windowsOptions", "nodes run Linux"},
    {"startupProbe", "probes are not run"},
    {"stdin", "jobs read the file execution.stdinPath, or nothing"},
    {"tty", "jobs have no terminal"},
};

static bool
refuse(struct request *q, const struct json *tree, const char *field, const char *why)
{
    reply_forbidden(&q->reply, q->route.kind, json_path_text(tree, "metadata.name"),
                    "Process: %s: %s", field, why);
    return false;
}

static bool
check_fields(struct request *q, const struct json *tree, const struct json *within,
             const struct field_rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (json_get_path(within, rules[i].path) != NULL)
            return refuse(q, tree, rules[i].path, rules[i].why);
    return true;
}

static bool
is_false(const struct json *value)
{
    return json_is(value, JSON_BOOL) && !json_is_true(value);
}

static void
warn_fields(struct request *q, const struct json *within, const struct field_rule *rules,
            size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (json_get_path(within, rules[i].path) != NULL
            && !is_false(json_get_path(within, rules[i].path)))
            reply_warn(&q->reply, "%s has no effect: %s", rules[i].path, rules[i].why);
}

/* Returns why the claim would be refused later, when nobody reads the error. */
static const char *
wrong_with_template(const struct json *volume)
{
    const struct json *claim = json_get_path(volume, "ephemeral.volumeClaimTemplate.spec");
    const char *mode = json_get_text(claim, "volumeMode");

    if (mode != NULL && strcmp(mode, "Block") == 0)
        return "block devices are not mapped; ask for Filesystem";
    return NULL;
}

static bool
check_volumes(struct request *q, const struct json *tree, const struct json *volumes)
{
    for (uint32_t i = 0; i < json_count(volumes); i++) {
        const struct json *volume = json_at(volumes, i);
        const char *why = wrong_with_template(volume);

        if (json_get(volume, "persistentVolumeClaim") == NULL
            && json_get(volume, "ephemeral") == NULL)
            why = "a process sees the node's own file systems; only "
                  "persistentVolumeClaim and ephemeral are provided";
        if (why != NULL)
            return refuse(q, tree, "volumes", why);
    }
    return true;
}

static bool
check_mounts(struct request *q, const struct json *tree, const struct json *mounts)
{
    static const struct field_rule refused[] = {
        {"subPath", "a volume is always mounted as a whole"},
        {"subPathExpr", "a volume is always mounted as a whole"},
        {"mountPropagation", "mounts are private to the pod"},
    };

    for (uint32_t i = 0; i < json_count(mounts); i++)
        if (!check_fields(q, tree, json_at(mounts, i), refused, ARRAY_SIZE(refused)))
            return false;
    return true;
}

static bool
check_env(struct request *q, const struct json *tree, const struct json *env)
{
    for (uint32_t i = 0; i < json_count(env); i++)
        if (json_get(json_at(env, i), "valueFrom") != NULL)
            return refuse(q, tree, "env.valueFrom", "list the variables in env");
    return true;
}

static bool
check_container(struct request *q, const struct json *tree, struct json *container)
{
    const char *image = json_get_text(container, "image");

    if (image == NULL || image[0] == '\0')
        json_set_string(q->arena, container, "image", HOST_IMAGE);
    else if (strcmp(image, HOST_IMAGE) != 0)
        return refuse(q, tree, "image",
                      "processes run on the host itself; the image must be "
                      "'host', or left out");
    warn_fields(q, container, warned_in_container, ARRAY_SIZE(warned_in_container));
    return check_env(q, tree, json_get(container, "env"))
           && check_mounts(q, tree, json_get(container, "volumeMounts"))
           && check_fields(q, tree, container, refused_in_container,
                           ARRAY_SIZE(refused_in_container));
}

/* hostUsers false asks for a user namespace, which Kiln does not create. */
static void
warn_namespaces(struct request *q, const struct json *spec)
{
    if (is_false(json_get(spec, "hostUsers")))
        reply_warn(&q->reply, "hostUsers has no effect: " SAME_NAMESPACES);
}

/* runAsNonRoot may be set for the pod or for its container. */
static bool
check_not_root(struct request *q, const struct json *tree, const struct json *spec)
{
    const struct json *of_pod = json_get(spec, "securityContext");
    const struct json *of_container =
        json_get(json_at(json_get(spec, "containers"), 0), "securityContext");

    if (json_get_int(of_pod, "runAsUser", -1) != 0
        || (!json_is_true(json_get(of_pod, "runAsNonRoot"))
            && !json_is_true(json_get(of_container, "runAsNonRoot"))))
        return true;
    return refuse(q, tree, "runAsNonRoot", "the pod would run as root");
}

/* Whether the update changes none of the fields that this rule checks. */
static bool
is_same_process(struct request *q, const struct json *spec, const struct object *old_object)
{
    static const char *const members[] = {
        "containers",          "dnsConfig",
        "ephemeralContainers", "hostAliases",
        "hostUsers",           "hostname",
        "imagePullSecrets",    "initContainers",
        "readinessGates",      "runtimeClassName",
        "securityContext",     "serviceAccountName",
        "setHostnameAsFQDN",   "shareProcessNamespace",
        "subdomain",           "volumes",
    };
    const struct json *old = admission_old_pod_spec(q, old_object);

    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const struct json *before = json_get(old, members[i]);
        const struct json *now = json_get(spec, members[i]);

        if (before != now && (before == NULL || now == NULL || !json_equals(before, now)))
            return false;
    }
    return true;
}

/* The time until another controller leads, with some for agents that wait longer. */
#define FENCE_SAFE_S 60

static void
warn_fence(struct request *q, const struct json *spec)
{
    int64_t fence_s = json_get_int(json_get(spec, "execution"), "fenceAfterSeconds", 0);

    if (fence_s > 0 && fence_s < FENCE_SAFE_S && store_is_in_database(q->server->store))
        reply_warn(&q->reply,
                   "fenceAfterSeconds is %" PRId64 ": if the controller's machine dies, the job "
                   "may end before another controller leads; %d or more is safe",
                   fence_s, FENCE_SAFE_S);
}

static bool
admit(struct request *q, struct json *tree, const struct object *old_object, bool starts_it_again)
{
    struct json *spec = admission_pod_spec(q, tree);
    struct json *containers = json_get(spec, "containers");
    const char *restart = json_get_text(spec, "restartPolicy");

    if (old_object != NULL
        && (q->route.subresource != SUBRESOURCE_NONE || is_same_process(q, spec, old_object)))
        return true;
    if (json_count(containers) > 1)
        return refuse(q, tree, "containers", "a pod is one process");
    if (restart != NULL && strcmp(restart, "Never") != 0 && !starts_it_again)
        reply_warn(&q->reply, "restartPolicy has no effect: a process is started once; "
                              "a Job starts it again");
    warn_fields(q, spec, warned_in_spec, ARRAY_SIZE(warned_in_spec));
    warn_namespaces(q, spec);
    warn_fence(q, spec);
    return (json_count(containers) == 0 || check_container(q, tree, json_at(containers, 0)))
           && check_not_root(q, tree, spec) && check_volumes(q, tree, json_get(spec, "volumes"))
           && check_fields(q, tree, spec, refused_in_spec, ARRAY_SIZE(refused_in_spec));
}

bool
process_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    return admit(q, tree, old_object, true);
}

/* Nothing starts the process of a pod without a Job again. */
bool
pod_process_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    return admit(q, tree, old_object, false);
}
