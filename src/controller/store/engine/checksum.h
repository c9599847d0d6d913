/* SPDX-License-Identifier: Apache-2.0 */
/* checksum.h - whether a row still says what was written
 *
 * CRC-32C (Castagnoli; RFC 3720, B.4) of the row's number, its revision and its
 * text. It finds what a disk, its cable or the memory did, not what a person
 * did.
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct engine_row;
struct error;

uint32_t
checksum_of(int64_t row, int64_t revision, const char *text, size_t length);

/* Of the body and all deltas, as far as they have one (rows of earlier versions
 * have none until they are written again). -EUCLEAN.
 */
int checksum_verify(const struct engine_row *row, struct error *err);

/* Goes on from `crc`, which begins as 0. */
uint32_t checksum_add(uint32_t crc, const void *bytes, size_t length);
