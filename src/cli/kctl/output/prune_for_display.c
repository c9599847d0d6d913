/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/prune_for_display.h"

#include <string.h>

#include "lib/base/macro.h"
#include "lib/json/json.h"

/* Members removed at any depth if they have this value; NULL matches any value.
 */
static const struct {
    const char *name;
    const char *value;
} quiet[] = {
    {"completionMode", "NonIndexed"},
    {"containerStatuses", NULL}, /* the summary contains it */
    {"dnsPolicy", "ClusterFirst"},
    {"imageID", ""},
    {"imagePullPolicy", NULL},
    {"managedFields", NULL},
    {"manualSelector", NULL},
    {"podReplacementPolicy", "TerminatingOrFailed"},
    {"preemptionPolicy", "PreemptLowerPriority"},
    {"schedulerName", "default-scheduler"},
    {"selector", NULL},
    {"enableServiceLinks", NULL},
    {"terminationMessagePath", NULL},
    {"terminationMessagePolicy", NULL},
    {"daemonEndpoints", NULL},
    {"topology", NULL}, /* kctl topology draws it */
    {"qosClass", NULL},
};

/* Labels and annotations by which components of Kiln link objects. */
static const char *const ties[] = {
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "controller-uid",
    "job-name",
    "kiln.hpc/attempt",
    "kiln.hpc/eligible-at",
    "kiln.hpc/environment",
    "kiln.hpc/job-id",
    "kiln.hpc/job-name",
    "kiln.hpc/repels",
    "kiln.hpc/script",
    "kiln.hpc/submission-digest",
    "kiln.hpc/submission-key",
    "kiln.hpc/submitter-uid",
    "kiln.hpc/uid",
    "kiln.hpc/user",
};

static bool
is_quiet(const struct json_member *member)
{
    for (size_t i = 0; i < ARRAY_SIZE(quiet); i++) {
        const char *text = json_text(member->value);

        if (strcmp(member->name, quiet[i].name) == 0
            && (quiet[i].value == NULL || (text != NULL && strcmp(text, quiet[i].value) == 0)))
            return true;
    }
    return false;
}

static void
remove_ties(struct json *metadata)
{
    static const char *const maps[] = {"labels", "annotations"};

    for (size_t m = 0; m < ARRAY_SIZE(maps); m++)
        for (size_t i = 0; i < ARRAY_SIZE(ties); i++)
            json_remove(json_get(metadata, maps[m]), ties[i]);
}

/* Whether users choose the keys of this map. */
static bool
is_data(const char *name)
{
    static const char *const maps[] = {"annotations", "data", "labels", "matchLabels",
                                       "nodeSelector"};

    for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
        if (strcmp(name, maps[i]) == 0)
            return true;
    return false;
}

static void
remove_quiet(struct json *value)
{
    uint32_t i = 0;

    if (json_is(value, JSON_ARRAY))
        for (uint32_t k = 0; k < json_count(value); k++)
            remove_quiet(json_at(value, k));
    while (json_is(value, JSON_OBJECT) && i < json_count(value)) {
        struct json_member *m = &value->members[i];

        if (is_quiet(m)) {
            json_remove(value, m->name);
            continue;
        }
        if (!is_data(m->name))
            remove_quiet(m->value);
        i++;
    }
}

void
prune_for_display(struct json *object)
{
    static const char *const pods[] = {"spec", "spec.template.spec"};

    remove_ties(json_get(object, "metadata"));
    remove_ties(json_get_path(object, "spec.template.metadata"));
    /* usually those of the shell */
    for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
        json_remove(json_get(json_get_path(object, pods[i]), "execution"), "limits");
    remove_quiet(object);
}
