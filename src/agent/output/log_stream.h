/* SPDX-License-Identifier: Apache-2.0 */
/* log_stream.h - one reader of one pod's output, served
 *
 * A child with the user's rights (kiln-output) reads the file into a pipe;
 * each piece is posted to the controller, and the next one is read when it was
 * taken, so that a slow reader costs nothing but its own time.
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct http_client;
struct log_stream;
struct loop;

struct log_stream_wish {
    const char *id;   /* the controller's, for this reader */
    const char *path; /* NULL: `refusal` says why there is none */
    const char *gone; /* or its uid, of a pod that is gone: it is looked up */
    int status;       /* of the refusal, in HTTP's numbers */
    const char *refusal;
    uid_t uid;
    gid_t gid;
    bool follow;
    int64_t tail;  /* lines; -1: all */
    int64_t limit; /* bytes; -1: all */
    bool timestamps;
    int64_t since_us;      /* real time; 0: all */
    int64_t started_us;    /* of the job; 0: not known */
    const char *state_dir; /* of the pod, where its output index is; of one
                            * that is gone, the agent's */
};

typedef void log_stream_over_fn(struct log_stream *stream, void *context);

struct log_stream_settings {
    struct loop *loop;
    struct http_client *http;
    const char *node;
    const char *program;      /* kiln-output */
    log_stream_over_fn *over; /* served or given up: to be freed */
    void *context;
};

/* Life. Free ends the child. */
void log_stream_free(struct log_stream *stream);
struct log_stream *log_stream_new(const struct log_stream_settings *settings,
                                  const struct log_stream_wish *request)
    OWNED_BY(log_stream_free);

/* The job is over: what a follower has not read yet is the last. */
void log_stream_finish(struct log_stream *stream);
