/* SPDX-License-Identifier: Apache-2.0 */
/* volume_binding.h - shared by the files of VolumeBinding
 *
 * Thread: the scheduler's.
 */
#pragma once

#include "controller/scheduler/framework/plugin.h"

/* volume_hint.c */
#define VOLUME_WAKES 6
extern const struct wake volume_wakes[VOLUME_WAKES];
