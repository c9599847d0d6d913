/* SPDX-License-Identifier: Apache-2.0 */
/* registry.c - every kind of object, on one screen */
#include <string.h>
#include <strings.h>

#include "lib/api/object/kind.h"
#include "lib/base/macro.h"

/* Sorted by group, in the order of discovery. */
const struct kind *const kinds[] = {
    &config_map_kind,
    &event_kind,
    &namespace_kind,
    &node_kind,
    &persistent_volume_claim_kind,
    &persistent_volume_kind,
    &pod_kind,
    &pod_template_kind,
    &resource_quota_kind,
    &events_event_kind,
    &cron_job_kind,
    &job_kind,
    &pod_disruption_budget_kind,
    &storage_class_kind,
    &priority_class_kind,
    &pod_group_kind,
    &lease_kind,
    &partition_kind,
    &reservation_kind,
};
const unsigned n_kinds = ARRAY_SIZE(kinds);

const struct kind *const answered_kinds[] = {
    &self_subject_review_kind,
    &self_subject_access_review_kind,
    &self_subject_rules_review_kind,
};
const unsigned n_answered_kinds = ARRAY_SIZE(answered_kinds);

const struct kind *const measured_kinds[] = {
    &node_metrics_kind,
    &pod_metrics_kind,
};
const unsigned n_measured_kinds = ARRAY_SIZE(measured_kinds);

/* The list is short and fixed: comparing the first letter first is faster than
 * any hash.
 */
static bool
same(const char *a, const char *b)
{
    return a[0] == b[0] && strcmp(a, b) == 0;
}

static const struct kind *
find_in(const struct kind *const *list, unsigned n, const char *group, const char *version,
        const char *plural)
{
    for (unsigned i = 0; i < n; i++)
        if (same(list[i]->plural, plural) && same(list[i]->group, group)
            && same(list[i]->version, version))
            return list[i];
    return NULL;
}

const struct kind *
kind_find(const char *group, const char *version, const char *plural)
{
    const struct kind *kind = find_in(kinds, n_kinds, group, version, plural);

    if (kind == NULL)
        kind = find_in(answered_kinds, n_answered_kinds, group, version, plural);
    if (kind == NULL)
        kind = find_in(measured_kinds, n_measured_kinds, group, version, plural);
    return kind;
}

const struct kind *
kind_find_by_name(const char *api_version, const char *name)
{
    for (unsigned i = 0; i < n_kinds; i++)
        if (same(kinds[i]->name, name) && same(kinds[i]->api_version, api_version))
            return kinds[i];
    return NULL;
}

static bool
is_called(const struct kind *kind, const char *name, size_t length)
{
    const char *const names[] = {kind->plural, kind->singular, kind->name};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strncasecmp(names[i], name, length) == 0 && names[i][length] == '\0')
            return true;
    for (const char *const *s = kind->short_names; s && *s; s++)
        if (strncasecmp(*s, name, length) == 0 && (*s)[length] == '\0')
            return true;
    return false;
}

/* "batch", "batch/v1" and "v1.batch" all mean the group batch. */
static bool
is_of_group(const struct kind *kind, const char *group)
{
    size_t n = strlen(kind->version);

    if (strncasecmp(group, kind->version, n) == 0 && group[n] == '.')
        group += n + 1;
    return strcasecmp(kind->group, group) == 0;
}

const struct kind *
kind_find_any_name(const char *name)
{
    size_t length = strcspn(name, ".");

    if (length == 0)
        return NULL;
    for (unsigned i = 0; i < n_kinds; i++)
        if (is_called(kinds[i], name, length)
            && (name[length] == '\0' || is_of_group(kinds[i], name + length + 1)))
            return kinds[i];
    return NULL;
}
