/* SPDX-License-Identifier: Apache-2.0 */
/* device_guard.h - the devices of this node that a pod may not open
 *
 * These are the devices of the topology that have a device file and are not in
 * the pod's allocation; for a GPU with several files (/dev/dri/card0 and
 * renderD128) all of these files. Every pod may open devices that are in no
 * topology (/dev/null, /dev/nvidiactl).
 *
 * Thread: any; for workers, because it reads /dev and /sys.
 */
#pragma once

struct allocation;
struct device_number;
struct topology;

/* The list is the caller's; NULL: empty. On a worker. */
struct device_number *device_guard_list(const struct topology *topology,
                                        const struct allocation *allocation, unsigned *ret_n);
