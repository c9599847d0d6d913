/* SPDX-License-Identifier: Apache-2.0 */
/* relay.h - a standby's ports: each connection is relayed to the leader
 *
 * Sessions, MACs and TLS end at the leader, so the relay has no rights and reads nothing.
 * It tells the leader for whom it connects (proxy_header.h). It answers itself only
 * /healthz, /livez, /readyz and /metrics over plain HTTP, and with 503 while no
 * leader can be reached. Ends and resets of either side are passed on.
 *
 * Owns:    a thread with a loop, so that a database that is slow holds up nobody.
 * Called by: standby.c.
 * Thread:  the main one; the relay's own for all else.
 * Invariant: a connection that another relay made is never relayed.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"
#include "lib/program/setting.h"

struct engine_leader;
struct error;
struct relay;

struct relay_settings {
    const struct setting_texts *listen;
    const struct setting_texts *tls_listen;
    const char *state_dir; /* for metrics of the process */
};

/* Life. New starts to listen. */
void relay_free(struct relay *relay);
int relay_new(const struct relay_settings *settings, struct relay **ret_relay, struct error *err);

/* Connections go to that leader from now on, and those to another one end; NULL:
 * none is known. Names are resolved elsewhere, as often as it takes; until then clients are
 * told that no leader is known.
 */
void relay_set_leader(struct relay *relay, const struct engine_leader *leader);

/* For its metrics: those that this controller has in memory meanwhile. */
void relay_set_objects(struct relay *relay, size_t n);
