/* SPDX-License-Identifier: Apache-2.0 */
/* step_request.h - what krun asks for: the tasks of a step, and where they run
 *
 * krun sends it, as JSON, in its first frame to each agent. It is input from an ordinary user:
 * decoding checks every bound below, and refuses members that it does not know, because an
 * option of a newer krun must not be ignored. Numbers that are 0 and texts that are NULL were
 * not asked for. Texts of the user may have any bytes but NUL (byte_text.h).
 *
 * Nothing in it says who asks: the agent takes the user from the connection. It does not say
 * how the step ends (--time, --wait, --signal, --kill-on-bad-exit): krun sends signals.
 *
 * Thread:  any; a request is borrowed from its arena.
 * See:     step_layout.h for what becomes of the numbers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/json/record.h"

struct arena;
struct error;
struct strbuf;

#define STEP_REQUEST_BYTES_MOST (16u << 20) /* of its JSON */
#define STEP_TASKS_MOST         65536
#define STEP_NODES_MOST         512
#define STEP_CPUS_MOST          1024 /* of one task */
#define STEP_SECONDS_MOST       (INT64_C(10) * 365 * 24 * 3600)
#define STEP_PATTERN_MOST       4096
#define STEP_SECRET_DIGITS      32

/* A soft limit of krun's own process, which its tasks inherit up to the hard
 * limit of the job.
 */
struct step_limit {
    const char *name; /* "nofile", as in lib/api's process limits */
    int64_t soft;     /* -1: unlimited */
};

/* The files of the tasks' streams, where they are not krun's own. The patterns of
 * files are Slurm's (step_output_name.h).
 */
struct step_streams {
    const char *input;  /* a file; "none"; a task's number: only that task; NULL: all */
    const char *output; /* a file; "none"; a task's number; NULL: krun prints all */
    const char *error;  /* the same; NULL: as output */
    bool appends;       /* files are appended to, not truncated */
};

struct step_request {
    /* The pod on the node that krun runs on; the job's number and the name are only
     * for people and for file names. */
    const char *pod_uid;
    const char *job_id;
    const char *name;

    /* The command of all tasks. For several programs the text of a file says which
     * task runs what (step_programs.h), and these words follow its own. */
    LIST_OF(const char *) arguments;
    const char *programs;
    LIST_OF(const char *) environment; /* "NAME=value" */
    const char *directory;             /* absolute */
    int64_t umask;
    LIST_OF(struct step_limit) limits;
    const char *task_prolog, *task_epilog; /* files, run by each task as the user */
    struct step_streams streams;
    /* Task 0 has a terminal of this size (0: not known) for all its streams, and
     * the other tasks have none, as with srun --pty.
     */
    bool has_terminal;
    int64_t terminal_rows, terminal_columns;

    /* How much. */
    int64_t tasks;
    int64_t cpus_per_task;
    int64_t tasks_per_node;
    int64_t min_nodes, max_nodes;
    int64_t memory_bytes; /* on each node */
    int64_t gpus_per_task;
    int64_t gpus_per_node;
    int64_t job_tasks, job_cpus_per_task; /* of the job: what a task has if cpus_per_task is 0 */
    bool is_exact;                        /* one CPU for each task if cpus_per_task is 0 */
    bool overlaps;                        /* also takes CPUs that other steps have */
    bool overcommits;                     /* tasks share the CPUs that there are */
    bool is_immediate;                    /* refused if it cannot start now */

    /* Where. */
    const char *nodes;          /* Slurm's list of names */
    const char *excluded_nodes; /* the same */
    int64_t first_node;         /* the index of the first node in the job's list */
    const char *distribution;   /* "block:cyclic" (step_layout.h) */
    const char *cpu_bind;       /* "cores", "map_cpu:0,2" (step_binding.h) */

    /* How tasks find each other: "none", "pmi1", "pmix"; NULL: PMI-1 if that is possible. Tasks
     * prove by the secret, which krun makes for "pmix", that they are of the step.
     */
    const char *mpi, *mpi_secret;

    /* Krun ends the tasks then; for the record of the step. 0: no limit of its own. */
    int64_t time_limit_s;
};

/* Adds the JSON text. Never fails: a request that is too large is refused where
 * it is decoded, and by krun before it connects (step_request_check).
 */
void step_request_encode(const struct step_request *request, struct strbuf *out);

/* -EINVAL with the member and what is wrong with it; -E2BIG for a text above
 * STEP_REQUEST_BYTES_MOST; -ENOTSUP for a member that only a newer krun knows.
 */
int step_request_decode(struct arena *arena, const char *text, size_t length,
                        struct step_request *ret_request, struct error *err);

/* The same checks of a request that was not decoded. */
int step_request_check(const struct step_request *request, struct error *err);

/* The members that say where a step may run, for one that waits for its place. */
void step_request_keep_place(struct arena *arena, const struct step_request *from,
                             struct step_request *ret_request);

/* Krun's command line, which krun tells as a variable: an agent of the release before refuses
 * members that it does not know.
 */
#define STEP_SUBMIT_LINE "KILN_STEP_SUBMIT_LINE"

/* The value of a variable of the request's environment, or NULL. */
const char *step_request_variable(const struct step_request *request, const char *name);
