/* SPDX-License-Identifier: Apache-2.0 */
/* history_question.h - what is asked of history, and by whom
 *
 * Open struct; its texts are the asker's until the answer is there.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of an administrator, all; else the rows of the uid, and what is no secret of
 * those of the accounts.
 */
struct history_rights {
    bool is_all;
    int64_t uid;
    const char *user; /* its name now */
    const char *const *accounts;
    size_t n_accounts;
};

struct task_list;

enum history_sum {
    HISTORY_BY_NOTHING, /* rows */
    HISTORY_BY_ALL,     /* one sum */
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
    bool has_uid;     /* of sums: beside the user, for the names before it */
    int64_t uid;
    const char *account;
    const char *partition;
    const char *node;
    const char *name; /* a pattern, as the shell's: "sweep*" */
    int64_t job_id;   /* 0: any */
    bool has_index;
    int64_t index, last_index;     /* the last may be 0: the one alone */
    const struct task_list *tasks; /* of an array, by their ids; of others these
                                    * are indexes; NULL: any */
    uint32_t states;               /* bits of job_state.h; 0: any */
    int64_t since_s;               /* ended then or later; 0: any */
    int64_t until_s;               /* ended before; 0: any */
    int64_t after_end_s, after_id; /* of the last row of the page before */
    int64_t limit;
    uint64_t members;    /* bits by history_row_record's order; 0: all */
    enum history_sum by; /* sums of days, instead of rows */
};
