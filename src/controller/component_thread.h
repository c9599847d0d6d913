/* SPDX-License-Identifier: Apache-2.0 */
/* component_thread.h - a thread of the controller, with its own loop and
 * client, for a component that works on the API
 *
 * Owns:    the thread, its loop and its client.
 * Thread:  new and free on the main one; begin and end run on the component's.
 */
#pragma once

#include "controller/apiserver/apiserver.h"
#include "lib/base/macro.h"

struct client;
struct component_thread;
struct loop;

/* Begin makes the component, end frees it. */
typedef void *component_thread_begin_fn(struct loop *loop, struct client *client, void *context);
typedef void component_thread_end_fn(void *component);

struct component_thread_settings {
    const char *name; /* of the thread, at most 15 characters */
    struct apiserver *api;
    enum apiserver_room room;
    component_thread_begin_fn *begin;
    component_thread_end_fn *end;
    void *context;
};

/* Life. New starts the thread. Free stops it and returns when it has ended. */
void component_thread_free(struct component_thread *thread);
struct component_thread *component_thread_new(const struct component_thread_settings *settings)
    OWNED_BY(component_thread_free);

/* Runs `call` on the component's thread. */
void component_thread_call(struct component_thread *thread, void (*call)(void *component));
