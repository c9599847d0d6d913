/* SPDX-License-Identifier: Apache-2.0 */
/* srun_search.h - finds the line of a script that calls srun, which Kiln lacks
 *
 * Thread: any.
 */
#pragma once

#include <stddef.h>

/* The line number, from 1; 0: no line calls srun, or PATH has a program of that
 * name.
 */
unsigned srun_search_find(const char *script, size_t length);
