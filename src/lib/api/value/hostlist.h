/* SPDX-License-Identifier: Apache-2.0 */
/* hostlist.h - lists of node names in Slurm's short form: "n[1-3,08-10],login"
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct error;
struct strbuf;

/* A list of more names is refused before any of them is made. */
#define HOSTLIST_MAX     65536u
#define HOSTLIST_LONGEST (1u << 20) /* bytes of a list */

/* Whether the text is more than one plain name. No name of an object contains a
 * comma or a bracket.
 */
bool hostlist_looks_like(const char *text);

/* The names, in the arena, in the order written and each once; leading zeros
 * are kept. -EINVAL for a text that is no such list, -E2BIG above HOSTLIST_MAX
 * names; the text of the error has the position.
 */
int hostlist_expand(struct arena *arena, const char *text, const char ***ret_names,
                    size_t *ret_count, struct error *err);

/* The same, with a limit of its own of at most HOSTLIST_MAX names, for whoever may
 * not spend the time for so many.
 */
int hostlist_expand_few(struct arena *arena, const char *text, size_t most, const char ***ret_names,
                        size_t *ret_count, struct error *err);

/* Adds the short form, sorted by number: "head,n[1-3,7],rack[01-04]-gpu". Sorts
 * `names`, too. After `most_bytes` (0: no limit) the rest is only counted:
 * "... (12 more)".
 */
void hostlist_format(const char **names, size_t count, size_t most_bytes, struct strbuf *out);

/* The same of names whose order is kept, so that hostlist_expand gives it back. */
void hostlist_format_in_order(const char *const *names, size_t count, struct strbuf *out);

/* The order in which hostlist_format sorts: numbers in names by their value, so
 * that n9 is before n10. A total order, for qsort of `const char *`.
 */
int hostlist_compare(const void *a, const void *b);
