/* SPDX-License-Identifier: Apache-2.0 */
/* job_selection.h - selects jobs: the options --user, --state, --name,
 * --partition and --account, which all commands for jobs have
 *
 * The server selects by user, state and partition, with an index. Conditions
 * that a selector cannot express (several accounts, patterns of names) are
 * checked for each job.
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/program/option.h"

struct arena;
struct error;
struct kctl;

struct job_selection {
    const char *account; /* names of namespaces, separated by commas */
    const char *name;    /* a pattern */
    const char *node;    /* only for kctl jobs and get; in the query */
    const char *partition;
    const char *state; /* states, separated by commas */
    const char *user;
    uint32_t states; /* parsed from `state`; 0: all */
};

#define JOB_SELECTION_OPTIONS(holder, at)                                                    \
    {.name = "account",                                                                      \
     .argument = "NAME",                                                                     \
     .help = "only jobs of this account (namespace), or of A,B",                             \
     .type = OPTION_TEXT,                                                                    \
     .offset = offsetof(holder, at.account)},                                                \
        {.name = "name",                                                                     \
         .argument = "PATTERN",                                                              \
         .help = "only jobs with this name; '*' is any text, "                               \
                 "'?' a character",                                                          \
         .type = OPTION_TEXT,                                                                \
         .offset = offsetof(holder, at.name)},                                               \
        {.name = "partition",                                                                \
         .letter = 'p',                                                                      \
         .argument = "NAME",                                                                 \
         .help = "only jobs that asked for this partition",                                  \
         .type = OPTION_TEXT,                                                                \
         .offset = offsetof(holder, at.partition)},                                          \
        {.name = "state",                                                                    \
         .letter = 't',                                                                      \
         .argument = "STATE",                                                                \
         .help = "only jobs in this state, or in one of A,B: "                               \
                 "Pending, Running, Failed, ...; Slurm's codes work, too",                   \
         .type = OPTION_TEXT,                                                                \
         .offset = offsetof(holder, at.state)},                                              \
    {                                                                                        \
        .name = "user", .letter = 'u', .argument = "NAME", .help = "only jobs of this user", \
        .type = OPTION_TEXT, .offset = offsetof(holder, at.user),                            \
    }

/* Parses the states; -EINVAL, with the nearest valid one. */
int job_selection_check(struct job_selection *selection, struct error *err);

/* "in state Pending of user ann"; "" if nothing is selected. */
const char *job_selection_words(const struct job_selection *selection, struct arena *arena);

/* For a selection that no job meets: -ENOENT if it names a user, partition, node
 * or account that does not exist, with the nearest one that does.
 */
int job_selection_check_exists(struct kctl *kctl, const struct job_selection *selection,
                               struct error *err);

bool job_selection_is_empty(const struct job_selection *selection);

/* The name of the user, or of --as. -EINVAL: the user has no name. */
int job_selection_find_own_user(const struct kctl *kctl, struct arena *arena, const char **ret_name,
                                struct error *err);

/* The field selector; `more` ("status.finished=false", or NULL) is added to it.
 * NULL: select everything.
 */
const char *job_selection_fields(const struct job_selection *selection, const char *more,
                                 struct arena *arena);

/* The query for a list of jobs: `more` ("includeObject=Object", or NULL) and
 * the node. NULL: no query.
 */
const char *job_selection_query(const struct job_selection *selection, const char *more,
                                struct arena *arena);

/* The namespace if the selection has exactly one; NULL: several, or all. */
const char *job_selection_namespace(const struct job_selection *selection);

/* Whether a job meets the conditions that the server did not check. */
bool job_selection_has(const struct job_selection *selection, const char *namespace,
                       const char *name, const char *state);
