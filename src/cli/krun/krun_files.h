/* SPDX-License-Identifier: Apache-2.0 */
/* krun_files.h - the files that krun reads its tasks' input from and writes their output to
 *
 * They are descriptors of their own: the standard ones until the step has a number, which
 * may be in the name of a file.
 *
 * Thread:  the main one.
 */
#pragma once

#include <stdint.h>

#include "lib/step/step_frames.h"

struct error;
struct krun_settings;

int krun_files_dup(const struct krun_settings *s, int files[STEP_STREAMS], struct error *err);

/* One file of the whole step is read and written here. */
int krun_files_open(const struct krun_settings *s, int64_t step_id, const int files[STEP_STREAMS],
                    struct error *err);
