/* SPDX-License-Identifier: Apache-2.0 */
/* log_stream.h - serves one reader of one pod's output
 *
 * A child with the user's rights (kiln-output) reads the file into a pipe. Each
 * piece is posted to the controller, and the next one is read only after the
 * controller has accepted it, so that a slow reader delays only itself.
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
    const char *id;   /* the controller's id of this reader */
    const char *path; /* NULL: there is none; see `refusal` and `gone` */
    const char *gone; /* NULL, or the uid of a pod that is gone */
    int status;       /* HTTP status of the refusal */
    const char *refusal;
    uid_t uid;
    gid_t gid;
    bool follow;
    int64_t tail;  /* lines; -1: all */
    int64_t limit; /* bytes; -1: all */
    bool timestamps;
    int64_t since_us;   /* wall clock; 0: all */
    int64_t started_us; /* of the job; 0: unknown */
    /* the pod's directory, which has its output index; for a pod that is gone,
     * the agent's
     */
    const char *state_dir;
};

typedef void log_stream_over_fn(struct log_stream *stream, void *context);

struct log_stream_settings {
    struct loop *loop;
    struct http_client *http;
    const char *node;
    const char *program;      /* kiln-output */
    const char *cgroup;       /* of the child; NULL: this process's */
    log_stream_over_fn *over; /* ended, and the child is gone: the owner frees it */
    void *context;
};

/* Life. log_stream_stop kills the child, and `over` follows once the child is
 * gone, which may take as long as the child's file system likes. log_stream_free
 * kills the child and does not wait for it either, so that a child that lives on
 * is not counted any more: for the end of the agent.
 */
void log_stream_free(struct log_stream *stream);
struct log_stream *log_stream_new(const struct log_stream_settings *settings,
                                  const struct log_stream_wish *request) OWNED_BY(log_stream_free);

void log_stream_stop(struct log_stream *stream);

/* The job is over: a follower gets the rest of the output, and then the end. */
void log_stream_finish(struct log_stream *stream);
