/* SPDX-License-Identifier: Apache-2.0 */
/* device_files.h - devices that a site configures by their files:
 * "fpga=/dev/xdma*"
 *
 * Each device file that matches is a device of that type, named like the file.
 * A device that is known already, a GPU for example, is not added again. sysfs
 * tells its NUMA node.
 *
 * Thread: any; for workers, because it reads /dev and /sys.
 */
#pragma once

#include <stddef.h>

struct error;
struct strbuf;
struct topology;

/* Checks "TYPE=GLOB": the type is part of a resource's name (kiln.hpc/TYPE),
 * and the glob is an absolute path.
 */
int device_files_check(const char *pattern, struct error *err);

void device_files_fill(const char *const *patterns, size_t n, struct topology *t);

/* Lists the files that match now, one per line. */
void device_files_list(const char *const *patterns, size_t n, struct strbuf *out);
