/* SPDX-License-Identifier: Apache-2.0 */
/* relay_state.h - what the relay's own files share
 *
 * Thread:  the relay's.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "controller/relay/proxy_header.h"
#include "controller/relay/relay_lookup.h"
#include "lib/base/list.h"

struct fdwatch;
struct map;
struct metric;
struct metric_registry;
struct relay;

/* Read at once; what the other side does not take then waits, and no more is
 * read meanwhile. So an idle connection needs no buffer.
 */
#define RELAY_CHUNK (64u << 10)

enum relay_phase {
    RELAY_GREETING, /* nothing has come from the client yet */
    RELAY_DIALING,
    RELAY_ENDING, /* it was answered, and the client is to close */
    RELAY_OPEN,
    RELAY_STUCK, /* open, but one side does not take what the other one has sent */
    RELAY_PHASES,
};

/* One direction. */
struct relay_stream {
    unsigned char *rest; /* read, and not yet written */
    size_t at, length;
    bool is_at_end; /* its reader has seen the end, and passed it on */
};

/* The connections of one address of clients that are not open to the leader yet. The leader
 * itself bounds those that are: it knows whose they are.
 */
struct relay_peer {
    unsigned count;
    struct list greeting;
    char address[INET6_ADDRSTRLEN];
};

struct relay_connection {
    struct relay *relay;
    struct list place;       /* in relay->phases[phase], the oldest first */
    struct list peer_place;  /* in peer->greeting */
    struct relay_peer *peer; /* NULL once it is open */
    enum relay_phase phase;
    int64_t since_ms;
    bool is_tls;
    bool asks_metrics; /* of this head, and the leader has not said yet whether it may */
    struct sockaddr_storage from;
    size_t n_endpoint; /* being tried */
    int client, leader;
    struct fdwatch *client_watch, *leader_watch;
    struct relay_stream up, down;
};

struct relay {
    struct loop *loop;
    struct list phases[RELAY_PHASES];
    struct map *peers;
    unsigned count, most;
    struct relay_target target;
    struct proxy_sender sender;
    bool is_leader_away; /* the last connection failed */
    struct metric_registry *metrics;
    struct metric *relayed, *refused, *open, *objects;
    unsigned char chunk[RELAY_CHUNK];
};

/* relay_connection.c. Begin takes a connection that was accepted. Close ends
 * it, with a reset if the other side had one.
 */
void relay_connection_begin(struct relay *relay, int fd TAKES, bool is_tls,
                            const struct sockaddr_storage *from);
void relay_connection_close(struct relay_connection *c, bool is_reset);
void relay_connection_enter(struct relay_connection *c, enum relay_phase phase);
/* Another endpoint of the leader, for one that takes too long. */
void relay_connection_dial_next(struct relay_connection *c);

/* relay_answer.c. Try: answers if the request is one for this head; false: it is
 * to be relayed. Metrics: once the leader has allowed them.
 */
bool relay_answer_try(struct relay_connection *c, const char *start);
void relay_answer_metrics(struct relay_connection *c);
void relay_answer_unreachable(struct relay_connection *c);
void relay_answer_drain(struct relay_connection *c);
