/* SPDX-License-Identifier: Apache-2.0 */
/* version.h - which Kiln this is: "0.1.0+g1a2b3c4d5e"
 *
 * The part after the release is the commit of the source, which the release
 * tarball has in a file. It is in one small object file (build_version.c, made by
 * version-of-tree), which is linked to the programs alone; anything else has the
 * release only, and so has a program whose source is in neither.
 *
 * Thread: any.
 */
#pragma once

/* The release, and the commit if it is known. */
const char *version_text(void);

/* The commit: "1a2b3c4d5e", or "". */
const char *version_commit(void);
