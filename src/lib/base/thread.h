/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - how a thread begins
 *
 * Every thread but the first blocks all signals: they go to the thread that
 * watches for them.
 *
 * Thread:  any.
 */
#pragma once

#include <pthread.h>

/* The name is seen in top(1), 15 bytes. A positive errno, as pthread_create. */
int thread_start(pthread_t *ret_thread,
                 const char *name,
                 void *work(void *arg),
                 void *arg);
