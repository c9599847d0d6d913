/* SPDX-License-Identifier: Apache-2.0 */
/* step_frames.h - the frames of a step's connection, and their windows
 *
 * krun opens one connection to each node of its step. The conversation:
 *
 *   krun -> agent      HELLO   the request, JSON; then krun is silent until it is answered
 *   agent -> krun      WAIT    the step has to wait for CPUs; the reason, as text
 *   agent -> krun      REFUSE  JSON: why there is no step; the connection ends
 *   the agent hands the connection over to kiln-step
 *   kiln-step -> krun  ACCEPT  JSON: the step's id and its tasks on this node
 *   both ways          DATA    bytes of a stream of a task; without bytes: the end of the stream
 *   both ways          CREDIT  the receiver of a stream takes that many bytes more
 *   krun -> kiln-step  SIGNAL  for one task or all
 *   krun -> kiln-step  SIZE    the terminal of task 0 has so many rows and columns now
 *   kiln-step -> krun  BEAT    what the tasks of the node use so far (step_figures.h)
 *   kiln-step -> krun  EXIT    a task has ended
 *   kiln-step -> krun  END     all tasks have ended and all their output was sent; what they
 *                              used (step_figures.h)
 *
 * In a job of several nodes, krun first asks for their agents, and the step manager, the
 * agent of the first node, for CPUs on all nodes of the step:
 *
 *   krun -> agent      ASK     for a pod, by its uid or group; the connection then ends
 *   agent -> krun      INFO    what the pod has there; JSON (step_info.h)
 *   krun -> manager    PLACES  what it has on all nodes, JSON; before HELLO, if
 *   manager -> krun    NEED    was the answer to an earlier HELLO without it
 *   manager -> krun    GRANT   the step's id, and its tasks and CPUs on each node; krun
 *                              keeps the connection as long as it has the CPUs
 *   manager -> krun    BEAT    after GRANT: it takes
 *   krun -> manager    BEAT    what all nodes use so far
 *   krun -> manager    END     all nodes have ended; what they used together
 *   krun -> agent      GRANT   the same, to the agent of each node, before HELLO
 *   krun -> kiln-step  START   all nodes have accepted the step
 *
 * Between ranks of an MPI program on several nodes (pmi_server.h):
 *
 *   kiln-step -> krun  PMI     lines that the tasks of the node have put; without lines:
 *                              all of them are in the barrier
 *   krun -> kiln-step  PMI     the lines of all nodes; without lines: the barrier opens
 *   both ways          ABORT   all tasks end, because of this task; its exit code
 *   both ways          PMIX    a message of pmix_message.h
 *
 * Of an allocation, a job that kalloc holds:
 *
 *   kalloc -> agent      HOLD   for a pod; after the answer BEAT, and EXIT with its status
 *   agent -> kalloc      BEAT   it holds the job now
 *   kiln-pause -> agent  AWAIT  in the job, for its pod
 *   agent -> kiln-pause  BEAT, EXIT: what comes from kalloc
 *   agent -> kalloc      END    EXIT was passed on
 *
 * Of signals to a step from outside of it (scancel JOB.STEP), for the step manager:
 *
 *   scancel -> agent     CALL   the pod, the step's id and a signal, as text; 0: it is to end
 *   agent -> scancel     ACCEPT it was passed on; WAIT: the step is being started; END: there
 *                               is no such step; REFUSE: why not
 *   agent -> krun        SIGNAL as the step manager; kiln-step passes on what its agent tells
 *                               it; 0: the step is cancelled
 *
 * Of a step whose connection was lost, to the agent of that node:
 *
 *   krun -> agent        WHY    the pod and the step's id, as text
 *   agent -> krun        END    what tells of its tasks, as text, if the agent knows why
 *                               kiln-step has died, else none; WAIT: it is still ending
 *
 * Of sessions on a node (pam_kiln):
 *
 *   pam_kiln -> agent    ENTER  a uid, and " session" to have this process put into the cgroup
 *                               of the user's newest pod
 *   agent -> pam_kiln    ACCEPT the name of the pod; or REFUSE: why not
 *
 * A frame is a header of 12 bytes (length of the payload, type, stream, two zero
 * bytes, task; big endian) and the payload.
 *
 * Windows: a sender may send WINDOW bytes of DATA of a stream that were not credited
 * yet. The window is of the stream, not of the task: a step of 1,000 tasks needs no
 * more memory than a step of one.
 *
 * Thread: one at a time for each reader and window.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct strbuf;

#define STEP_FRAME_HEADER 12u
#define STEP_FRAME_BYTES  (64u << 10) /* the largest payload, except of the first two: */
#define STEP_HELLO_BYTES  (16u << 20)
#define STEP_ACCEPT_BYTES (1u << 20)
#define STEP_WINDOW_BYTES (256u << 10)
#define STEP_ALL_TASKS    UINT32_MAX

/* A machine that answered nothing for so long is lost; how often that is looked at. A
 * process may be silent for ever: it is stopped, or its job suspended.
 */
#define STEP_LOST_MS 30000
#define STEP_LOOK_MS 5000

/* How often a kalloc sends a beat; so long without one, and its allocation ends. */
#define STEP_BEAT_MS 5000
#define STEP_HOLD_MS 90000

enum step_frame_type {
    STEP_FRAME_HELLO = 1,
    STEP_FRAME_WAIT,
    STEP_FRAME_REFUSE,
    STEP_FRAME_ACCEPT,
    STEP_FRAME_DATA,
    STEP_FRAME_CREDIT,
    STEP_FRAME_SIGNAL,
    STEP_FRAME_EXIT,
    STEP_FRAME_END,
    STEP_FRAME_BEAT,  /* of kalloc, without a payload; of a step, its figures */
    STEP_FRAME_ORDER, /* agent -> kiln-step: how it becomes the user */
    STEP_FRAME_KEYS,  /* agent -> kiln-step: of a connection from another node */
    STEP_FRAME_ASK,
    STEP_FRAME_INFO,
    STEP_FRAME_PLACES,
    STEP_FRAME_NEED,
    STEP_FRAME_GRANT,
    STEP_FRAME_START,
    STEP_FRAME_PMI,
    STEP_FRAME_ABORT,
    STEP_FRAME_SIZE,
    STEP_FRAME_HOLD,
    STEP_FRAME_AWAIT,
    STEP_FRAME_PMIX,
    STEP_FRAME_ENTER,
    STEP_FRAME_CALL,
    STEP_FRAME_WHY,
    STEP_FRAME_TYPES, /* one more than the last */
};

enum step_stream { STEP_STDIN, STEP_STDOUT, STEP_STDERR, STEP_STREAMS };

struct step_frame {
    enum step_frame_type type;
    enum step_stream stream; /* of DATA and CREDIT */
    uint32_t task;           /* the task's number in the step, or STEP_ALL_TASKS */
    const char *payload;
    size_t length;
};

/* The end of a task, as the payload of EXIT. `message` says why it could not be
 * started; not NUL-terminated, empty otherwise.
 */
struct step_exit {
    uint32_t exit_code;
    uint32_t signal; /* 0: it exited */
    bool has_core;
    const char *message;
    size_t message_length;
};

/* The message of a task that the kernel has killed because its job has no more memory. */
#define STEP_OUT_OF_MEMORY "Out Of Memory"

/* The payload of SIZE, as a number. */
#define STEP_SIZE(rows, columns) ((uint32_t)(rows) << 16 | (uint32_t)(columns))

/* Appends a frame. The payload may be at most what its type allows. */
void step_frame_add(struct strbuf *out, const struct step_frame *frame);

/* Appends a frame whose payload is one number (CREDIT, SIGNAL, SIZE). */
void step_frame_add_number(struct strbuf *out, enum step_frame_type type, enum step_stream stream,
                           uint32_t task, uint32_t number);

void step_frame_add_exit(struct strbuf *out, uint32_t task, const struct step_exit *end);
/* Only the header, for a payload that follows from elsewhere. */
void step_frame_encode_header(const struct step_frame *frame, char out[STEP_FRAME_HEADER]);
/* Bytes of the frame that begins there, with its header. */
size_t step_frame_bytes(const char *frame);
/* -EBADMSG when the payload is none. */
int step_frame_number(const struct step_frame *frame, uint32_t *ret_number);
int step_frame_size(const struct step_frame *frame, uint16_t *ret_rows, uint16_t *ret_columns);
int step_frame_exit(const struct step_frame *frame, struct step_exit *ret_end);
size_t step_frame_limit(enum step_frame_type type);

/* The frames that arrive on a connection. The memory grows with the bytes that have
 * arrived, not with the length that a header claims.
 *
 * Reader_space returns where the caller puts the bytes that it receives, at least
 * one, and reader_add says how many there were. Reader_next returns 1 and a frame
 * that is borrowed until the next call of reader_space; 0 when a frame is
 * incomplete; -EBADMSG when the bytes are no frame, for ever after.
 */
struct step_reader {
    char *bytes;
    size_t start, end, capacity;
    bool is_broken;
};
void step_reader_fini(struct step_reader *r);
char *step_reader_space(struct step_reader *r, size_t *ret_length);
void step_reader_add(struct step_reader *r, size_t length);
int step_reader_next(struct step_reader *r, struct step_frame *ret_frame);
/* Bytes that no frame has taken yet. */
size_t step_reader_left(const struct step_reader *r);

/* Sender's side of a window: how many bytes may be sent now. Credit returns -EBADMSG
 * when the peer credits more than was sent.
 */
struct step_send_window {
    uint32_t credit;
};
void step_send_window_init(struct step_send_window *w);
void step_send_window_take(struct step_send_window *w, size_t sent);
int step_send_window_credit(struct step_send_window *w, uint32_t credit);

/* Receiver's side. Receive returns -EBADMSG when the peer has sent more than it may.
 * Consume notes that so many bytes have gone on; it returns the credit to send now, or
 * 0, because a credit for every few bytes would cost more than the bytes.
 */
struct step_receive_window {
    uint32_t waiting; /* received, and not gone on */
    uint32_t owed;    /* gone on, and not credited */
};
int step_receive_window_receive(struct step_receive_window *w, size_t length);
uint32_t step_receive_window_consume(struct step_receive_window *w, size_t length);
