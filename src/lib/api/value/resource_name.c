/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/resource_name.h"

#include <stdio.h>
#include <string.h>

#include "lib/api/value/name.h"

static bool
starts_with(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool
is_among(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static const char *const compute[] = {
    "cpu",
    "memory",
    "ephemeral-storage",
    NULL,
};

static const char *const of_quotas[] = {
    "requests.cpu",  "requests.memory",          "requests.ephemeral-storage", "limits.cpu",
    "limits.memory", "limits.ephemeral-storage", "requests.storage",           NULL,
};

static const char *const counted[] = {
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
    NULL,
};

bool
resource_name_is_native(const char *name)
{
    return strchr(name, '/') == NULL || strstr(name, "kubernetes.io/") != NULL;
}

bool
resource_name_is_extended(const char *name)
{
    char quota[512];

    if (resource_name_is_native(name) || starts_with(name, "requests."))
        return false;
    snprintf(quota, sizeof(quota), "requests.%s", name);
    return name_is_valid(NAME_QUALIFIED, quota);
}

bool
resource_name_is_hugepages(const char *name)
{
    return starts_with(name, "hugepages-");
}

bool
resource_name_is_for_containers(const char *name)
{
    return is_among(name, compute) || resource_name_is_hugepages(name);
}

bool
resource_name_is_for_quotas(const char *name)
{
    return is_among(name, compute) || is_among(name, of_quotas) || is_among(name, counted)
           || resource_name_is_hugepages(name) || starts_with(name, "requests.hugepages-")
           || starts_with(name, "count/");
}

bool
resource_name_is_standard(const char *name)
{
    return is_among(name, compute) || is_among(name, of_quotas) || is_among(name, counted)
           || strcmp(name, "storage") == 0 || resource_name_is_hugepages(name)
           || starts_with(name, "requests.hugepages-");
}

bool
resource_name_is_counted(const char *name)
{
    return is_among(name, counted) || resource_name_is_extended(name);
}

bool
resource_name_may_overcommit(const char *name)
{
    return resource_name_is_native(name) && !resource_name_is_hugepages(name);
}
