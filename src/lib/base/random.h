/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - random numbers that nobody can guess, and ones a test can repeat
 *
 * Thread:  any; a struct random_source belongs to one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* From the kernel, for keys, nonces and identifiers. Never fails. */
void random_bytes(void *out, size_t length);

/* A version 4 UUID (RFC 4122): 36 characters and a NUL. */
#define UUID_SIZE 37
void random_uuid(char out[UUID_SIZE]);

/* A generator with a seed (SplitMix64): the same seed gives the same numbers.
 */
struct random_source {
    uint64_t state;
};
uint64_t random_next(struct random_source *source);

/* Uniform from 0 to `below` - 1; `below` must be above 0. */
uint64_t random_below(struct random_source *source, uint64_t below);
