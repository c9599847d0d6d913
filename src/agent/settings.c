/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/settings.h"

#include <stdlib.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/program/program.h"

#define TEXT(long_name, field, arg, words)                                     \
    {                                                                          \
        .name = long_name, .argument = arg, .help = words,                     \
        .type = OPTION_TEXT, .offset = offsetof(struct agent_settings, field), \
    }
#define FLAG(long_name, field, words)                          \
    {                                                          \
        .name = long_name, .help = words, .type = OPTION_FLAG, \
        .offset = offsetof(struct agent_settings, field),      \
    }

static const struct option_spec options[] = {
    TEXT("controller",
         controller,
         "URL",
         "the API: http://HOST:PORT, or http+unix:///PATH on its own host"),
    TEXT("state-dir",
         state_dir,
         "DIR",
         "what must outlive a restart (/var/lib/kiln-agent)"),
    TEXT("run-dir",
         run_dir,
         "DIR",
         "what lives as long as the machine is up (/run/kiln-agent)"),
    TEXT("tmp-dir",
         tmp_dir,
         "DIR",
         "where each job gets a TMPDIR of its own (/tmp)"),
    TEXT("node-name",
         node_name,
         "NAME",
         "the node's name in the API (the host's name)"),
    TEXT("address", address, "ADDRESS", "the node's address, for others"),
    TEXT("cluster", cluster, "NAME", "the cluster's name (kiln)"),
    TEXT("service-user",
         service_user,
         "USER",
         "the user that the controller runs as (kiln)"),
    TEXT("munge-socket", munge_socket, "PATH", "munged's socket"),
    TEXT("topology",
         topology,
         "TOPOLOGY",
         "make a virtual node: an hwloc synthetic string or XML file in place "
         "of this machine's hardware; processes are not bound"),
    TEXT("reserved-cpus",
         reserved_cpus,
         "LIST",
         "CPUs kept for the system, as 0,64"),
    TEXT("reserved-memory",
         reserved_memory,
         "QUANTITY",
         "memory kept for the system, as 4Gi"),
    {.name = "label",
     .argument = "KEY=VALUE",
     .help = "a label of the node; may be given again",
     .type = OPTION_TEXTS,
     .offset = offsetof(struct agent_settings, labels)},
    {.name = "max-pods",
     .argument = "N",
     .help = "how many pods at the most (4096)",
     .type = OPTION_INT,
     .min = 1,
     .max = 1000000,
     .offset = offsetof(struct agent_settings, max_pods)},
    TEXT("cgroup-base",
         cgroup_base,
         "PATH",
         "the cgroup of all jobs (/kiln-jobs)"),
    TEXT("shepherd", shepherd, "PATH", "the program that runs one pod"),
    FLAG("devices", devices, "offer GPUs, network cards and NVMe disks"),
    FLAG("allow-root-jobs", allow_root_jobs, "run jobs of root"),
    {.name = "min-uid",
     .argument = "UID",
     .help = "run no jobs of users below it (1000)",
     .type = OPTION_INT,
     .min = 0,
     .max = UINT32_MAX,
     .offset = offsetof(struct agent_settings, min_uid)},
    FLAG("debug", debug, "log more"),
};

const struct option_table agent_option_table = {
    .name = "kiln-agent",
    .usage = "--controller URL [OPTION]...",
    .summary = "Runs the pods that are bound to this node: discovers its "
               "hardware, enrols it, starts each pod on the cores it was "
               "given and reports how it went. Started by an ordinary user it "
               "is rootless: it runs that user's jobs alone.",
    OPTION_ROWS(options),
    .has_version = true,
};

/* What an ordinary user's agent may write to. */
static char *
home_path(const char *below)
{
    const char *home = getenv("HOME");

    return xasprintf("%s/%s", home != NULL ? home : "/tmp", below);
}

static void
set_defaults(struct agent_settings *s)
{
    bool root = geteuid() == 0;

    *s = (struct agent_settings){
        .cluster = "kiln",
        .service_user = "kiln",
        .state_dir = root ? LOCALSTATEDIR "/lib/kiln-agent"
                          : home_path(".local/state/kiln-agent"),
        .run_dir = root ? RUNSTATEDIR "/kiln-agent"
                        : home_path(".local/state/kiln-agent/run"),
        .tmp_dir = "/tmp",
        .cgroup_base = "/kiln-jobs",
        .shepherd = LIBEXECDIR "/kiln/kiln-shepherd",
        .max_pods = 4096,
        .min_uid = 1000,
    };
}

void
agent_settings_read(struct agent_settings *s, int argc, char **argv)
{
    set_defaults(s);
    program_begin(&agent_option_table, argc, argv, s);
    if (s->controller == NULL)
        program_refuse(&agent_option_table,
                       "--controller is missing: where is the API?");
}

void
agent_settings_fini(struct agent_settings *s)
{
    free(s->labels.items);
}
