/* SPDX-License-Identifier: Apache-2.0 */
/* core.h - struct store, for the files of this room alone
 *
 * store.c opens, closes and looks; txn.c changes the pending head; commit.c
 * hands batches to the writer and publishes what was committed.
 *
 * Thread:     the loop's.
 * Invariant:  the history's end is the pending head, `committed_end` what
 *             transactions have committed of it, `history_published` what is
 *             durable.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/store/engine.h"
#include "controller/store/store.h"

struct batch;
struct blob_counts;
struct entry;
struct expiry;
struct history;
struct lane;
struct lookup;
struct map;
struct meter;
struct dictionary_objects;
struct quarantine;
struct scrub;
struct shelf;
struct space;
struct statedir;
struct timer;
struct watchers;
struct writer;

/* The objects of one kind. */
struct section {
    struct shelf *shelf;
    char *name;   /* of the kind in the database: "jobs.batch", "pods" */
    size_t count; /* published */
    struct expiry *expiry; /* of transient kinds, or NULL */
};

struct store {
    struct store_settings settings;
    struct statedir *directory;
    struct section *sections; /* as in kinds[] */
    struct lookup **lookups;  /* those of the settings, then of job ids */
    unsigned n_lookups;
    struct history *history;
    struct watchers *watchers;
    struct blob_counts *blobs;
    struct map *secrets;
    struct quarantine *quarantine; /* rows that were not understood */
    struct dictionary_objects
        *dictionaries; /* what new objects are made beside */

    struct lane *keeper;
    struct lane *reader;
    struct writer *writer;
    struct writer *events; /* best effort */
    struct engine *engine; /* the writer's; the reader reads blobs from it */

    struct engine_counters pending; /* with an open transaction's */
    struct engine_counters committed;
    int64_t opened_at; /* the revision that was found */
    uint64_t committed_end;
    struct batch *gathering;
    struct batch *gathering_events;
    struct batch *under_way; /* at the writer, which owns it */
    struct batch *refused;   /* nothing but those who have yet to hear it */
    struct batch *lost;      /* whose outcome is not known, or NULL */
    uint64_t under_way_end;
    int64_t under_way_since_us;
    struct store_txn *txn; /* the open one */
    struct timer *flush;
    struct timer *trim;
    bool is_flushing; /* the timer runs */
    bool has_failed;
    bool is_read_only; /* the disk is full */
    uint64_t n_refused;
    struct space *space;
    struct scrub *scrub;
    struct timer *look_for_space; /* or NULL */
    bool is_winding_down;
    bool has_dropped_events;
    bool events_are_off; /* their database failed */
    struct meter *meter;
};

/* How far revisions are reserved ahead of those in use. */
#define REVISIONS_RESERVED 65536

struct section *store_section(const struct store *s, const struct kind *kind);
bool store_kind_is(const struct kind *kind, unsigned kind_flag);

/* Moves a head of the entry to the object, whose reference it takes. */
void store_set_head(struct store *s,
                    struct entry *entry,
                    const struct kind *kind,
                    enum store_head head,
                    const struct object *object TAKES);

/* commit.c */
void store_hand_over(void *store); /* what is gathered, now */
void store_flush_soon(struct store *s);
void store_trim(void *store);
void store_on_committed(struct batch *batch,
                        enum engine_outcome outcome,
                        const struct error *err,
                        void *store);
void store_on_events_committed(struct batch *batch,
                               enum engine_outcome outcome,
                               const struct error *err,
                               void *store);
void store_wind_down(struct store *s); /* waits for all that is pending */

/* load.c */
int store_load(struct store *s,
               struct engine *engine,
               const struct engine_counters *counters,
               struct error *err);
