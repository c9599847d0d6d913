/* SPDX-License-Identifier: Apache-2.0 */
/* stock.h - what the lifecycle loops know of the cluster, shared by all
 *
 * One informer per kind, and the pods of each controlling owner and of each
 * node. Tells its listeners what changed after the stock itself has.
 *
 * Owns:       the informers and the indexes.
 * Thread:     the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct client;
struct kind;
struct object;
struct stock;

/* Either side may be NULL. */
typedef void stock_change_fn(const struct object *old_object,
                             const struct object *new_object,
                             void *context);
typedef void stock_synced_fn(void *context);

struct stock_listener {
    stock_change_fn *pod_changed; /* any may be NULL */
    stock_change_fn *job_changed;
    stock_change_fn *node_changed;
    stock_change_fn *lease_changed;
    stock_change_fn *namespace_changed;
    stock_change_fn *budget_changed;
    stock_synced_fn *synced; /* all kinds are here */
    void *context;
};

/* Whether the store holds an object that it cannot read: of that key (kind NULL:
 * of any), or one that has the uid in it. By any thread.
 */
typedef bool stock_damaged_fn(const struct kind *kind,
                              const char *namespace,
                              const char *name,
                              const char *uid,
                              void *context);

/* Life. Listeners are added before stock_start. */
void stock_free(struct stock *stock);
struct stock *stock_new(struct client *client) OWNED_BY(stock_free);
DEFINE_CLEANUP(struct stock, stock_free)
void stock_listen(struct stock *stock, const struct stock_listener *listener);
void stock_ask_damaged(struct stock *stock,
                       stock_damaged_fn *is_damaged,
                       void *context);
void stock_start(struct stock *stock);

/* Look. Borrowed until the next change. */
bool stock_has_synced(const struct stock *stock);
const struct object *stock_find_pod(const struct stock *stock,
                                    const char *namespace,
                                    const char *name);
const struct object *stock_find_job(const struct stock *stock,
                                    const char *namespace,
                                    const char *name);
const struct object *stock_find_node(const struct stock *stock,
                                     const char *name);
const struct object *stock_find_namespace(const struct stock *stock,
                                          const char *name);
const struct object *stock_find_budget(const struct stock *stock,
                                       const char *key);
bool stock_is_damaged(const struct stock *stock,
                      const struct kind *kind,
                      const char *namespace,
                      const char *name,
                      const char *uid);
size_t stock_count_nodes(const struct stock *stock);

/* Visits the pods whose controlling owner has that uid, or that are bound to
 * that node.
 */
typedef void stock_visit_fn(const struct object *object, void *context);
void stock_visit_owned(const struct stock *stock,
                       const char *owner_uid,
                       stock_visit_fn *visit,
                       void *context);
void stock_visit_on_node(const struct stock *stock,
                         const char *node,
                         stock_visit_fn *visit,
                         void *context);
void stock_visit_jobs(const struct stock *stock,
                      stock_visit_fn *visit,
                      void *context);
void stock_visit_pods(const struct stock *stock,
                      stock_visit_fn *visit,
                      void *context);
void stock_visit_nodes(const struct stock *stock,
                       stock_visit_fn *visit,
                       void *context);
void stock_visit_budgets(const struct stock *stock,
                         stock_visit_fn *visit,
                         void *context);
