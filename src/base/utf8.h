/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * UTF-8 as RFC 3629 defines it. Messages of other software may come in another encoding; JSON must not. Any thread.
 */
#ifndef KVMIG_SRC_UTF8_H
#define KVMIG_SRC_UTF8_H

#include <stddef.h>

/* Bytes of the character at s (1 to 4), or 0 if what stands there is no valid character. s ends with NUL. */
size_t kvmig__utf8_char_len(const char *s);
/* An owned copy in which every invalid byte is replaced by U+FFFD; NULL gives NULL. */
char *kvmig__utf8_dup(const char *s);

#endif
