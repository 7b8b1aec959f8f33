/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds the status of an HTTP/1.0 or HTTP/1.1 answer, however it is cut into pieces. Interim answers (1xx) are passed over.
 * What cannot become a status line is refused at its first wrong byte, so that a service which speaks something else and then
 * waits is known at once; what never ends is refused at a limit. Does not look at fields or a body. Any thread.
 */
#include "probe/http_status.h"

#include <errno.h>

#define FIRST_FINAL_STATUS 200

static const char form[] = "HTTP/1.v d00"; /* v: a version; d: a digit, but not zero; 0: a digit */
#define FORM_LEN (sizeof(form) - 1)

static bool fits(char c, size_t at)
{
    if (at > FORM_LEN)
        return at < KVMIG__HTTP_LONGEST_LINE;
    if (at == FORM_LEN)
        return c == ' ' || c == '\r';
    switch (form[at]) {
    case 'v':
        return c == '0' || c == '1';
    case 'd':
        return c >= '1' && c <= '9';
    case '0':
        return c >= '0' && c <= '9';
    default:
        return c == form[at];
    }
}

/* Of a status line. */
static int32_t take_status(struct kvmig__http_head *head, char c)
{
    if (c != '\n') {
        if (!fits(c, head->n_line))
            return -EPROTO;
        if (head->n_line < FORM_LEN && (form[head->n_line] == 'd' || form[head->n_line] == '0'))
            head->status = head->status * 10 + (c - '0');
        head->n_line++;
        return 0;
    }
    if (head->n_line < FORM_LEN)
        return -EPROTO;
    if (head->status >= FIRST_FINAL_STATUS)
        return head->status;
    head->n_line = 0;
    head->status = 0;
    head->in_fields = true;
    return 0;
}

static void pass_over(struct kvmig__http_head *head, char c)
{
    if (c == '\n') {
        head->in_fields = head->n_line > 0;
        head->n_line = 0;
    } else if (c != '\r') {
        head->n_line++;
    }
}

int32_t kvmig__http_take(struct kvmig__http_head *head, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        int32_t rc = 0;

        if (head->n_total++ >= KVMIG__HTTP_LONGEST_HEAD)
            return -EPROTO;
        if (head->in_fields)
            pass_over(head, data[i]);
        else
            rc = take_status(head, data[i]);
        if (rc)
            return rc;
    }
    return 0;
}
