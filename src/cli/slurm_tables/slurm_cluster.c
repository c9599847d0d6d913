/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/slurm_cluster.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/connect/client_settings.h"
#include "cli/slurm/slurm_client.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"

#define USUAL_NAME "kiln" /* as that of the daemons */

const char *
slurm_cluster_name(void)
{
    static char *name;
    struct client_settings settings = {0};

    if (name != NULL)
        return name;
    if (client_settings_read(&settings, NULL) == 0 && settings.cluster != NULL
        && settings.cluster[0] != '\0')
        name = xstrdup(settings.cluster);
    client_settings_fini(&settings);
    if (name == NULL)
        name = xstrdup(USUAL_NAME);
    return name;
}

bool
slurm_cluster_is_this(const struct slurm_client *client, const char *list)
{
    const char *of_environment = getenv("SLURM_CLUSTERS");

    if (list == NULL)
        list = of_environment;
    for (size_t length; list != NULL && *list != '\0'; list += length + (list[length] == ',')) {
        const char *name;

        length = strcspn(list, ",");
        name = arena_strndup(client->arena, list, length);
        if (length == 0 || client_settings_check_clusters(name, NULL) == 0)
            continue;
        slurm_client_error(client, "No cluster '%s' known by database.", name);
        slurm_client_error(client,
                           "'%s' can't be reached now, or it is an invalid entry for "
                           "%s.  Use 'sacctmgr list clusters' to see available clusters.",
                           name, list == of_environment ? "SLURM_CLUSTERS" : "--cluster");
        return false;
    }
    return true;
}
