/* SPDX-License-Identifier: Apache-2.0 */
/* job_selection.h - which jobs are meant: the options --user, --state, --name,
 * --partition and --account, which all commands for jobs have
 *
 * The server selects by user, state and partition, from an index; what a
 * selector cannot say (several accounts, patterns of names) is checked of each.
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
    const char *account; /* names of namespaces, with commas between */
    const char *name;    /* a pattern */
    const char *node;    /* kctl jobs and get alone; the request's query */
    const char *partition;
    const char *state; /* words, with commas between */
    const char *user;
    uint32_t states; /* what these are; 0: all */
};

#define JOB_SELECTION_OPTIONS(holder, at)                          \
    {.name = "account",                                            \
     .argument = "NAME",                                           \
     .help = "of this account, which is a namespace; or of A,B",   \
     .type = OPTION_TEXT,                                          \
     .offset = offsetof(holder, at.account)},                      \
        {.name = "name",                                           \
         .argument = "PATTERN",                                    \
         .help = "of this name; '*' is any text, '?' a character", \
         .type = OPTION_TEXT,                                      \
         .offset = offsetof(holder, at.name)},                     \
        {.name = "partition",                                      \
         .letter = 'p',                                            \
         .argument = "NAME",                                       \
         .help = "that asked for this partition",                  \
         .type = OPTION_TEXT,                                      \
         .offset = offsetof(holder, at.partition)},                \
        {.name = "state",                                          \
         .letter = 't',                                            \
         .argument = "STATE",                                      \
         .help = "in this state, or in one of A,B: Pending, "      \
                 "Running, Failed, ...; Slurm's codes too",        \
         .type = OPTION_TEXT,                                      \
         .offset = offsetof(holder, at.state)},                    \
    {                                                              \
        .name = "user", .letter = 'u', .argument = "NAME",         \
        .help = "of this user", .type = OPTION_TEXT,               \
        .offset = offsetof(holder, at.user),                       \
    }

/* Reads the words; -EINVAL, with the nearest that there is. */
int job_selection_check(struct job_selection *selection, struct error *err);

bool job_selection_is_empty(const struct job_selection *selection);

/* The name of who asks, or of --as. -EINVAL: there is none. */
int job_selection_find_own_user(const struct kctl *kctl,
                                struct arena *arena,
                                const char **ret_name,
                                struct error *err);

/* The field selector; `more` ("status.finished=false", or NULL) is a part of
 * it. NULL: everything.
 */
const char *job_selection_fields(const struct job_selection *selection,
                                 const char *more,
                                 struct arena *arena);

/* The query of a list of jobs: `more` ("includeObject=Object", or NULL) and the
 * node. NULL: there is none.
 */
const char *job_selection_query(const struct job_selection *selection,
                                const char *more,
                                struct arena *arena);

/* The one namespace that is meant; NULL: several, or all. */
const char *job_selection_namespace(const struct job_selection *selection);

/* The rest of the selection, of one job. */
bool job_selection_has(const struct job_selection *selection,
                       const char *namespace,
                       const char *name,
                       const char *state);
