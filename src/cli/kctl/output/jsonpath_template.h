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

/* Several values have a space between them. -EINVAL with words. */
int jsonpath_template_print(const char *text,
                            const struct json *root,
                            struct strbuf *out,
                            struct error *err);

/* One value: strings and numbers as they are, the rest as JSON. */
void jsonpath_print_value(const struct json *value, struct strbuf *out);
