/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - starts a thread
 *
 * Every thread but the first blocks all signals, so that they are delivered to
 * the thread that watches for them.
 *
 * Thread:  any.
 */
#pragma once

#include <pthread.h>

/* The name is shown by top(1) and has at most 15 bytes. Returns 0 or a positive
 * errno, as pthread_create does.
 */
int thread_start(pthread_t *ret_thread, const char *name, void *work(void *arg), void *arg);
