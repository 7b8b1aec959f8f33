/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When credentials are loaded and renewed: before the first request, when the server refuses them, shortly before they
 * expire, and, for tokens in files, every minute. One load at a time, on the client's lane; all who wait get its
 * result. Loads that fail, and renewals that the server refuses again, are spaced out. How they are loaded is the
 * business of access.h.
 *
 * Needs the context lock; runs in dispatch, but for the job, which has only its payload.
 */
#include "kubernetes/client_private.h"

#include <errno.h>
#include <stdlib.h>

#define MIN_BACKOFF_MS 500
#define MAX_BACKOFF_MS 30000
#define FILE_AGE_MS 60000 /* a token in a file is read again after that */
#define MAX_MARGIN_MS 60000 /* a token that expires is renewed so long before, or after four fifths of its time */
#define JOB_GRACE_MS 5000 /* for files, beside what a plugin may take */

struct load {
    struct kvmig__access_source *source;
    int64_t timeout_ms;
    bool renew;
    struct kvmig__access *access;
    struct kvmig_error *error;
};

/* ---- the job ---- */

static void run_load(void *payload)
{
    struct load *load = payload;

    if (load->renew)
        load->access = kvmig__access_renew(load->source, load->timeout_ms, &load->error);
    else
        load->access = kvmig__access_load(load->source, load->timeout_ms, &load->error);
    /* Here nobody holds a lock, should it be the last reference. */
    kvmig__access_source_unref(load->source);
    load->source = NULL;
}

static void free_load(void *payload)
{
    struct load *load = payload;

    if (load->source)
        kvmig__access_source_unref(load->source); /* it never ran, so the client has its reference still */
    kvmig__access_free(load->access);
    kvmig__error_free(load->error);
    free(load);
}

/* ---- results ---- */

void kvmig__credentials_unref(struct kvmig__credentials *credentials)
{
    if (!credentials || --credentials->refs > 0)
        return;
    kvmig__access_free(credentials->access);
    free(credentials);
}

static void back_off(struct kvmig__client *client)
{
    client->backoff_ms = client->backoff_ms ? client->backoff_ms * 2 : MIN_BACKOFF_MS;
    if (client->backoff_ms > MAX_BACKOFF_MS)
        client->backoff_ms = MAX_BACKOFF_MS;
    client->not_before_ms = kvmig__now_ms() + client->backoff_ms;
}

static void set_times(struct kvmig__client *client, const struct kvmig__access *access)
{
    int64_t now = kvmig__now_ms(), left = access->token_expires_ms - kvmig__wall_ms();

    client->stale_ms = client->dead_ms = INT64_MAX;
    /* A fresh token that is past its time says that this clock is wrong; the server will tell. */
    if (access->token_expires_ms > 0 && left > 0 && left < INT64_MAX - now) {
        client->dead_ms = now + left;
        client->stale_ms = client->dead_ms - (left / 5 < MAX_MARGIN_MS ? left / 5 : MAX_MARGIN_MS);
    }
    if (access->token_file && !access->has_plugin && client->stale_ms > now + FILE_AGE_MS)
        client->stale_ms = now + FILE_AGE_MS;
}

static bool has_certificate(const struct kvmig__access *access)
{
    return access->cert_file || access->cert.data;
}

static void install(struct kvmig__client *client, struct kvmig__access *access)
{
    struct kvmig__credentials *previous = client->credentials, *credentials = kvmig__calloc(1, sizeof(*credentials));

    *credentials = (struct kvmig__credentials){ .refs = 1, .number = ++client->loads, .access = access };
    client->credentials = credentials;
    client->refused = false;
    kvmig__error_free(client->load_error);
    client->load_error = NULL;
    set_times(client, access);
    if (!previous)
        return;
    back_off(client); /* should these be refused too */
    /* A connection keeps the certificate that it was made with. */
    if (has_certificate(access) || has_certificate(previous->access)) {
        kvmig__pool_unref(client->pool);
        client->pool = kvmig__pool_new();
    }
    kvmig__credentials_unref(previous);
}

static struct kvmig_error *no_result(int32_t status)
{
    if (status == -ETIMEDOUT)
        return kvmig__error_new(status, "credentials", NULL,
                                "Look whether the credential plugin hangs, or the disk that the files are on.",
                                "The credentials for the API server were not there in time.");
    return kvmig__error_new(status, "credentials", NULL, "Let the process have more threads.",
                            "The credentials for the API server cannot be loaded: there is no thread for it.");
}

static void fail(struct kvmig__client *client, struct kvmig_error *error)
{
    kvmig__error_free(client->load_error);
    client->load_error = error;
    back_off(client);
    kvmig__log(client->context, KVMIG_LOG_WARN, "kubernetes", "credentials: %s %s", kvmig_error_message(error),
               kvmig_error_evidence(error));
}

static void load_is_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__client *client = owner;
    struct load *load = payload;

    client->loading = false;
    if (load && load->access) {
        install(client, load->access);
        load->access = NULL;
    } else if (load && load->error) {
        fail(client, load->error);
        load->error = NULL;
    } else {
        fail(client, no_result(status));
    }
    /* Calls no user, so the list stays as it is. */
    for (struct kvmig__request_http *request = client->requests; request; request = request->next) {
        if (request->state == KVMIG__REQUEST_WAITING)
            kvmig__request_go_on(request);
    }
}

static const struct kvmig__job_type load_job = { "credentials", run_load, load_is_done, free_load };

/* ---- asking for them ---- */

static void begin_load(struct kvmig__client *client)
{
    struct load *load = kvmig__calloc(1, sizeof(*load));

    *load = (struct load){ .source = kvmig__access_source_ref(client->source),
                           .timeout_ms = client->opts.request_timeout_ms,
                           .renew = client->credentials != NULL };
    client->loading = true;
    kvmig__lane_submit(client->lane, &load_job, client, load, load->timeout_ms + JOB_GRACE_MS);
}

enum kvmig__credentials_state kvmig__client_credentials(struct kvmig__client *client)
{
    int64_t now = kvmig__now_ms();
    bool usable = client->credentials && !client->refused && now < client->dead_ms;
    bool wanted = !usable || now >= client->stale_ms;

    if (wanted && !client->loading && now >= client->not_before_ms)
        begin_load(client);
    if (usable)
        return KVMIG__CREDENTIALS_READY;
    if (client->loading)
        return KVMIG__CREDENTIALS_AWAITED;
    /* Expired within the time that a renewal has to wait: the server decides. */
    return client->load_error ? KVMIG__CREDENTIALS_FAILED : KVMIG__CREDENTIALS_READY;
}

bool kvmig__client_refused(struct kvmig__client *client, uint64_t number)
{
    if (number != client->credentials->number)
        return true;
    if (!client->loading && kvmig__now_ms() < client->not_before_ms)
        return client->refused;
    client->refused = true;
    return true;
}

void kvmig__client_accepted(struct kvmig__client *client)
{
    if (!client->load_error) /* else a renewal in good time is failing, and goes on being tried now and then */
        client->backoff_ms = client->not_before_ms = 0;
}
