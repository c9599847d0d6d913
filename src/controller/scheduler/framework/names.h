/* SPDX-License-Identifier: Apache-2.0 */
/* names.h - strings as small numbers: resources, reasons, signatures
 *
 * A number, once given, stands for its string for good; 0, 1, 2, ... in the
 * order of first use.
 *
 * Thread: the scheduler's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

#define NAME_NONE UINT32_MAX

struct names;

void names_free(struct names *names);
struct names *names_new(void) OWNED_BY(names_free);
DEFINE_CLEANUP(struct names, names_free)

uint32_t names_number(struct names *names, const char *text);

/* NAME_NONE when it was never given a number. */
uint32_t names_find(const struct names *names, const char *text);
const char *names_text(const struct names *names, uint32_t number);
size_t names_count(const struct names *names);
