/* SPDX-License-Identifier: Apache-2.0 */
/* asker.h - kept connections to one server, with one request at a time each
 *
 * A response that is not HTTP or has an unexpected status, or a connection that
 * ends, ends the program, because a bench of failures is meaningless.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct served;
struct strbuf;

struct asker_plan {
    const struct served *server;
    unsigned connections;
    double seconds;     /* at most this long, */
    unsigned long most; /* or until that many answers; 0: no limit */
    double per_second;  /* 0: as fast as answers arrive */
    int status;         /* expected of every response */
    void (*ask)(struct strbuf *out, unsigned long n, const void *arg);
    const void *arg;
};

struct asker_answers {
    unsigned long count;
    double seconds;
    double per_second;
    double p50_us, p99_us;
    double cpu_us; /* the server's own, per request */
    double bytes;  /* of bodies */
};

void asker_run(const struct asker_plan *plan, struct asker_answers *ret_answers);

/* Sends one request over a connection of its own; the body is added to `body`,
 * which may be NULL. Returns the status.
 */
int asker_ask_once(const struct served *server, const struct strbuf *request, struct strbuf *body);

/* For callers with their own HTTP code. asker_send writes all bytes.
 * asker_connect_from connects from 127.0.0.1 plus `host`, because a server
 * limits the connections of one address.
 */
int asker_connect(const struct served *server);
int asker_connect_from(const struct served *server, unsigned host);
void asker_send(int fd, const void *bytes, size_t length);
