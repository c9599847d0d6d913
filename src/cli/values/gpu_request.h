/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_request.h - the count and model of GPUs, as users write them
 *
 * "2", "2:a100", and Slurm's "a100:2".
 *
 * Thread: any.
 */
#pragma once

#include <stdint.h>

struct error;

struct gpu_request {
    int64_t count;
    char model[64]; /* "": any */
};

/* -EINVAL with the valid forms in the text; -ERANGE: zero, or too many. */
int gpu_request_parse(const char *text, struct gpu_request *ret_request, struct error *err);
