/* SPDX-License-Identifier: Apache-2.0 */
/* history_question.h - a question to history, and the rights of its asker
 *
 * Open struct; the asker owns its texts until the answer has arrived.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An administrator may read everything; others may read their own rows (by
 * uid), and the public members of rows of those accounts.
 */
struct history_rights {
    bool is_all;
    int64_t uid;
    const char *user; /* the present name of the uid */
    const char *const *accounts;
    size_t n_accounts;
};

struct task_list;

/* A step in the order of a list. */
struct history_step_place {
    int64_t job; /* of a question about several; or 0 */
    int64_t index, attempt, id;
};

enum history_sum {
    HISTORY_BY_NOTHING, /* rows */
    HISTORY_STEPS,      /* no sum: the steps of a job */
    HISTORY_BY_ALL,     /* one sum over all */
    HISTORY_BY_ACCOUNT,
    HISTORY_BY_USER,
    HISTORY_BY_PARTITION,
    HISTORY_BY_DAY,
    HISTORY_BY_MONTH,
    HISTORY_BY_ACCOUNT_USER,
};

struct history_question {
    struct history_rights rights;
    const char *user; /* NULL: any, here and below */
    bool has_uid;     /* for sums: include earlier names of the uid */
    int64_t uid;
    const char *account;
    const char *partition;
    const char *node; /* a host list: "n[1-4],gpu1" */
    const char *name; /* a shell pattern: "sweep*" */
    int64_t job_id;   /* 0: any */
    bool has_index;
    int64_t index, last_index;     /* last_index 0: only `index` */
    const struct task_list *tasks; /* task ids of an array, or indexes of
                                    * other jobs; NULL: any */
    uint32_t states;               /* JOB_STATE_BIT of job_state.h; 0: any */
    int64_t since_s;               /* ended at or after; 0: any */
    int64_t until_s;               /* ended before; 0: any */
    int64_t after_end_s, after_id; /* the last row of the page before */
    int64_t limit;
    const int64_t *jobs; /* of steps; in this order; NULL: job_id */
    size_t n_jobs;
    bool is_running;                      /* of steps; only those that have not ended */
    int64_t attempt;                      /* of steps; 0: any */
    struct history_step_place after_step; /* the last one of the page before */
    bool with_members;   /* the rows of single nodes of an attempt, and not its own */
    uint64_t members;    /* bits, in history_row_record's order; 0: all */
    enum history_sum by; /* sums of days instead of rows */
};
