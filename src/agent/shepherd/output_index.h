/* SPDX-License-Identifier: Apache-2.0 */
/* output_index.h - when the output of a job had reached which size
 *
 * Output is a plain file without times. The shepherd notes, beside the pod's
 * state, how long the file was at which time, so that `kubectl logs
 * --timestamps` and `--since` work. A line has the time of the first entry that
 * covers its end: exact to a tenth of a second at first. The number of entries
 * is bounded: when the index is full, every second entry is removed, and from
 * then on entries are half as frequent. For a job that writes without a pause
 * for a day, they are 6 s apart.
 *
 * The file has a head, then entries with increasing times and sizes. It is
 * thinned in place, under an odd generation. A job shorter than a tenth of a
 * second has no index: all its output gets the time of its end.
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
#define OUTPUT_INDEX_MS   100 /* between two entries, at first */

struct output_index_head {
    char magic[8];
    uint64_t device, inode; /* of the output */
    uint64_t generation;    /* odd while it is thinned */
};

struct output_index_entry {
    int64_t at_us; /* wall clock */
    int64_t size;
};

/* ---- Writing: the shepherd ---- */

struct output_index {
    const char *directory;
    int output_fd; /* opened with O_PATH; -1: nothing to watch */
    int watch_fd;  /* inotify; -1 before the first entry, or without inotify */
    int fd;        /* of the index file */
    uint32_t count;
    int64_t size;     /* of the last entry */
    int64_t pause_us; /* between entries */
    int64_t next_us;  /* monotonic: earliest time of the next entry */
    uint64_t generation;
};

/* output_index_begin: `job` has just started; its standard output is watched.
 * output_index_watch returns the descriptor to poll for input, or -1, and the
 * longest time to wait, or -1; call output_index_note when the descriptor is
 * readable or that time has passed. output_index_end adds the last entry.
 */
void output_index_begin(struct output_index *o, const char *state_dir, pid_t job);
int output_index_watch(const struct output_index *o, int64_t now_us, int *ret_wait_ms);
void output_index_note(struct output_index *o, int64_t now_us);
void output_index_end(struct output_index *o);

/* ---- Reading ---- */

struct output_index_copy {
    struct output_index_head head;
    struct output_index_entry *entries;
    size_t count;
};

/* -EBADMSG if the file is no index; -EAGAIN while it is thinned. *copy must be
 * a former copy, which is replaced, or zeroed. The caller frees the entries.
 */
int output_index_read(int fd, struct output_index_copy *copy);

/* Find the first entry with at least that size, or not before that time;
 * `count` when there is none.
 */
size_t output_index_find_size(const struct output_index_copy *copy, int64_t size);
size_t output_index_find_time(const struct output_index_copy *copy, int64_t at_us);
