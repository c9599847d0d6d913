/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/slurm_cluster.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "cli/connect/client_settings.h"
#include "cli/slurm/slurm_client.h"
#include "lib/base/alloc.h"

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
    const char *own = slurm_cluster_name();

    for (size_t length; list != NULL && *list != '\0'; list += length + (list[length] == ',')) {
        length = strcspn(list, ",");
        if (length == 0 || (length == 3 && strncasecmp(list, "all", 3) == 0)
            || (strlen(own) == length && strncmp(own, list, length) == 0))
            continue;
        slurm_client_error(client, "No cluster '%.*s' known by database.", (int)length, list);
        slurm_client_error(client,
                           "'%.*s' can't be reached now, or it is an invalid entry for "
                           "--cluster.  Use 'sacctmgr list clusters' to see available clusters.",
                           (int)length, list);
        return false;
    }
    return true;
}
