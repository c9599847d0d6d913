/* SPDX-License-Identifier: Apache-2.0 */
/* kube_extender.h - what a configuration says of extenders
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

/* Fills in what is left out, in the tree; then the settings, in the arena,
 * borrowed from it, with a line for each mistake
 * and for each thing to think about.
 */
void kube_extenders_complete(struct arena *arena, struct json *list);
void kube_extenders_read(struct arena *arena,
                         const struct json *list,
                         struct extenders *ret_extenders,
                         struct strbuf *mistakes,
                         struct strbuf *warnings);

/* Takes the keys out of the tree. */
void kube_extenders_hide(struct json *list);

/* The resources that extenders alone look at, as ignoredResources of the
 * arguments of NodeResourcesFit (NULL: none are given): those arguments, or
 * others in the arena.
 */
const struct json *kube_extenders_ignore(struct arena *arena,
                                         const struct json *list,
                                         const struct json *args);
