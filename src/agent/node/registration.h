/* SPDX-License-Identifier: Apache-2.0 */
/* registration.h - makes this node known: its Node object, its secret
 *
 * Creates the Node when it is missing, enrols for the secret that proves the
 * node from then on (kept in a file of mode 0600), and writes the status when
 * it has changed, and every five minutes. Tries for as long as it takes, and
 * says once what is in the way.
 *
 * A secret dies with its Node (deleted, or reset), and whoever proves a node
 * that is gone may not enrol. So when the Node is not there, or the proof is
 * refused, the agent begins anew without proof, as on its first day. The
 * secret is thrown away only when another has been given: a refusal may be
 * somebody's mistake.
 *
 * Owns:    the secret file; borrows the rest.
 * Thread:  the loop's.
 * See:     doc/decisions.md 16.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct clock;
struct loop;
struct node_facts;
struct node_secret;
struct registration;

/* Whether the node is proven by its secret, where there is one. */
enum registration_mode { REGISTRATION_PROVEN, REGISTRATION_UNPROVEN };

typedef void registration_done_fn(void *context);
typedef void registration_reconnect_fn(enum registration_mode mode,
                                       void *context);

struct registration_settings {
    struct loop *loop;
    struct client *client;
    struct clock *clock;
    const struct node_facts *facts; /* borrowed, may change: see below */
    const char *secret_path;
    enum registration_mode mode;
    registration_reconnect_fn
        *reconnect;              /* every connection is to be opened anew */
    registration_done_fn *ready; /* known, and written where there is space,
                                    the first time */
    void *context;
};

/* Life */
void registration_free(struct registration *registration);
struct registration *
registration_new(const struct registration_settings *settings)
    OWNED_BY(registration_free);
DEFINE_CLEANUP(struct registration, registration_free)
void registration_start(struct registration *registration);

/* The facts have changed, or the Node may be gone: look and write now. */
void registration_update(struct registration *registration);

/* The secret kept at that path: 0, -ENOENT when there is none yet, or another
 * errno with words.
 */
struct error;
int registration_read_secret(const char *path,
                             struct node_secret *ret_secret,
                             struct error *err);
