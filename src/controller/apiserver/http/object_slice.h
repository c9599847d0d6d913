/* SPDX-License-Identifier: Apache-2.0 */
/* object_slice.h - parts of an object's canonical text, found without parsing
 *
 * Canonical text begins {"kind":"Pod","apiVersion":"v1","metadata":{...}.
 *
 * Thread:  any; no state.
 */
#pragma once

#include <stddef.h>

struct object_slice {
    const char *from;
    size_t length;
};

/* The value of metadata, with its braces. */
struct object_slice object_slice_metadata(const char *text, size_t length);

/* The text after kind and apiVersion: `"metadata":{...},...}`. */
struct object_slice object_slice_rest(const char *text, size_t length);
