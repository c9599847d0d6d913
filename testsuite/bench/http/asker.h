/* SPDX-License-Identifier: Apache-2.0 */
/* asker.h - kept connections that ask one server, one request at a time each
 *
 * An answer that is no HTTP, of another status than expected, or a connection
 * that ends, ends the program: a bench of failures is none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct served;
struct strbuf;

struct asker_plan {
    const struct served *server;
    unsigned connections;
    double seconds;     /* for so long, */
    unsigned long most; /* or until so many are answered; 0: no such end */
    double per_second;  /* 0: as fast as they are answered */
    int status;         /* of every answer */
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

void asker_run(const struct asker_plan *plan,
               struct asker_answers *ret_answers);

/* One request over a connection of its own; the body is added to `body`,
 * which may be NULL. Returns the status.
 */
int asker_ask_once(const struct served *server,
                   const struct strbuf *request,
                   struct strbuf *body);

/* For others that speak HTTP by themselves. Bytes are written whole. From: by
 * 127.0.0.1 and the number, as a server bounds the connections of one address.
 */
int asker_connect(const struct served *server);
int asker_connect_from(const struct served *server, unsigned host);
void asker_send(int fd, const void *bytes, size_t length);
