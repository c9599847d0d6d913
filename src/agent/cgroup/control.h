/* SPDX-License-Identifier: Apache-2.0 */
/* control.h - one control file of a cgroup directory
 *
 * All functions return 0 or a negative errno; errors name the file and the
 * value.
 *
 * Thread: any; a few system calls on files of the kernel.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct strbuf;

int control_write(const char *directory, const char *file, const char *value, struct error *err);
int control_write_number(const char *directory, const char *file, uint64_t value,
                         struct error *err);

/* Writes cpuset.cpus.partition, and reads it again, because the kernel reports
 * an invalid partition only there.
 */
int control_partition(const char *directory, const char *kind, struct error *err);

/* Reads the file without its last newline. */
int control_read(const char *directory, const char *file, struct strbuf *out, struct error *err);
/* Reads the beginning of a file by one read, which is all of a small file. */
#define CONTROL_SMALL_BYTES 4096
int control_read_small(const char *directory, const char *file, char text[CONTROL_SMALL_BYTES]);
int control_read_number(const char *directory, const char *file, uint64_t *ret_value);

/* control_read_key returns the number after a key in a file of "key number"
 * lines, of at most 4 KiB; control_find_key does so in the text of one.
 */
int control_read_key(const char *directory, const char *file, const char *key, uint64_t *ret_value);
int control_find_key(const char *text, const char *key, uint64_t *ret_value);
bool control_exists(const char *directory, const char *file);

/* control_visit_tree visits a directory and those inside it, deepest first, and
 * stops at the first result that is not 0. For control_remove_tree a missing
 * directory is no error; -EBUSY while a process is left in any of them.
 */
typedef int (*control_visit_fn)(const char *directory, void *context);
int control_visit_tree(const char *directory, control_visit_fn visit, void *context);
int control_remove_tree(const char *directory);
