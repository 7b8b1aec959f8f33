/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A reflector's list: page after page, reported as they come, and at the end what is gone. Needs the context lock;
 * runs in dispatch.
 *
 * No resourceVersion is asked for: the server then reads its store itself, and not a cache that may be behind (with
 * one, resourceVersionMatch would have to be said too). Should the list be older than what was seen nevertheless, it
 * comes from a server that lags, and is asked for again; if it stays so, the cluster was set back to a backup, and the
 * list is believed.
 *
 * The pages of a list show one moment. Its token expires if the pages take too long (410): the list then begins anew,
 * whole.
 */
#include "base/json_internal.h"
#include "kubernetes/reflector_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OLD_LISTS 4

static void page_is_here(void *owner, const struct kvmig__answer *answer);

/* ---- asking ---- */

static char *page_path(const struct kvmig__reflector *reflector)
{
    char *token = reflector->token ? kvmig__url_escape(reflector->token) : NULL;
    char *limit = reflector->whole || !reflector->opts.page_size
                      ? kvmig__strdup("")
                      : kvmig__asprintf("limit=%u", (unsigned)reflector->opts.page_size);
    char *path, *end;

    path = kvmig__asprintf("%s?%s%s%s%s%s", reflector->path, limit, token ? "&continue=" : "", token ? token : "",
                           reflector->selectors ? "&" : "", reflector->selectors ? reflector->selectors : "");
    free(token);
    free(limit);
    end = path + strlen(reflector->path);
    if (end[1] == '&')
        memmove(end + 1, end + 2, strlen(end + 1));
    else if (!end[1])
        *end = '\0';
    return path;
}

static void ask_page(struct kvmig__reflector *reflector)
{
    char *path = page_path(reflector);
    const struct kvmig__ask ask = { .method = "GET", .path = path, .done = page_is_here, .owner = reflector };

    kvmig__reflector_expect(reflector);
    reflector->request = kvmig__client_ask(reflector->client, &ask);
    free(path);
}

void kvmig__reflector_list(struct kvmig__reflector *reflector)
{
    kvmig__timer_disarm(&reflector->retry);
    reflector->round = reflector->round == UINT32_MAX ? 1 : reflector->round + 1;
    reflector->rewound = false;
    kvmig__str_set(&reflector->token, NULL);
    kvmig__str_set(&reflector->list_version, NULL);
    ask_page(reflector);
}

/* ---- a page ---- */

struct page {
    struct json_object *items; /* borrowed; NULL = none */
    const char *version, *token; /* "" = none */
};

static const char *text_member(struct json_object *object, const char *name)
{
    struct json_object *member = NULL;

    return json_object_object_get_ex(object, name, &member) && json_object_is_type(member, json_type_string)
               ? json_object_get_string(member)
               : "";
}

static bool read_page(struct json_object *json, struct page *out)
{
    struct json_object *metadata = NULL;

    *out = (struct page){ .version = "", .token = "" };
    if (!json_object_is_type(json, json_type_object) || !json_object_object_get_ex(json, "metadata", &metadata) ||
        !json_object_is_type(metadata, json_type_object))
        return false;
    if (json_object_object_get_ex(json, "items", &out->items) && out->items &&
        !json_object_is_type(out->items, json_type_array))
        return false;
    out->version = text_member(metadata, "resourceVersion");
    out->token = text_member(metadata, "continue");
    return *out->version != '\0';
}

static void list_is_broken(struct kvmig__reflector *reflector)
{
    struct kvmig_error *error =
        kvmig__reflector_error(reflector, EBADMSG, "expected a List with metadata.resourceVersion",
                               "Check that the URL is that of an API server, and not of something in front of it.",
                               "What the API server sends is no list.");

    kvmig__reflector_trouble(reflector, 200, error, -1);
    kvmig__error_free(error);
}

/* False: it is older than what was seen, and is asked for again. */
static bool is_believed(struct kvmig__reflector *reflector, const struct page *page)
{
    uint64_t number = kvmig__version_number(page->version);
    struct kvmig_error *error;
    bool old = number && number < reflector->newest;

    if (!old)
        return true;
    if (reflector->old_lists >= MAX_OLD_LISTS) {
        kvmig__log(reflector->context, KVMIG_LOG_WARN, "kubernetes", "%s: the server was set back to version %s",
                   reflector->path, page->version);
        reflector->rewound = true;
        return true;
    }
    reflector->old_lists++;
    error = kvmig__reflector_error(reflector, ESTALE, page->version,
                                   "If the cluster was set back to a backup, this ends by itself.",
                                   "The API server's list is older than what it sent before.");
    kvmig__reflector_trouble(reflector, 200, error, -1);
    kvmig__error_free(error);
    return false;
}

static void report_gone(struct kvmig__reflector *reflector)
{
    uint64_t number = kvmig__version_number(reflector->list_version);
    struct kvmig__known *known =
        kvmig__index_sweep(&reflector->index, reflector->round, reflector->rewound ? 0 : number);

    while (known) {
        struct kvmig__known *next = known->next;

        kvmig__reflector_report_gone(reflector, known, NULL, number);
        known = next;
    }
}

static void list_is_complete(struct kvmig__reflector *reflector)
{
    unsigned course = reflector->course;

    report_gone(reflector);
    if (!kvmig__reflector_goes_on(reflector, course))
        return;
    reflector->newest = kvmig__version_number(reflector->list_version);
    reflector->old_lists = 0;
    reflector->rewound = reflector->whole = false;
    reflector->failures = 0;
    kvmig__str_set(&reflector->version, reflector->list_version);
    if (!reflector->watch_refused)
        kvmig__reflector_set_state(reflector, KVMIG__REFLECTOR_SYNCED);
    kvmig__reflector_settle(reflector);
    if (kvmig__reflector_goes_on(reflector, course))
        kvmig__reflector_watch(reflector);
}

static void take_page(struct kvmig__reflector *reflector, const struct page *page)
{
    size_t n = page->items ? json_object_array_length(page->items) : 0;
    unsigned course = reflector->course;

    if (!reflector->list_version) {
        if (!is_believed(reflector, page))
            return;
        kvmig__str_set(&reflector->list_version, page->version);
    }
    kvmig__reflector_good(reflector);
    for (size_t i = 0; i < n && kvmig__reflector_goes_on(reflector, course); i++)
        kvmig__reflector_take(reflector, json_object_array_get_idx(page->items, i), reflector->round);
    if (!kvmig__reflector_goes_on(reflector, course))
        return;
    kvmig__str_set(&reflector->token, *page->token ? page->token : NULL);
    if (reflector->token)
        ask_page(reflector);
    else
        list_is_complete(reflector);
}

/* ---- answers ---- */

static void list_failed(struct kvmig__reflector *reflector, const struct kvmig__answer *answer)
{
    if (reflector->token && (answer->status == 410 || answer->status == 400)) {
        reflector->whole = true;
        kvmig__reflector_expired(reflector);
    } else {
        if (kvmig_error_code(answer->error) == -EMSGSIZE)
            reflector->whole = false;
        kvmig__reflector_trouble(reflector, answer->status, answer->error, answer->retry_after_ms);
    }
    /* What its pages brought is told, though the list has no end. */
    if (reflector->reported && reflector->state != KVMIG__REFLECTOR_STARTING)
        kvmig__reflector_settle_soon(reflector);
}

static void page_is_here(void *owner, const struct kvmig__answer *answer)
{
    struct kvmig__reflector *reflector = owner;
    struct json_object *json;
    struct page page;

    kvmig__reflector_enter(reflector);
    reflector->request = NULL;
    if (answer->error) {
        list_failed(reflector, answer);
    } else {
        json = kvmig__json_parse(answer->body, answer->length);
        if (read_page(json, &page))
            take_page(reflector, &page);
        else
            list_is_broken(reflector);
        json_object_put(json);
    }
    kvmig__reflector_leave(reflector);
}
