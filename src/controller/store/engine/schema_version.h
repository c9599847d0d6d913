/* SPDX-License-Identifier: Apache-2.0 */
/* schema_version.h - the version of a store's tables, in whatever engine
 *
 * It is also the least version of a controller that may read what is in them: an
 * older one refuses the store. So raise it also, by a step that only says why,
 * when stored objects get a form that a controller of the former version would
 * misread, without an error, as something else.
 *
 * Thread:  any.
 */
#pragma once

#define SCHEMA_VERSION 5
