/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/slurm_cluster.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/connect/client_settings.h"
#include "cli/kctl/client/kctl.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm_tables/job_choice.h"
#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

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

/* "normal,low,urgent"; *ret_offered has those that users can have. NULL: the controller did not
 * answer.
 */
static const char *
list_qos(struct slurm_client *client, const char **ret_offered)
{
    const struct target_object all = {.kind = &priority_class_kind};
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf offered = STRBUF_INIT;
    struct json *classes = NULL;

    if (kctl_open(&client->kctl, NULL) < 0
        || kctl_list(&client->kctl, &all, NULL, NULL, client->arena, &classes, NULL) < 0)
        return NULL;
    strbuf_add_text(&names, "normal");
    strbuf_add_text(&offered, "normal");
    for (uint32_t i = 0; i < json_count(classes); i++) {
        const char *name = json_path_text(json_at(classes, i), "metadata.name");

        strbuf_printf(&names, ",%s", name);
        if (strncmp(name, "system-", 7) != 0)
            strbuf_printf(&offered, ",%s", name);
    }
    *ret_offered = arena_strdup(client->arena, offered.text);
    return arena_strdup(client->arena, names.text);
}

bool
slurm_cluster_has_qos(struct slurm_client *client, const char *list)
{
    const char *known = "normal", *offered = known;
    bool has_asked = false;

    for (size_t length; list != NULL && *list != '\0'; list += length + (list[length] == ',')) {
        const char *name;

        length = strcspn(list, ",");
        name = arena_strndup(client->arena, list, length);
        if (length == 0 || name_list_has(known, name))
            continue;
        if (!has_asked)
            known = list_qos(client, &offered);
        has_asked = true;
        if (known == NULL)
            return true;
        if (name_list_has(known, name))
            continue;
        slurm_client_error(client, "You gave a bad qos '%s'. Valid QOS's are %s", name, offered);
        return false;
    }
    return true;
}
