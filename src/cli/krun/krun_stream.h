/* SPDX-License-Identifier: Apache-2.0 */
/* krun_stream.h - the connections of a krun to the agents and kiln-steps of the nodes of
 * its step, and what goes over them: requests, input, output, signals, ends
 *
 * The callbacks (krun.c) decide what krun does about each of these. A
 * callback may end the run (krun_stream_stop).
 *
 * Output is kept until the descriptor that it goes to can take it. It is credited to
 * the sender only then, so a reader that stops costs one window of memory for each
 * stream. The descriptors stay as they are (a shell may have them, too): a write is
 * no longer than what cannot block.
 *
 * Thread: the program's only one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/step/step_frames.h"

struct error;
struct krun_link;
struct krun_nodes;
struct krun_stream;
struct step_exit;
struct step_grant;
struct strbuf;

struct krun_stream_settings {
    const char *place;   /* of the agent (krun_place.h) */
    const char *pod_uid; /* on its node */
    const char *request; /* JSON, borrowed */
    size_t length;
    bool has_several_nodes; /* the job; its nodes are asked for */

    /* The step has to wait; once for each connection. */
    void (*waiting)(const char *words, void *context);
    /* There is no step: the words say why. */
    void (*refused)(const char *words, void *context);
    /* Its tasks are about to run; borrowed for the call. */
    void (*accepted)(const struct step_grant *grant, void *context);
    /* Adds to `out` what these bytes of a task's output become; length 0: the end of
     * the stream.
     */
    void (*output)(uint32_t task, enum step_stream stream, const char *bytes, size_t length,
                   struct strbuf *out, void *context);
    void (*ended)(uint32_t task, const struct step_exit *end, void *context);
    /* The connection to one of them is lost, and to the others it is not used any more. */
    void (*lost)(struct krun_nodes *nodes, const struct krun_link *links, unsigned n_links,
                 void *context);
    /* krun got a signal that it watches. */
    void (*signalled)(int signal_number, void *context);
    /* SIGNAL: somebody sends the step a signal, or cancels it (0). */
    int (*called)(const struct step_frame *f, void *context);
    void *context;
    const int *signals; /* to watch, 0 at the end */
    int input_fd;       /* where the tasks' input comes from; -1: none */
    int output_fds[STEP_STREAMS];
};

/* Life. Open connects; a socket that nobody listens at is tried again for a while,
 * because the agent may be restarted.
 */
void krun_stream_free(struct krun_stream *s);
int krun_stream_open(const struct krun_stream_settings *settings, struct krun_stream **ret_stream,
                     struct error *err);
DEFINE_CLEANUP(struct krun_stream, krun_stream_free)

/* Runs until the step has ended and its output was written: 0. -ECONNRESET: the
 * connection was lost before the end. -ECANCELED: refused, or stopped by a callback.
 */
int krun_stream_run(struct krun_stream *s, struct error *err);
void krun_stream_stop(struct krun_stream *s);

/* Sends all tasks a frame with a number: SIGNAL, SIZE. */
bool krun_stream_send(struct krun_stream *s, enum step_frame_type type, uint32_t number);

/* Calls back after that time, once; a later call replaces an earlier one. */
void krun_stream_call_at(struct krun_stream *s, int64_t after_ms, void (*late)(void *context));
