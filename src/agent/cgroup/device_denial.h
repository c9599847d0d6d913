/* SPDX-License-Identifier: Apache-2.0 */
/* device_denial.h - denies the processes of a cgroup to open devices
 *
 * Thread: one at a time for each cgroup.
 */
#pragma once

struct device_number;
struct error;

/* keeps a program within 4,096 instructions, the limit for unprivileged ones */
#define DEVICE_DENIAL_MOST 700u

/* In the directory of v1's devices controller; attach: in a directory of v2. */
int device_denial_write(const char *directory, const struct device_number *denied, unsigned n,
                        struct error *err);
int device_denial_attach(const char *directory, const struct device_number *denied, unsigned n,
                         struct error *err);
