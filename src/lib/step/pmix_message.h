/* SPDX-License-Identifier: Apache-2.0 */
/* pmix_message.h - what kiln-pmix, kiln-step and krun say to each other about PMIx
 *
 * kiln-pmix, one process for each node of a step, is the server that the tasks there speak
 * PMIx to. It knows the tasks of its own node only:
 *
 *   kiln-step -> kiln-pmix  SETUP   bytes: the name of the namespace and a directory, each
 *                                   with its NUL
 *   kiln-pmix -> kiln-step  READY   bytes: variables for the tasks, "NAME=value" with NUL
 *   kiln-pmix -> kiln-step  JOINED  id: a task that has begun to speak PMIx; LEFT: it has
 *                                   finalized
 *   kiln-pmix -> kiln-step  ABORT   id: the task that ends the step; number: its exit code
 *   kiln-pmix -> kiln-step  FAILED  bytes: why the step cannot go on
 *   kiln-step -> kiln-pmix  ENDED   id: a task that has ended
 *
 * The rest goes through kiln-step and krun to the other nodes, if there are any:
 *
 *   kiln-pmix -> krun       FENCE   id: of the fence, the same on all nodes; number 1: it is
 *                                   one of all tasks; bytes: a bit for each node that takes part
 *   kiln-pmix -> krun       DATA    id: of the fence; bytes: what the node's tasks give
 *   krun -> kiln-pmix       DATA    the same, of all nodes that take part: the fence is over
 *   kiln-pmix -> kiln-pmix  GET     number: to krun the node that is asked, from krun the one
 *                                   that asks; id: of the question; bytes: the task, as text
 *   kiln-pmix -> kiln-pmix  GOT     the same; bytes: what the task has given; NONE: there is
 *                                   nothing
 *
 * A message that is longer than a frame goes in several, of which all but the last say
 * that more follows; those of another message may come between them.
 *
 * Thread:  any; pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct step_frame;
struct strbuf;

/* Bytes that the tasks of a step may give to one fence, all together; a node may give its
 * tasks' part of it. One answer to GET may have as many.
 */
#define PMIX_FENCE_MOST  (64u << 20)
/* Fences that are open at the same time, of different sets of tasks. */
#define PMIX_FENCES_MOST 256u

enum pmix_message_kind {
    PMIX_SETUP = 1,
    PMIX_READY,
    PMIX_JOINED,
    PMIX_LEFT,
    PMIX_ABORT,
    PMIX_FAILED,
    PMIX_ENDED,
    PMIX_FENCE,
    PMIX_DATA,
    PMIX_GET,
    PMIX_GOT,
    PMIX_NONE,
    PMIX_KINDS, /* one more than the last */
};

struct pmix_message {
    enum pmix_message_kind kind;
    bool has_more; /* as read: the next piece follows */
    uint32_t number;
    uint64_t id;
    const char *bytes;
    size_t length;
};

/* Adds frames of type STEP_FRAME_PMIX, at least one. With has_more the last one says so, too. */
void pmix_message_add(struct strbuf *out, const struct pmix_message *m);

/* A frame of that type; the bytes are borrowed from it. -EBADMSG. */
int pmix_message_read(const struct step_frame *frame, struct pmix_message *ret_message);
