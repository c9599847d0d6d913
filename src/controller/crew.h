/* SPDX-License-Identifier: Apache-2.0 */
/* crew.h - a thread of the controller, with a loop and a client of its own,
 * for a room that works on the API
 *
 * Owns:    the thread, its loop and its client.
 * Thread:  new and free on the main one; begin and end run on the crew's.
 */
#pragma once

#include "controller/apiserver/apiserver.h"
#include "lib/base/macro.h"

struct client;
struct crew;
struct loop;

/* Begin makes the room, end frees it. */
typedef void *
crew_begin_fn(struct loop *loop, struct client *client, void *context);
typedef void crew_end_fn(void *room);

struct crew_settings {
    const char *name; /* of the thread: 15 letters at the most */
    struct apiserver *api;
    enum apiserver_room room;
    crew_begin_fn *begin;
    crew_end_fn *end;
    void *context;
};

/* Life. New returns when the thread runs; free when it has ended. */
void crew_free(struct crew *crew);
struct crew *crew_new(const struct crew_settings *settings) OWNED_BY(crew_free);

/* Runs on the crew's thread, with its room. */
void crew_tell(struct crew *crew, void (*tell)(void *room));
