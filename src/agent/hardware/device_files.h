/* SPDX-License-Identifier: Apache-2.0 */
/* device_files.h - devices that a site names by their files: "fpga=/dev/xdma*"
 *
 * Each device file that matches is a device of that type, called by its name
 * in the file system; one that is known already, as a GPU say, is not added
 * again. Its NUMA node is what sysfs says.
 *
 * Thread: any; for workers, because it reads /dev and /sys.
 */
#pragma once

#include <stddef.h>

struct error;
struct strbuf;
struct topology;

/* "TYPE=GLOB": a type is part of a resource's name (kiln.hpc/TYPE), and the
 * files are named from the root.
 */
int device_files_check(const char *pattern, struct error *err);

void
device_files_fill(const char *const *patterns, size_t n, struct topology *t);

/* The files that match now, a line each. */
void
device_files_list(const char *const *patterns, size_t n, struct strbuf *out);
