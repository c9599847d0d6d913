/* SPDX-License-Identifier: Apache-2.0 */
/* srun_search.h - finds the line of a script that calls srun, which Kiln lacks
 *
 * Thread: any.
 */
#pragma once

#include <stddef.h>

/* The line number, from 1, of the first command srun, wherever in its line it
 * is (time srun, A=1 srun, if srun, a | srun, $(srun)). 0: no line calls srun;
 * PATH has a program of that name; the script itself looks whether there is one
 * (command -v srun) or defines it; or the script is not for a shell.
 */
unsigned srun_search_find(const char *script, size_t length);
