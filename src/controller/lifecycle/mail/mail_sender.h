/* SPDX-License-Identifier: Apache-2.0 */
/* mail_sender.h - sends mail about jobs by the site's program
 *
 * The program gets the addresses as arguments and the message on its standard
 * input, as sendmail does. When it has exited with 0, a mark in the Job says that
 * the mail was sent; otherwise it is run again later. A controller that is killed
 * between the two sends the mail again, with the same Message-ID.
 *
 * At most a few programs run at a time, each for a limited time, and a user
 * gets only so many mails an hour; more are left out, which the last one says.
 *
 * Thread: the lifecycle loop's.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct client;
struct clock;
struct loop;
struct mail_sender;
struct object_cache;

struct mail_sender_settings {
    struct loop *loop;
    struct client *client;
    struct object_cache *cache;
    struct clock *clock;
    const char *program;  /* as sendmail */
    const char *cluster;  /* or NULL */
    int64_t most_an_hour; /* for each user */
};

void mail_sender_free(struct mail_sender *sender);
struct mail_sender *mail_sender_new(const struct mail_sender_settings *settings)
    OWNED_BY(mail_sender_free);
