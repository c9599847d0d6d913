/* SPDX-License-Identifier: Apache-2.0 */
/* registration.h - makes this node known: its Node object, its secret
 *
 * Creates the Node when it is missing, enrols for the secret that proves the
 * node from then on (kept in a file of mode 0600), and writes the status when
 * it has changed, and every five minutes. The registration repeats its attempts
 * without limit, and logs each failure once.
 *
 * A secret is valid as long as its Node (until that is deleted or reset), and a
 * client that proves a deleted node may not enrol. So when the Node does not
 * exist, or the proof is refused, the agent starts again without proof, like a
 * new node. It replaces the secret only when it has received another one: a
 * refusal may be an error of the controller.
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

/* Whether connections prove the node by its secret, if it has one. */
enum registration_mode { REGISTRATION_PROVEN, REGISTRATION_UNPROVEN };

typedef void registration_done_fn(void *context);
typedef void registration_reconnect_fn(enum registration_mode mode, void *context);

struct registration_settings {
    struct loop *loop;
    struct client *client;
    struct clock *clock;
    const struct node_facts *facts; /* borrowed, may change: see below */
    const char *secret_path;
    enum registration_mode mode;
    registration_reconnect_fn *reconnect; /* all connections have to be opened again */
    /* the first time that the Node is known, and its status is written unless
     * the disk is full
     */
    registration_done_fn *ready;
    void *context;
};

/* Life */
void registration_free(struct registration *registration);
struct registration *registration_new(const struct registration_settings *settings)
    OWNED_BY(registration_free);
DEFINE_CLEANUP(struct registration, registration_free)
void registration_start(struct registration *registration);

/* The facts have changed, or the Node may be gone: reads the Node and writes
 * its status now.
 */
void registration_update(struct registration *registration);

/* Reads the secret kept at that path: 0, -ENOENT when there is none yet, or
 * another errno with words.
 */
struct error;
int registration_read_secret(const char *path, struct node_secret *ret_secret, struct error *err);
