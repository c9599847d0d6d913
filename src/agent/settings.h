/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - how an agent was told to be: the command line and agent.yaml
 *
 * Open struct, const once read. The command line wins over the file.
 *
 * Thread: any once it was read; reading is the main thread's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/program/setting.h"

struct arena;

enum cpu_partition {
    CPU_PARTITION_NONE,
    CPU_PARTITION_ROOT,
    CPU_PARTITION_ISOLATED,
};

/* How to use CPUs that the kernel was told to leave alone (isolcpus). */
enum isolated_cpus {
    ISOLATED_CPUS_LEAVE,
    ISOLATED_CPUS_OFFER,
};

struct agent_settings {
    struct arena *arena;    /* owns the texts */
    const char *controller; /* URL */
    const char *cluster;
    const char *service_user; /* the controller's */
    const char *munge_socket;
    const char *node_name; /* NULL: the host's */
    const char *address;   /* NULL: none is published */
    const char *state_dir;
    const char *run_dir;
    const char *tmp_dir;
    const char *scratch_dir;      /* of volumes; NULL: none is offered */
    const char *scratch_capacity; /* a quantity; NULL: its file system */
    const char *topology;         /* given: a synthetic string or a file */
    const char *reserved_cpus;
    const char *reserved_memory; /* a quantity */
    int isolated_cpus;           /* enum isolated_cpus */
    struct setting_texts labels; /* "key=value" */
    const char *cgroup_base;
    int cpu_partition; /* enum cpu_partition */
    const char *shepherd;
    const char *prolog; /* NULL: none; as the epilog */
    const char *epilog;
    int64_t hook_timeout_us;
    int64_t max_pods;
    int64_t pids_per_pod;       /* 0: by the machine */
    const char *default_memory; /* a quantity; NULL: none */
    int64_t heartbeat_us;
    int64_t observe_us;                /* 0: never */
    int64_t usage_interval_us;         /* 0: usage is not reported */
    const char *metrics_file;          /* NULL: none is written */
    bool devices;                      /* look for GPUs, NICs and NVMe */
    struct setting_texts device_files; /* "type=glob" */
    bool allow_root_jobs;
    int64_t min_uid;
    int log_level; /* enum log_level */
};

/* Life. Read does not return after --help, --check-config or a mistake. */
void
agent_settings_read(struct agent_settings *settings, int argc, char **argv);
void agent_settings_fini(struct agent_settings *settings);
