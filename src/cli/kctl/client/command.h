/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - a verb of kctl: its options and its function
 *
 * There is one file for each verb (or pair, such as cordon and uncordon) with
 * one const struct command; main.c lists all of them. A verb prints its results
 * on standard output and returns its errors, which main prints.
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/program/option.h"

struct error;
struct kctl;

/* The options of every verb begin with these. */
struct common_options {
    const char *server;
    const char *namespace;
    const char *as_user;
    const char *colour; /* "auto", "always", "never"; or NULL */
    bool utc;
    bool no_wait;
};

#define COMMON_OPTIONS                                                                 \
    {.name = "as",                                                                     \
     .argument = "USER",                                                               \
     .help = "ask with the rights of this user (administrators)",                      \
     .type = OPTION_TEXT,                                                              \
     .offset = offsetof(struct common_options, as_user)},                              \
        {.name = "color",                                                              \
         .argument = "WHEN",                                                           \
         .help = "auto, always or never (auto: on a terminal)",                        \
         .type = OPTION_TEXT,                                                          \
         .offset = offsetof(struct common_options, colour)},                           \
        {.name = "namespace",                                                          \
         .letter = 'n',                                                                \
         .argument = "NAME",                                                           \
         .help = "in this namespace (account) (default)",                              \
         .type = OPTION_TEXT,                                                          \
         .offset = offsetof(struct common_options, namespace)},                        \
        {.name = "no-wait",                                                            \
         .help = "fail if the controller cannot be reached, do not wait for it",       \
         .type = OPTION_FLAG,                                                          \
         .offset = offsetof(struct common_options, no_wait)},                          \
        {.name = "server",                                                             \
         .letter = 's',                                                                \
         .argument = "URL",                                                            \
         .help = "address of kiln-controller",                                         \
         .type = OPTION_TEXT,                                                          \
         .offset = offsetof(struct common_options, server)},                           \
    {                                                                                  \
        .name = "utc", .help = "times in UTC, not in local time", .type = OPTION_FLAG, \
        .offset = offsetof(struct common_options, utc),                                \
    }

/* For verbs that print a table; sets the bool `no_headings` of their options.
 */
#define NO_HEADERS_OPTION(options)                                                   \
    {                                                                                \
        .name = "no-headers", .help = "leave the headings out", .type = OPTION_FLAG, \
        .offset = offsetof(options, no_headings),                                    \
    }

/* Run: 0, or a negative errno with a text. `options` has the values of the
 * options; the operands are NULL-terminated.
 */
struct command {
    const char *name;
    const struct option_table *options;
    size_t options_size;
    int (*run)(struct kctl *kctl, const void *options, int n_operands, char **operands,
               struct error *err);
};

extern const struct command annotate_command;
extern const struct command api_resources_command;
extern const struct command apply_command;
extern const struct command approve_command;
extern const struct command orphans_command;
extern const struct command cancel_command;
extern const struct command controllers_command;
extern const struct command cordon_command;
extern const struct command create_command;
extern const struct command credential_command;
extern const struct command metrics_token_command;
extern const struct command delete_command;
extern const struct command describe_command;
extern const struct command drain_command;
extern const struct command events_command;
extern const struct command explain_command;
extern const struct command fence_command;
extern const struct command get_command;
extern const struct command efficiency_command;
extern const struct command history_command;
extern const struct command report_command;
extern const struct command hold_command;
extern const struct command hostnames_command;
extern const struct command jobs_command;
extern const struct command kubeconfig_command;
extern const struct command label_command;
extern const struct command logs_command;
extern const struct command nodes_command;
extern const struct command partitions_command;
extern const struct command pause_command;
extern const struct command priority_command;
extern const struct command proxy_command;
extern const struct command release_command;
extern const struct command resume_command;
extern const struct command attach_command;
extern const struct command exec_command;
extern const struct command signal_command;
extern const struct command suspend_command;
extern const struct command replace_command;
extern const struct command requeue_command;
extern const struct command resubmit_command;
extern const struct command reservations_command;
extern const struct command reserve_command;
extern const struct command reset_command;
extern const struct command script_command;
extern const struct command show_command;
extern const struct command status_command;
extern const struct command steps_command;
extern const struct command taint_command;
extern const struct command top_command;
extern const struct command timeline_command;
extern const struct command topology_command;
extern const struct command uncordon_command;
extern const struct command unfence_command;
extern const struct command update_command;
extern const struct command version_command;
extern const struct command wait_command;
extern const struct command whoami_command;
extern const struct command why_command;
