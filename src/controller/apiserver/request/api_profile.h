/* SPDX-License-Identifier: Apache-2.0 */
/* api_profile.h - which API the server serves: Kiln's, or kube-apiserver's alone
 *
 * --conformance is one choice, made where the server is made: it gives the server
 * another profile. A profile lists what is served (paths, hooks of kinds), and the
 * few behaviours that differ at a place that both share; the code there reads that
 * member, and asks for no mode. api_profiles.c has both profiles.
 *
 * Thread:  any; constants.
 */
#pragma once

#include <stdbool.h>

struct http_request;
struct kind_hooks;
struct principal;
struct request;

/* Returns false when the path is another one. Otherwise the request will be finished. */
typedef bool path_fn(struct request *q, struct http_request *http);

struct api_profile {
    /* Paths that are neither objects nor discovery. Ends with NULL. */
    path_fn *const *paths;

    /* Of the kinds for which the server does something that it does not for others. Ends
     * with NULL.
     */
    const struct kind_hooks *const *hooks;

    /* Whether there are kinds, subresources, query parameters, bodies of several bindings
     * and rules of admission that kube-apiserver does not have.
     */
    bool has_additions;

    /* Whether Kiln's annotations and causes say who deleted or evicted an object. */
    bool signs_changes;

    /* Whether a watch from a revision that the store has not issued yet is refused, as
     * one of another store; kube-apiserver waits for the revision.
     */
    bool refuses_later_revisions;

    /* Every client with this token or on the local socket is this principal, with this
     * uid in reviews. NULL: clients are authenticated.
     */
    const struct principal *everybody;
    const char *token; /* the whole header */
    const char *everybodys_uid;
};

extern const struct api_profile api_profile_kiln;
extern const struct api_profile api_profile_conformance;
