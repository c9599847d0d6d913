/* SPDX-License-Identifier: Apache-2.0 */
/* account_fetch.h - the rows of sacct: attempts from history, and the jobs that
 * wait or run
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/slurm_tables/account_row.h"
#include "cli/slurm_tables/job_choice.h"

struct arena;
struct error;
struct slurm_client;

struct account_range {
    int64_t least, most; /* 0, 0: not limited */
};

struct account_query {
    struct slurm_job_choices jobs; /* none: by the other conditions */
    /* Lists separated by commas; NULL: all. */
    const char *users, *accounts, *partitions, *names, *qos;
    struct account_range node_range, cpu_range, limit_range; /* the last in seconds */
    const char **nodes;                                      /* the job ran on one of these */
    size_t n_nodes;
    uint32_t states;            /* bits of JOB_STATE_BIT; 0: all; else until_us is given */
    int64_t since_us, until_us; /* the job ran or waited within; 0: not limited */
    bool has_all_attempts;      /* also those after which the job was started again */
    bool needs_jobs;            /* also the Jobs of attempts, as far as they still exist */
};

struct account_rows {
    struct account_row *items;
    size_t count, capacity;
};
void account_rows_fini(struct account_rows *rows);

/* Adds the rows in their order; no steps. Texts are in the arena. */
int account_fetch(struct slurm_client *client, const struct account_query *query,
                  struct arena *arena, struct account_rows *rows, struct error *err);
