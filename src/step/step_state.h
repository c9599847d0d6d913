/* SPDX-License-Identifier: Apache-2.0 */
/* step_state.h - the private struct of kiln-step: the tasks of one step on one node
 *
 * kiln-step.c has the life of the step, step_link.c the connection to krun,
 * step_tasks.c the processes, step_input.c what the tasks read, step_output.c what
 * they write, step_terminal.c the terminal of task 0.
 *
 * Thread: the program's only one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "agent/shepherd/files/rlimit.h"
#include "lib/base/list.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_channel.h"
#include "lib/step/step_figures.h"
#include "lib/step/step_frames.h"
#include "lib/step/step_grant.h"
#include "lib/step/step_request.h"
#include "step/step_ending.h"

struct cgroup;
struct step;
struct step_plans;
struct step_pmi;
struct step_pmix;

/* A descriptor that epoll watches; a member of its owner. All are
 * edge-triggered: a callback goes on until the call would block, or notes that there
 * is more.
 */
struct step_watch {
    void (*ready)(struct step *s, struct step_watch *w, uint32_t events);
};

struct step_link {
    struct step_watch watch;
    struct step_channel channel;
    struct step_reader in;
    struct strbuf out;
    size_t sent; /* of out */
    bool is_lost;
};

/* A pipe from a task, or the master of its terminal. */
struct step_output {
    struct step_watch watch;
    struct list ready; /* in step.ready of its stream, while there may be more to read */
    int fd;            /* -1: closed */
    const struct step_task *owner;
    enum step_stream stream;
};

struct step_task {
    uint32_t rank;
    pid_t pid; /* 0: it never ran, or has ended */
    struct step_output outputs[STEP_STREAMS];
    /* its standard input */
    struct step_watch input_watch;
    int input_fd; /* -1: none, or closed; with a terminal, a second descriptor of its master */
    bool has_terminal, has_typed_end, has_ended_line;
    int64_t type_end_ms; /* the next time */
    uint64_t read;       /* bytes of the input that it has got */
};

/* Bytes of krun's input that not all tasks have got: at most one window. */
struct step_input {
    char *ring;
    uint64_t begin, end; /* positions in the stream */
    struct step_receive_window window;
    bool is_over; /* nothing follows */
};

struct step {
    struct arena *arena;
    struct step_request request;
    struct step_grant grant;
    const struct step_layout_node *place; /* this node's */
    pid_t job;                            /* its first process on this node */
    struct cgroup *cgroup;                /* NULL: none */
    uint64_t oom_kills;                   /* of the pod, that were told or before the step */
    int epoll_fd, signal_fd;
    struct step_watch signal_watch;
    struct step_link link;
    struct step_task *tasks;
    struct step_plans *plans; /* from the start of the tasks on */
    struct step_pmi *pmi;     /* NULL: the step has no PMI-1 */
    struct step_pmix *pmix;   /* NULL: it has no PMIx */
    struct step_ending ending;
    unsigned n_tasks, n_running, n_outputs;
    unsigned n_inputs; /* opened so far: with none, the input is not kept */
    struct step_input input;
    struct list ready[STEP_STREAMS];
    struct step_send_window windows[STEP_STREAMS];
    bool has_begun;     /* the tasks may start: no other node can refuse the step */
    bool has_started;   /* they were */
    bool is_over;       /* all tasks have ended */
    bool has_ended;     /* END was sent */
    bool is_refused;    /* the tasks could not be started */
    int64_t ask_ms;     /* when the tasks get SIGTERM, though krun has not sent it; 0: not */
    int64_t kill_ms;    /* the same for SIGKILL; 0: they go on */
    int64_t usage_ms;   /* when it is looked at next; 0: not yet */
    int64_t give_up_ms; /* on outputs that somebody else holds open; 0: not yet */
    /* The soft limit of descriptors that this program began with: it needs many itself. */
    rlim_t limits;
    struct step_figures *figures; /* for the agent */
    int64_t accepted_ms;          /* monotonic; before krun was told */
    struct rlimit_setting task_limits[RLIMIT_SETTINGS_MAX];
    unsigned n_task_limits;
};

/* kiln-step.c */
void step_watch(struct step *s, int fd, uint32_t events, struct step_watch *w);
/* step_result.c. Open takes the agent's file, before the user has any part in this. */
struct rusage;
void step_result_open(struct step *s);
void step_result_accept(struct step *s);
void step_result_begin(struct step *s);
void step_result_end(struct step *s);
void step_result_send(struct step *s);
void step_result_note_signal(struct step *s);
void step_result_add_exit(struct step *s, const struct step_exit *end);
void step_result_add_usage(struct step *s, const struct rusage *usage);

/* step_usage.c: tells what running tasks use, when it is time for that. Returns how long to wait for
 * the next time; -1: for ever.
 */
int step_usage_report(struct step *s, int64_t now_ms);

/* Begin: the tasks may start; -EBADMSG for the second time. Start_tasks starts them, if they
 * may, as soon as what they need is there.
 */
int step_begin(struct step *s);
void step_start_tasks(struct step *s);

/* step_user.c: from an order of the agent (agent/shepherd/files/order.h). Of descriptors above
 * 2, only the kept one stays open (-1: none). Returns the first process of the job, too, and
 * the step's cgroup; NULL: it has none.
 */
int step_user_become(const char *text, size_t length, int kept_fd, pid_t *ret_job,
                     struct cgroup **ret_cgroup, struct error *err);

/* step_memory.c: whether the kernel has killed a process of the pod for lack of memory, for
 * the end of a task by SIGKILL. Each such kill is told once.
 */
void step_memory_begin(struct step *s);
bool step_memory_take_kill(struct step *s);

/* step_link.c. Open watches the descriptor. Flush sends what it can; link_has_room: the
 * queue is short enough for another piece of output. A link that was lost accepts
 * everything and sends nothing.
 */
void step_link_open(struct step *s);
void step_link_flush(struct step *s);
bool step_link_has_room(const struct step *s);
bool step_link_is_flushed(const struct step *s);

/* step_tasks.c. Start starts all; what cannot be started has ended. Reap notes the
 * ends of processes; it returns false when no process of the step is left.
 */
int step_tasks_start(struct step *s, struct error *err);
void step_tasks_end_unstarted(struct step *s); /* killed before they ran */
bool step_tasks_reap(struct step *s);
void step_tasks_signal(struct step *s, uint32_t rank, int signal_number);
void step_tasks_kill(void);

/* step_input.c. The pipe of a task's input; -1: the task reads nothing of krun. */
int step_input_open(struct step *s, struct step_task *t, int *ret_fd);
void step_input_add(struct step *s, struct step_task *t, int fd); /* takes it */
void step_input_close(struct step *s, struct step_task *t);
int step_input_receive(struct step *s, const struct step_frame *f);
void step_input_write(struct step *s, struct step_task *t); /* what it has not got */
void step_input_drop(struct step *s, struct step_task *t);

/* step_output.c. Open makes the pipe; *ret_fd is the task's end, which the caller
 * closes. Add takes a descriptor to read from. Check: there may be more to read. Pump
 * sends what is ready, as far as windows and link allow.
 */
int step_output_open(struct step *s, struct step_task *t, enum step_stream stream, int *ret_fd);
void step_output_add(struct step *s, struct step_task *t, enum step_stream stream, int fd);
void step_output_check(struct step *s, struct step_task *t, enum step_stream stream);
void step_output_pump(struct step *s);
void step_output_find_ends(struct step *s);
void step_output_give_up(struct step *s);

/* step_terminal.c. Open makes the terminal of a task; fds are the task's three streams,
 * which the caller closes. Turn types on what the terminal has not taken, and the end of
 * the input; it returns in how many milliseconds to call again, or -1. Hang_up: krun is
 * gone; waits a moment for the programs to notice.
 */
int step_terminal_open(struct step *s, struct step_task *t, int fds[3]);
int step_terminal_turn(struct step *s, int64_t now_ms);
void step_terminal_resize(struct step *s, uint16_t rows, uint16_t columns);
void step_terminal_hang_up(struct step *s);
