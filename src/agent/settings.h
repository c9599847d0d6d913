/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - the agent's settings from the command line and agent.yaml
 *
 * Open struct, const once read. The command line wins over the file.
 *
 * Thread: any thread once it was read; the main thread reads it.
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

/* How to treat CPUs that the kernel isolates (isolcpus). */
enum isolated_cpus {
    ISOLATED_CPUS_LEAVE,
    ISOLATED_CPUS_OFFER,
};

#define SETTINGS_NO_PORT "none"

struct agent_settings {
    struct arena *arena;    /* owns the texts */
    const char *controller; /* URL */
    const char *cluster;
    const char *service_user; /* the user that runs the controller */
    const char *munge_socket;
    const char *node_name; /* NULL: the host name */
    const char *address;   /* NULL: no address is published */
    const char *listen;    /* for steps; or SETTINGS_NO_PORT */
    const char *state_dir;
    const char *run_dir;
    const char *tmp_dir;
    const char *scratch_dir;      /* of volumes; NULL: no scratch space is offered */
    const char *scratch_capacity; /* a quantity; NULL: file system size */
    const char *topology;         /* if set: a synthetic string or a file */
    const char *reserved_cpus;
    const char *reserved_memory; /* a quantity */
    int isolated_cpus;           /* enum isolated_cpus */
    struct setting_texts labels; /* "key=value" */
    const char *cgroup_base;
    int cpu_partition; /* enum cpu_partition */
    const char *shepherd;
    bool reuse_shepherds;
    const char *prolog; /* NULL: none; the epilog likewise */
    const char *epilog;
    const char *task_prolog; /* NULL: none */
    int64_t hook_timeout_us;
    const char *health_program; /* NULL: none */
    int64_t health_interval_us;
    int64_t health_timeout_us;
    int64_t shutdown_grace_us;
    int64_t max_pods;
    int64_t pids_per_pod;       /* 0: derived from pid_max */
    const char *default_memory; /* a quantity; NULL: no default */
    int64_t heartbeat_us;
    int64_t observe_us;                /* 0: pods are not observed */
    int64_t usage_interval_us;         /* 0: usage is not reported */
    const char *gpu_library;           /* NULL: the use of GPUs is not measured */
    const char *metrics_file;          /* NULL: no file is written */
    bool devices;                      /* look for GPUs, NICs and NVMe */
    struct setting_texts device_files; /* "type=glob" */
    bool allow_root_jobs;
    int64_t min_uid;
    int log_level; /* enum log_level */
};

/* Life. agent_settings_read does not return after --help, --check-config or a
 * mistake.
 */
void agent_settings_read(struct agent_settings *settings, int argc, char **argv);
void agent_settings_fini(struct agent_settings *settings);
