/* SPDX-License-Identifier: Apache-2.0 */
/* scontrol.h - a keyword of scontrol: what its function gets
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct json;
struct slurm_client;

struct scontrol {
    struct slurm_client *client;
    bool is_oneline;  /* -o */
    bool has_details; /* -d */
    bool is_quiet;    /* -Q */
    bool is_json;     /* --json */

    struct json *json; /* records are added to this array instead of being printed; or NULL */
};

/* The function of a keyword: the exit status. The words follow the keyword. */
typedef int control_fn(struct scontrol *control, int n_words, char **words);

/* Whether the text is the keyword or begins it with at least so many letters, in any case. */
bool control_is(const char *text, const char *keyword, size_t least);

/* control_hosts.c: show hostnames, hostlist, hostlistsorted */
control_fn control_show_hostnames, control_show_hostlist, control_show_hostlist_sorted;

/* show_config.c, show_job.c, show_nodes.c, show_reservations.c, show_steps.c */
control_fn control_show_job, control_show_node, control_show_partition, control_show_reservation,
    control_show_config, control_show_steps;

/* show_job_nodes.c: lines with the CPUs, memory and GPUs that a job holds on its nodes. */
struct queue_row;
struct record_text;
void control_add_job_nodes(struct scontrol *control, const struct queue_row *row,
                           struct record_text *out);

/* partition_json.c: a Partition in Slurm's shape, with its nodes and their sums. */
struct partition_sum {
    const char *nodes; /* "n[1-3]"; or NULL */
    int64_t count, cpus, bytes, gpus;
};
struct json *control_partition_json(const struct json *partition, const struct partition_sum *sum,
                                    struct arena *arena);

/* control_nodes.c, control_pids.c */
control_fn control_update_node, control_update_reservation, control_update_partition,
    control_create, control_delete, control_list_pids;

/* control_jobs.c */
control_fn control_hold, control_uhold, control_release, control_requeue, control_requeue_hold,
    control_suspend, control_resume, control_top, control_update_job, control_wait_job,
    control_write;
