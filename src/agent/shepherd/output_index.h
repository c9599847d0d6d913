/* SPDX-License-Identifier: Apache-2.0 */
/* output_index.h - when the output of a job had grown to which size
 *
 * Output is a plain file, without times in it; the shepherd notes beside the
 * pod's state how long the file was when, so that `kubectl logs --timestamps`
 * and `--since` can be answered. A line has the time of the first entry that
 * covers its end: exact to a tenth of a second at first. Entries are bounded:
 * when they are full every second one goes, and from then on notes are taken
 * half as often. A job that writes without a pause for a day ends at 6 s.
 *
 * The file: a head, then entries, both times and sizes growing. It is thinned
 * in place, under an odd generation. A job shorter than a tenth of a second
 * has none: all that it wrote is of its end.
 *
 * Thread: writing: the shepherd's only one; reading: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OUTPUT_INDEX_NAME "chronicle"
#define OUTPUT_INDEX_MAX  16384u
#define OUTPUT_INDEX_MS   100 /* between two notes, at first */

struct output_index_head {
    char magic[8];
    uint64_t device, inode; /* of the output */
    uint64_t generation;    /* odd while it is thinned */
};

struct output_index_entry {
    int64_t at_us; /* real time */
    int64_t size;
};

/* ---- The one who writes: the shepherd ---- */

struct output_index {
    const char *directory;
    int output_fd; /* a path alone; -1: there is nothing to watch */
    int watch_fd;  /* inotify; -1 before the first note, or without */
    int fd;        /* of the file */
    uint32_t count;
    int64_t size;     /* noted last */
    int64_t pause_us; /* between notes */
    int64_t next_us;  /* monotonic: not before */
    uint64_t generation;
};

/* Begin: standard output of the job, which has just been started. Watch says
 * what to poll for input, or -1, and for how long at the most, or -1; note when
 * it is readable or that time has passed. End takes the last note.
 */
void
output_index_begin(struct output_index *c, const char *state_dir, pid_t job);
int output_index_watch(const struct output_index *c,
                       int64_t now_us,
                       int *ret_wait_ms);
void output_index_note(struct output_index *c, int64_t now_us);
void output_index_end(struct output_index *c);

/* ---- The one who reads ---- */

struct output_index_copy {
    struct output_index_head head;
    struct output_index_entry *entries;
    size_t count;
};

/* -EBADMSG for what is none; -EAGAIN while it is thinned. The former copy, or a
 * zeroed one, is replaced.
 */
int output_index_read(int fd, struct output_index_copy *copy);
void output_index_copy_fini(struct output_index_copy *copy);

/* The first entry with at least that size, or not before that time; `count`
 * when there is none.
 */
size_t output_index_find_size(const struct output_index_copy *copy,
                              int64_t size);
size_t output_index_find_time(const struct output_index_copy *copy,
                              int64_t at_us);
