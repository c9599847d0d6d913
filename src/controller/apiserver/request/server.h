/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - the parts of the API server that the files of this room share
 *
 * Called by:  this room only; apiserver.h is for others.
 * Thread:     the loop's.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/list.h"

struct audit_log;
struct auth_server;
struct barred_tasks;
struct clock;
struct cut_off;
struct dispatch;
struct http_server;
struct history;
struct job_counts;
struct loop;
struct membership;
struct lost_pods;
struct node_reports;
struct node_classes;
struct node_uses;
struct metric_registry;
struct openapi;
struct policy;
struct agent_relay;
struct api_profile;
struct request_metrics;
struct start_rights;
struct responders;
struct time_slices;
struct token_endpoint;
struct store;
struct usage;
struct user_counts;
struct shared_change;
struct workers;

struct apiserver {
    struct loop *loop;
    struct clock *clock;
    int64_t started_us; /* monotonic */
    struct store *store;
    struct workers *workers;
    struct auth_server *auth; /* NULL: local peers only */
    const struct api_profile *profile;
    const struct policy *policy;
    const char *cluster;                     /* its name */
    struct metric_registry *metrics;         /* or NULL */
    struct request_metrics *request_metrics; /* or NULL */
    struct audit_log *audit;                 /* or NULL */
    int64_t unproven_second;                 /* of audit.c: refusals of unauthenticated requests
                              * logged in this second
                              */
    unsigned unproven_told;
    uint64_t unproven_hidden;
    int64_t refusals_quiet_until_us; /* for the log of http_handler.c; monotonic */
    unsigned refusals_unsaid;
    const char *configz;               /* or NULL */
    atomic_bool *is_munge_dead;        /* or NULL */
    atomic_bool *leases[2];            /* or NULL; see apiserver.h */
    atomic_bool *is_scheduling_paused; /* or NULL; read by the scheduler */
    bool holds_scheduling;             /* until the nodes have reported (marks/node_reports) */
    struct membership *membership;
    struct membership *class_users; /* of priority classes */
    struct membership *partition_users;
    struct membership *reservation_users;
    struct start_rights *start_rights;
    struct store_watch *node_watch; /* of bootstrap.c: for new partitions */
    struct shared_change *shared_change;
    struct dispatch *dispatch; /* to the channels */
    struct time_slices *time_slices;
    struct barred_tasks *barred_tasks;   /* of arrays whose pods are bound */
    struct list watches;                 /* over HTTP */
    struct agent_relay *agent_relay;     /* logs from the agents */
    struct node_reports *node_reports;   /* awaited after a start */
    struct cut_off *cut_off;             /* until the stop */
    struct lost_pods *lost_pods;         /* that nodes have */
    struct responders *responders;       /* the scheduler, which answers questions */
    struct responders *quota_responders; /* the lifecycle component, likewise */
    struct usage *usage;                 /* of nodes and pods, measured by their
                                      * agents
                                      */
    struct user_counts *counts;          /* of the store's objects and of streams */
    struct job_counts *job_counts;       /* or NULL */
    struct history *history;             /* or NULL */
    struct node_uses *node_uses;         /* or NULL */
    struct node_classes *node_classes;   /* or NULL */
    struct user_counts *own_counts;      /* `counts`, when the owner gave none; or
                                     * NULL
                                     */
    struct http_server *http;
    struct token_endpoint *token_endpoint;
    struct openapi *openapi;          /* NULL until the first request for it */
    bool is_counting_resources;       /* see resource_metrics.h */
    void (*hand_over)(void *context); /* or NULL */
    void *hand_over_context;
    bool is_closing;
};
