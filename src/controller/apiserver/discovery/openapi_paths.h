/* SPDX-License-Identifier: Apache-2.0 */
/* openapi_paths.h - the paths of a kind, with what each method takes and
 * returns
 *
 * Called by:  openapi.c.
 * Thread:     any; no state.
 */
#pragma once

struct api_profile;
struct arena;
struct json;
struct kind;

void openapi_add_paths(struct arena *arena, struct json *paths, const struct kind *kind,
                       const struct api_profile *profile);
