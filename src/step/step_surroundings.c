/* SPDX-License-Identifier: Apache-2.0 */
#include "step/step_surroundings.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/api/node/gpu_vendor.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_environment.h"
#include "lib/step/step_request.h"

#define ENVIRONMENT_MOST (4u << 20)

/* Names, and beginnings of names that end in an underscore; the lists of GPUs, too. */
static const char *const of_node[] = {
    "KILN_POD_NAME",
    "KILN_POD_UID",
    "KILN_NODE_NAME",
    "KILN_STEP_SOCKET",
    "KILN_CPUS",
    "KILN_CPUS_ON_NODE",
    "KILN_MEMORY_NODES",
    "KILN_DEVICES",
    "KILN_VOLUME_",
    "KILN_HOSTFILE",
    "OMPI_MCA_orte_default_hostfile",
    "HYDRA_HOST_FILE",
    "SLURM_JOB_GPUS",
    "SLURM_GPUS_ON_NODE",
};

static bool
is_of_node(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(of_node); i++) {
        const size_t length = strlen(of_node[i]);

        if (strncmp(name, of_node[i], length) == 0
            && (name[length] == '\0' || of_node[i][length - 1] == '_'))
            return true;
    }
    return gpu_vendor_of_list(name) != NULL;
}

/* A directory that the user has chosen is on all nodes; the job's own is on one. */
static bool
needs_own_directory(const struct step_request *q)
{
    const char *chosen = step_request_variable(q, "TMPDIR");

    return chosen == NULL || access(chosen, W_OK) < 0;
}

void
step_surroundings_add(struct arena *arena, pid_t job, const struct step_request *q,
                      struct step_environment *e)
{
    CLEANUP_FREE char *path = xasprintf("/proc/%d/environ", (int)job);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (file_read(path, ENVIRONMENT_MOST, &text, NULL) < 0)
        return;
    for (const char *at = text.text; at < text.text + text.length; at += strlen(at) + 1) {
        const char *equals = strchr(at, '=');
        char *name;

        if (equals == NULL)
            continue;
        name = arena_strndup(arena, at, (size_t)(equals - at));
        if (is_of_node(name) || (strcmp(name, "TMPDIR") == 0 && needs_own_directory(q)))
            step_environment_set(e, name, equals + 1);
    }
}
