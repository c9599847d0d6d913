/* SPDX-License-Identifier: Apache-2.0 */
/* kube_extender.h - the extenders in a configuration
 *
 * Called by:  kube_configuration.c.
 * Thread:     any, while the configuration is read.
 * Source:     kube-scheduler, apis/config/validation (validateExtenders) and
 *             extender.go (NewHTTPExtender).
 */
#pragma once

struct arena;
struct extenders;
struct json;
struct strbuf;

/* Sets the defaults in the tree. */
void kube_extenders_complete(struct arena *arena, struct json *list);

/* Makes the settings, which are allocated in the arena and borrow from the tree; adds a line
 * for each mistake and for each warning.
 */
void kube_extenders_read(struct arena *arena, const struct json *list,
                         struct extenders *ret_extenders, struct strbuf *mistakes,
                         struct strbuf *warnings);

/* Removes the private keys from the tree. */
void kube_extenders_hide(struct json *list);

/* Adds the managed resources that the extenders have marked ignoredByScheduler
 * to ignoredResources in the arguments of NodeResourcesFit (NULL: it has none).
 * Returns `args` itself when there is nothing to add, else a changed copy in
 * the arena.
 */
const struct json *kube_extenders_ignore(struct arena *arena, const struct json *list,
                                         const struct json *args);
