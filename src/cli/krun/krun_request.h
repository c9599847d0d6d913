/* SPDX-License-Identifier: Apache-2.0 */
/* krun_request.h - makes the request of a step from what was asked of krun, and from the
 * variables of its job
 *
 * Thread:  the main one.
 */
#pragma once

struct arena;
struct error;
struct krun_settings;

/* Completes settings->request with the command and opens nothing. -ENOENT: krun was not
 * called in a job; -EINVAL: options contradict each other, or the file of programs is
 * wrong.
 */
int krun_request_make(struct arena *arena, struct krun_settings *settings, int argc, char **argv,
                      struct error *err);
