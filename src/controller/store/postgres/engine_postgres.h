/* SPDX-License-Identifier: Apache-2.0 */
/* engine_postgres.h - the engine of a PostgreSQL server, for its own files
 *
 * There are three sessions: `writer` commits, `reader` reads blobs and verifies
 * rows, and `beat` tells other controllers that this one is there. A session that
 * is lost is replaced: a failover of the database is a pause.
 *
 * The row of table `leader` has the controller that leads (`holder`, a random
 * number of this opening) and a count that rises while it lives; the row of
 * `counters` has the same holder, the epoch, and the number of batches that were
 * committed.
 *
 * Thread:  one for each session; `stop`, `fenced` and the times are atomic.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/store/engine/engine.h"
#include "controller/store/postgres/postgres.h"
#include "lib/base/random.h"

/* The holder in the row of the leader while it is `place` that should take it;
 * and the channel of notifications that it is free.
 */
#define ENGINE_POSTGRES_HANDOVER "handover"
#define ENGINE_POSTGRES_CHANNEL  "kiln_lead"

struct controller_rows;

struct engine_postgres {
    struct engine base;
    char *url;
    char *where;
    char *place; /* the machine and its state directory */
    char *name;  /* of the machine; NULL: not among the controllers */
    char *directory;
    char *address; /* for others */
    char holder[UUID_SIZE];
    bool only_reads;   /* attached: it does not lead */
    bool has_snapshot; /* likewise, and its transaction is open */
    bool leads;
    atomic_bool is_released; /* it has led, and gave the lead back */
    bool has_looked;         /* it has seen the row of the leader, and waits */
    bool is_refused;         /* and cannot see it now, which was said */
    struct postgres *writer; /* NULL while it is lost */
    struct postgres *reader;
    int64_t epoch;
    int64_t event_age_s; /* 0: these are no events */
    int64_t batches;     /* committed, of all openings */

    atomic_bool stops;
    atomic_bool is_fenced;
    _Atomic int64_t confirmed_us; /* boot time of the take-over, then of the last beat */
    atomic_int copies;            /* 1: no synchronous standby has the commits; 0: not known */
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t lock; /* of `wakes`, `controllers` and `successor` */
    pthread_cond_t wakes;

    int64_t noted_us; /* boot time: when the row of this controller was written */
    int64_t led_us;   /* likewise, by the beat */
    struct controller_rows *controllers;
    char *successor; /* its place; NULL: anybody */
};

struct engine_postgres *engine_postgres_of(struct engine *engine);

/* engine_postgres.c. Make: without any session. Free closes those that were made. */
void engine_postgres_free(struct engine_postgres *e);
struct engine_postgres *engine_postgres_make(const char *url, const char *place,
                                             const struct engine_ops *ops)
    OWNED_BY(engine_postgres_free);

/* For all engines of a server. It has its own log and checkpoints. */
size_t engine_postgres_backlog(struct engine *engine);
int engine_postgres_checkpoint(struct engine *engine, struct error *err);
void engine_postgres_stop(struct engine *engine);

/* Take: -ESTALE, another controller leads. */
int engine_postgres_retake(struct engine_postgres *e, struct error *err);

/* Gives the lead back, if this engine has it. The writer's thread, or at the end. */
void engine_postgres_release(struct engine_postgres *e);

/* engine_postgres_leader.c: waits until no other controller leads; and the
 * thread that tells that this one does.
 */
int engine_postgres_await_lead(struct engine_postgres *e, const struct engine_waits *waits,
                               struct error *err);
int engine_postgres_start_beat(struct engine_postgres *e, struct error *err);
void engine_postgres_stop_beat(struct engine_postgres *e);

/* engine_postgres_address.c: how others reach this controller, which leads; and
 * who waits reads it. Read: -ENOENT, that holder has published nothing.
 */
int engine_postgres_publish(struct engine_postgres *e, const struct engine_leader *self,
                            struct error *err);
int engine_postgres_read_address(struct postgres *p, const char *holder,
                                 struct engine_leader *ret_leader);

/* engine_postgres_controllers.c: the row of this controller, which a standby
 * writes (-EAGAIN: the session is lost), or the beat of the leader, which then
 * reads all of them; remove it; the operations of the engine.
 */
#define NOTE_EVERY_US 3000000
int engine_postgres_note_waiting(struct engine_postgres *e, struct postgres *p, int64_t revision);
int engine_postgres_note_leading(struct engine_postgres *e, struct postgres *p);
void engine_postgres_remove_row(struct engine_postgres *e, struct postgres *p);
void engine_postgres_forget_controllers(struct engine_postgres *e);
void engine_postgres_visit_controllers(struct engine *engine, engine_controller_fn *visit,
                                       void *context);
char *engine_postgres_choose_successor(struct engine_postgres *e) MUST_USE;
void engine_postgres_name_successor(struct engine *engine, const char *place);

/* Waits so long, or until the engine is told to stop. */
void engine_postgres_pause(struct engine_postgres *e, int64_t milliseconds);

/* engine_postgres_apply.c */
int engine_postgres_prepare(struct postgres *writer, struct error *err);
void engine_postgres_fill(struct postgres_values *v, enum engine_verb verb,
                          const struct engine_op *ops, size_t n, size_t unsure_drops);
enum engine_outcome engine_postgres_apply(struct engine *engine, const struct engine_batch *batch,
                                          struct error *err);

/* engine_postgres_events.c: their table. */
int engine_postgres_make_events(struct postgres *p, struct error *err);

/* engine_postgres_scan.c */
int engine_postgres_scan_open(struct engine *engine, struct engine_scan **ret_scan,
                              struct error *err);
int engine_postgres_scan_next(struct engine_scan *scan, struct engine_row *ret_row,
                              struct error *err);
void engine_postgres_scan_close(struct engine_scan *scan);
int engine_postgres_visit(struct engine *engine, const struct engine_visitor *visitor,
                          struct error *err);
int engine_postgres_read_blob(struct engine *engine, int64_t row, struct strbuf *out,
                              struct error *err);
int engine_postgres_verify(struct engine *engine, struct engine_slice *slice,
                           engine_wrong_fn *wrong, void *context, struct error *err);

/* Rows, and their changes, that were read already; both in order. */
int engine_postgres_scan_results(struct engine_postgres *e, PGresult *bodies TAKES,
                                 PGresult *patches TAKES, struct engine_scan **ret_scan,
                                 struct error *err);

/* engine_postgres_changes.c: which rows each batch has changed. Add: two parameters
 * of the claim of a batch. Trim: removes what no controller needs that waits.
 */
struct batch_fold;
int engine_postgres_make_changes(struct postgres *p, struct error *err);
void engine_postgres_add_changes(struct postgres_values *v, const struct batch_fold *fold);
void engine_postgres_trim_changes(struct postgres *p);
int engine_postgres_position(struct engine *engine, struct engine_position *ret_position,
                             struct error *err);
int engine_postgres_follow(struct engine *engine, struct engine_position *position,
                           const struct engine_changes *changes, struct error *err);
