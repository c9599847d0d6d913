/* SPDX-License-Identifier: Apache-2.0 */
/* jsonpath_template.h - a text with paths in braces, as kubectl -o jsonpath
 *
 *   {.items[*].metadata.name}
 *   {range .items[*]}{.metadata.name}{"\t"}{.status.phase}{"\n"}{end}
 *
 * Thread: any.
 */
#pragma once

struct error;
struct json;
struct strbuf;

/* Prints the text; several values of a path are separated by spaces. -EINVAL
 * with a text.
 */
int jsonpath_template_print(const char *text, const struct json *root, struct strbuf *out,
                            struct error *err);

/* Prints one value: strings and numbers unchanged, others as JSON. */
void jsonpath_print_value(const struct json *value, struct strbuf *out);
