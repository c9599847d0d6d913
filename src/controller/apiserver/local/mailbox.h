/* SPDX-License-Identifier: Apache-2.0 */
/* mailbox.h - messages from the API's thread to a client in this process
 *
 * All messages of one turn of the API's loop are delivered together at its end,
 * because waking a thread for each message costs more than the message.
 *
 * Thread:  post on the API's; open and close on the client's; references on
 *          both.
 */
#pragma once

#include "lib/base/macro.h"
#include "lib/loop/loop.h"

struct mailbox;

/* Life. Close drops the client's reference, too; messages that are delivered
 * later are abandoned.
 */
void mailbox_unref(struct mailbox *mailbox);
struct mailbox *mailbox_ref(struct mailbox *mailbox);
struct mailbox *mailbox_open(struct loop *server_loop, struct loop *client_loop)
    OWNED_BY(mailbox_unref);
void mailbox_close(struct mailbox *mailbox);

/* Runs `fn` on the client's thread, in the order of the calls. If the mailbox
 * was closed, runs `abandoned` on the API's thread instead.
 */
void mailbox_post(struct mailbox *mailbox, loop_fn fn, loop_fn abandoned, void *arg);
