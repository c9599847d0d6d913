/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - how an agent was told to be: command line and agent.yaml
 *
 * Open struct, const once read. The command line wins over the file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/program/option.h"

struct error;

struct agent_settings {
    const char *config; /* the file; NULL: /etc/kiln/agent.yaml if there */
    bool check_config;

    const char *controller; /* URL */
    const char *cluster;
    const char *service_user; /* the controller's */
    const char *munge_socket;
    const char *node_name; /* NULL: the host's */
    const char *address;   /* NULL: none is published */
    const char *state_dir;
    const char *run_dir;
    const char *tmp_dir;
    const char *topology; /* given: a synthetic string or a file */
    const char *reserved_cpus;
    const char *reserved_memory; /* a quantity */
    struct option_texts labels;  /* "key=value" */
    const char *cgroup_base;
    const char *shepherd; /* NULL: the installed one */
    int64_t max_pods;
    bool devices; /* look for GPUs, NICs and NVMe */
    bool allow_root_jobs;
    int64_t min_uid;
    bool debug;
};

extern const struct option_table agent_option_table;

/* Life. Read does not return after --help, --check-config or a mistake. */
void
agent_settings_read(struct agent_settings *settings, int argc, char **argv);
void agent_settings_fini(struct agent_settings *settings);
