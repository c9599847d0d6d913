/* SPDX-License-Identifier: Apache-2.0 */
/* standby.h - a controller that waits while another one leads
 *
 * Meanwhile its unit counts as started, signals are handled, and its ports are
 * relayed to the leader (relay.h). When it leads itself, it publishes where it
 * can be reached, and takes what others relay to it.
 *
 * Called by:  controller.c, while the store is opened, and when it listens.
 * Thread:     the loop's, which it runs while another one opens the store: statements of
 *             a database may block, and signals, relays and health must not.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "controller/store/engine/engine.h"
#include "lib/base/error.h"

struct apiserver;
struct controller_settings;
struct loop;
struct proxy_receiver;
struct relay;

/* From the thread that opens the store to the loop's. */
struct standby_news {
    bool waits; /* why */
    struct error why;
    bool has_leader; /* another one */
    struct engine_leader leader;
    bool has_follower; /* so many objects are in memory */
    size_t n_objects;
};

struct standby {
    const struct controller_settings *settings;
    struct loop *loop;
    const bool *is_stopping; /* set by a signal */
    bool is_opening;         /* by another thread; the members below are the loop's */
    bool has_waited;
    bool has_named; /* who leads, in the log */
    bool has_tried_relay;
    bool is_loading;
    struct engine_leader self, leader;
    int stop_fd;         /* can be read when the wait is to end */
    atomic_bool is_over; /* likewise, for who reads objects */
    pthread_mutex_t lock;
    struct standby_news news;        /* guarded by `lock` */
    struct relay *relay;             /* while it waits, or NULL */
    bool must_tell;                  /* the relay does not know the leader yet */
    struct proxy_receiver *receiver; /* while it leads, or NULL */
    bool is_handed_over;             /* the lead, to another controller */
};

/* Life. A zeroed struct has nothing to free. */
void standby_init(struct standby *standby, const struct controller_settings *settings,
                  struct loop *loop, const bool *is_stopping);
void standby_fini(struct standby *standby);

struct engine_waits standby_waits(struct standby *standby);

/* Closes the ports, before the API server listens there, and lets it take what is relayed. */
void standby_end(struct standby *standby, struct apiserver *api);

/* Ends this process in good order. Its result is then an error, after which the
 * service manager starts it again, to wait.
 */
void standby_hand_over(void *standby);
int standby_result(const struct standby *standby, struct error *err);
