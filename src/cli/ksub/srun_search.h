/* SPDX-License-Identifier: Apache-2.0 */
/* srun_search.h - finds the line of a script that calls srun, which is not here
 *
 * Thread: any.
 */
#pragma once

#include <stddef.h>

/* The number of the line, from 1; 0: none does, or a program of that name is
 * to be found along PATH.
 */
unsigned srun_search_find(const char *script, size_t length);
