/* SPDX-License-Identifier: Apache-2.0 */
/* control.h - one control file of a cgroup directory
 *
 * All return 0 or a negative errno; errors name the file and the value.
 *
 * Thread: any; a few system calls on files of the kernel.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct strbuf;

int control_write(const char *directory,
                  const char *file,
                  const char *value,
                  struct error *err);
int control_write_number(const char *directory,
                         const char *file,
                         uint64_t value,
                         struct error *err);

/* cpuset.cpus.partition, which says only when it is read whether it is one. */
int
control_partition(const char *directory, const char *kind, struct error *err);

/* Without the newline at the end. */
int control_read(const char *directory,
                 const char *file,
                 struct strbuf *out,
                 struct error *err);
/* The beginning of a file, by one read: all of it where it is small. */
#define CONTROL_SMALL_BYTES 4096
int control_read_small(const char *directory,
                       const char *file,
                       char text[CONTROL_SMALL_BYTES]);
int control_read_number(const char *directory,
                        const char *file,
                        uint64_t *ret_value);

/* The number behind a key in a file of "key number" lines, of at most 4 KiB;
 * or in the text of one.
 */
int control_read_key(const char *directory,
                     const char *file,
                     const char *key,
                     uint64_t *ret_value);
int control_find_key(const char *text, const char *key, uint64_t *ret_value);
bool control_exists(const char *directory, const char *file);

/* A directory and those inside it, deepest first; visiting stops at the first
 * result that is not 0. Removing one that is gone is no error; -EBUSY while a
 * process is left in any.
 */
typedef int (*control_visit_fn)(const char *directory, void *context);
int control_visit_tree(const char *directory,
                       control_visit_fn visit,
                       void *context);
int control_remove_tree(const char *directory);
