/* SPDX-License-Identifier: Apache-2.0 */
/* device_guard.h - the devices of this node that are not a pod's
 *
 * Those of the topology that have a device file and are not in the pod's
 * allocation; of a GPU that shows itself as several files (/dev/dri/card0 and
 * renderD128) all of them. A device that is in no topology (/dev/null,
 * /dev/nvidiactl) is everybody's.
 *
 * Thread: any; for workers, because it reads /dev and /sys.
 */
#pragma once

struct allocation;
struct device_number;
struct topology;

/* Owned by the caller; NULL for none. Reads /dev and /sys: on a worker. */
struct device_number *device_guard_list(const struct topology *topology,
                                        const struct allocation *allocation,
                                        unsigned *ret_n);
