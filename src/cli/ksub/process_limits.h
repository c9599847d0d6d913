/* SPDX-License-Identifier: Apache-2.0 */
/* process_limits.h - the resource limits of this process, which the job gets
 * too
 *
 * Thread: the main one, because umask() changes the value that it reads.
 */
#pragma once

struct arena;
struct json;

/* [{"name":"nofile","soft":"1024","hard":"524288"}, ...] */
struct json *process_limits(struct arena *arena);

/* The umask as "0022". */
const char *process_umask(struct arena *arena);
