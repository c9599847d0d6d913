/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - which machine this is and what runs it, for Node.status
 *
 * Architecture and operating system are written as Kubernetes does ("amd64",
 * "linux").
 *
 * Thread: any; a few reads of files.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct error;

struct machine {
    char *hostname;
    char *boot_id;     /* changes with every start of the kernel */
    char *machine_id;  /* "" if the installation has none */
    char *system_uuid; /* from the firmware; "" unless root can read one */
    char *kernel_version;
    char *os_image; /* PRETTY_NAME of os-release, "Linux" without one */
    char *architecture;
    uint64_t memory_bytes;
};

/* Life. `root` is the prefix of every path: "" for this machine. Fails without
 * a boot id, because fencing depends on it.
 */
void machine_free(struct machine *machine);
int machine_read(const char *root, struct machine **ret_machine, struct error *err);
DEFINE_CLEANUP(struct machine, machine_free)
