/* SPDX-License-Identifier: Apache-2.0 */
/* A thread is woken for all messages of a turn together, for a wake-up costs more than a
 * message. The client may close while messages are on their way; they are then dropped on the
 * client's side, after it closed, so that no callback ever reaches something that was freed.
 */
#include "controller/apiserver/local/mailbox.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/alloc.h"

/* One message. */
struct mailbox_message {
    loop_fn fn;
    loop_fn abandoned;
    void *arg;
};

struct mailbox {
    atomic_uint references;
    pthread_mutex_t lock;     /* protects `loop` */
    struct loop *loop;        /* the client's; NULL: closed */
    struct loop *server_loop; /* the API's; this and the members below are used
                               * by its thread only
                               */
    struct mailbox_message *messages;
    size_t count, capacity;
};

/* The messages of one turn, on their way to the client's thread. */
struct bundle {
    struct mailbox_message *messages;
    size_t count;
};

void
mailbox_unref(struct mailbox *mailbox)
{
    if (mailbox == NULL || atomic_fetch_sub(&mailbox->references, 1) > 1)
        return;
    pthread_mutex_destroy(&mailbox->lock);
    free(mailbox->messages);
    free(mailbox);
}

struct mailbox *
mailbox_ref(struct mailbox *mailbox)
{
    atomic_fetch_add(&mailbox->references, 1);
    return mailbox;
}

struct mailbox *
mailbox_open(struct loop *server_loop, struct loop *client_loop)
{
    struct mailbox *mailbox = xnew(struct mailbox);

    atomic_init(&mailbox->references, 1);
    pthread_mutex_init(&mailbox->lock, NULL);
    mailbox->loop = client_loop;
    mailbox->server_loop = server_loop;
    return mailbox;
}

void
mailbox_close(struct mailbox *mailbox)
{
    pthread_mutex_lock(&mailbox->lock);
    mailbox->loop = NULL;
    pthread_mutex_unlock(&mailbox->lock);
    mailbox_unref(mailbox);
}

static void
bundle_free(struct bundle *bundle)
{
    free(bundle->messages);
    free(bundle);
}

/* Runs on the client's thread. */
static void
deliver_all(void *arg)
{
    struct bundle *bundle = arg;

    for (size_t i = 0; i < bundle->count; i++)
        bundle->messages[i].fn(bundle->messages[i].arg);
    bundle_free(bundle);
}

static void
abandon_all(struct bundle *bundle)
{
    for (size_t i = 0; i < bundle->count; i++)
        bundle->messages[i].abandoned(bundle->messages[i].arg);
    bundle_free(bundle);
}

static void
end_turn(void *arg)
{
    struct mailbox *mailbox = arg;
    struct bundle *bundle = xnew(struct bundle);
    bool is_open;

    *bundle = (struct bundle){mailbox->messages, mailbox->count};
    mailbox->messages = NULL;
    mailbox->count = mailbox->capacity = 0;
    pthread_mutex_lock(&mailbox->lock);
    is_open = mailbox->loop != NULL;
    if (is_open)
        loop_post(mailbox->loop, deliver_all, bundle);
    pthread_mutex_unlock(&mailbox->lock);
    if (!is_open)
        abandon_all(bundle);
    mailbox_unref(mailbox);
}

void
mailbox_post(struct mailbox *mailbox, loop_fn fn, loop_fn abandoned, void *arg)
{
    if (mailbox->count == 0)
        loop_defer(mailbox->server_loop, end_turn, mailbox_ref(mailbox));
    xgrow(mailbox->messages, mailbox->count, mailbox->capacity);
    mailbox->messages[mailbox->count++] = (struct mailbox_message){fn, abandoned, arg};
}
