/* SPDX-License-Identifier: Apache-2.0 */
/* string_ids.h - numbers for strings: resources, reasons, signatures
 *
 * A string keeps its number forever. Numbers are 0, 1, 2, ... in the order of
 * first use.
 *
 * Thread: the scheduler's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

#define STRING_ID_NONE UINT32_MAX

struct string_ids;

void string_ids_free(struct string_ids *ids);
struct string_ids *string_ids_new(void) OWNED_BY(string_ids_free);
DEFINE_CLEANUP(struct string_ids, string_ids_free)

uint32_t string_ids_add(struct string_ids *ids, const char *text);

/* STRING_ID_NONE when the string has no number. */
uint32_t string_ids_find(const struct string_ids *ids, const char *text);
const char *string_ids_text(const struct string_ids *ids, uint32_t number);
size_t string_ids_count(const struct string_ids *ids);
