/* SPDX-License-Identifier: Apache-2.0 */
/* checksum.h - whether a row still has the text that was written
 *
 * CRC-32C (Castagnoli; RFC 3720, B.4) of the row's number, its revision and its
 * text. It finds errors of a disk, its cable or the memory, but not a person's
 * changes.
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct engine_row;
struct error;

uint32_t checksum_of(int64_t row, int64_t revision, const char *text, size_t length);

/* Checks the body and all deltas that have a checksum (rows of earlier versions
 * have none until they are written again). -EUCLEAN: one differs.
 */
int checksum_verify(const struct engine_row *row, struct error *err);
