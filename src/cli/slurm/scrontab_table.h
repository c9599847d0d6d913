/* SPDX-License-Identifier: Apache-2.0 */
/* scrontab_table.h - the text of a table of recurring jobs, and its entries
 *
 * A line is empty, a comment, #SCRON with options of sbatch for the next entry,
 * NAME=VALUE for the environment of all entries that follow, or an entry: five
 * fields or a word such as @daily, and a shell command.
 *
 * Thread: any; pure functions.
 */
#pragma once

#include <stddef.h>

struct arena;
struct error;

/* All texts are in the arena. */
struct scrontab_entry {
    const char *text;        /* the lines after the previous entry, and its own */
    const char *environment; /* of the shell: "export A='1'\n"; may be empty */
    const char *schedule;    /* "0 3 * * *" */
    const char *command;
    char **words; /* of #SCRON */
    size_t n_words;
    unsigned line;
};

struct scrontab_table {
    struct scrontab_entry *entries;
    size_t count;
};

#define SCRONTAB_ENTRIES_MOST 1000
#define SCRONTAB_BYTES_MOST   (1u << 20)

/* -EINVAL: the text of the error begins with "line 3: ". Lines after the last
 * entry belong to it.
 */
int scrontab_table_parse(const char *text, struct arena *arena, struct scrontab_table *ret,
                         struct error *err);

/* The name of a job without -J: the last part of the command's first word. */
const char *scrontab_table_job_name(const char *command, struct arena *arena);
