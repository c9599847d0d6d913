/* SPDX-License-Identifier: Apache-2.0 */
/* krun_link.h - one connection of a krun: to its agent, to the step manager, or to the
 * kiln-step of a node
 *
 * Thread: the program's only one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/strbuf.h"
#include "lib/step/step_channel.h"
#include "lib/step/step_figures.h"
#include "lib/step/step_frames.h"

struct error;
struct step_keys;

/* Frames that go to several links, and are kept once. */
struct krun_shared {
    struct strbuf text;
    unsigned n_users;
};
struct krun_shared *krun_shared_new(void);
void krun_shared_release(struct krun_shared *s);

struct krun_share;

struct krun_link {
    struct step_channel channel;
    int fd; /* -1: none */
    struct step_reader in;
    struct strbuf out;
    size_t sent;
    struct krun_share *shares;     /* to be sent, frame by frame, when `out` is */
    struct step_send_window input; /* what the tasks there may be sent */
    struct step_receive_window windows[STEP_STREAMS];
    size_t owed[STEP_STREAMS]; /* received and not credited */
    bool is_accepted, has_ended, is_lost;
    struct step_figures figures; /* of the tasks there: so far, and when they have ended */
    bool has_news;               /* figures that the step manager was not told */
    bool takes_beats;            /* of the manager: it wants them */
    int64_t told_ms;             /* of the manager: when it was told; 0: never */
    const char *node;            /* for messages; NULL: the own one */
};

/* Life. Open takes the descriptor; the keys are NULL on the own node. */
void krun_link_open(struct krun_link *l, int fd, const struct step_keys *keys);
void krun_link_close(struct krun_link *l);

/* Connects to the agent's socket, again and again for a while if nobody listens there,
 * because the agent may be restarted; or once.
 */
int krun_link_dial_own(const char *socket, bool is_impatient, int *ret_fd, struct error *err);
/* From now on, that program says on standard error that it waits for the agent. */
void krun_link_announce_waits(const char *program);

/* Waits for what an agent has to send at once, and says so after some seconds, once in all. As
 * poll: 0 after half a minute. Thread: any.
 */
int krun_link_await_answer(int fd, short events);

/* Adds a frame without stream and task. */
void krun_link_add(struct krun_link *l, enum step_frame_type type, const void *payload,
                   size_t length);
/* Frames, whole ones, of several links. */
void krun_link_share(struct krun_link *l, struct krun_shared *shared);
void krun_link_flush(struct krun_link *l);
bool krun_link_is_flushed(const struct krun_link *l);
/* Notes when the other machine is lost. Returns the time to wait, of these two the earlier
 * one (-1: for ever): what is given, and when it has to look again.
 */
int krun_link_check(struct krun_link *l, int wait_ms);

/* Receives what is here now; notes the end of the connection. Next: as
 * step_reader_next.
 */
void krun_link_receive(struct krun_link *l);
int krun_link_next(struct krun_link *l, struct step_frame *ret_frame);

/* Take_end returns whether it is the first END of the link. Send_ends sends the figures of all
 * links to the step manager, for its record of the step.
 */
bool krun_link_take_end(struct krun_link *l, const struct step_frame *f);
void krun_link_send_ends(struct krun_link *manager, const struct krun_link *links, unsigned n);

/* Takes what the tasks of a node use so far. It goes to the step manager with that of the other nodes, if it
 * takes it: when all have told again, and at least every ten seconds.
 */
void krun_link_take_beat(struct krun_link *l, const struct step_frame *f, struct krun_link *manager,
                         struct krun_link *links, unsigned n);

/* Waits for one frame, while nothing else happens: for questions before a step. */
int krun_link_wait(struct krun_link *l, struct step_frame *ret_frame, struct error *err);
