/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The thread of the test's API server: one poll() over the listener, an eventfd and all connections. It alone touches
 * descriptors of connections; others leave bytes for them under the lock and wake it.
 */
#include "kube_world_private.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

void world_wake(struct world_server *server)
{
    const uint64_t one = 1;

    if (write(server->wake, &one, sizeof(one)) != (ssize_t)sizeof(one))
        abort();
}

bool world_line_has(const char *line, const char *part)
{
    const size_t n = strlen(part);
    char *end;
    bool has;

    if (!n || part[n - 1] != '$')
        return strstr(line, part) != NULL;
    end = kvmig__strndup(part, n - 1);
    has = kvmig__str_ends(line, end);
    free(end);
    return has;
}

/* ---- one request ---- */

static struct world_fault *fault_of(struct world_server *server, const char *line)
{
    for (size_t i = 0; i < server->faults.n; i++)
        if (server->faults.v[i].times > 0 && world_line_has(line, server->faults.v[i].match))
            return &server->faults.v[i];
    return NULL;
}

static void handle(struct world_server *server, struct world_connection *connection, const char *content_type,
                   const char *body)
{
    struct world_target target;
    struct world_fault *fault;

    world_target_read(&target, connection->in.v);
    fault = fault_of(server, target.line);
    if (fault && fault->how == WORLD_FAULT_HOLD && !server->releasing) {
        if (!connection->held)
            kvmig__strlist_add(&server->requests, target.line);
        connection->held = true;
        world_target_clear(&target);
        return;
    }
    if (!connection->held)
        kvmig__strlist_add(&server->requests, target.line);
    connection->held = false;
    if (fault && fault->how != WORLD_FAULT_HOLD)
        fault->times--;
    if (fault && fault->how == WORLD_FAULT_CLOSE)
        connection->last = true;
    else if (fault && fault->how == WORLD_FAULT_ANSWER)
        world_refuse(connection, fault->status, fault->reason, fault->message, fault->retry_after_s);
    else
        world_serve(server, connection, &target, content_type, body, fault && fault->how == WORLD_FAULT_LOSE);
    world_target_clear(&target);
}

static char *header_of(const char *head, const char *name)
{
    const char *line = strcasestr(head, name);

    return line ? kvmig__strndup(line + strlen(name), strcspn(line + strlen(name), "\r")) : NULL;
}

/* What stands in the buffer, if it is a whole request. */
static void take_request(struct world_server *server, struct world_connection *connection)
{
    char *end = connection->in.n ? strstr(connection->in.v, "\r\n\r\n") : NULL, *length, *content_type;
    size_t body_n;

    if (!end)
        return;
    length = header_of(connection->in.v, "\r\nContent-Length: ");
    body_n = length ? strtoul(length, NULL, 10) : 0;
    free(length);
    if (connection->in.n < (size_t)(end + 4 - connection->in.v) + body_n)
        return;
    content_type = header_of(connection->in.v, "\r\nContent-Type: ");
    handle(server, connection, content_type, end + 4);
    free(content_type);
    if (!connection->held)
        connection->in.n = 0; /* libcurl sends the next one only after the answer */
}

/* ---- connections ---- */

/* False: it is to be closed. */
static bool receive(struct world_server *server, struct world_connection *connection)
{
    char bytes[16384];
    const ssize_t n = recv(connection->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    if (n <= 0)
        return false;
    world_text_add(&connection->in, bytes, (size_t)n);
    if (!connection->held)
        take_request(server, connection);
    return true;
}

static bool transmit(struct world_connection *connection)
{
    const ssize_t n = send(connection->fd, connection->out.v, connection->out.n, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (n < 0)
        return false;
    connection->out.n -= (size_t)n;
    memmove(connection->out.v, connection->out.v + n, connection->out.n);
    return true;
}

static void connection_free(struct world_connection *connection)
{
    close(connection->fd);
    free(connection->in.v);
    free(connection->out.v);
    world_target_clear(&connection->watch);
    free(connection);
}

static void welcome(struct world_server *server)
{
    const int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), one = 1;
    struct world_connection *connection;

    if (fd < 0)
        return;
    if (server->away) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    connection = kvmig__calloc(1, sizeof(*connection));
    connection->fd = fd;
    connection->watch.kind = -1;
    connection->next = server->connections;
    server->connections = connection;
}

static bool attend(struct world_server *server, struct world_connection *connection, short events)
{
    bool stays = !server->away;

    if (stays && events & (POLLIN | POLLHUP | POLLERR))
        stays = receive(server, connection);
    if (stays && connection->held && server->releasing)
        take_request(server, connection);
    if (stays && connection->out.n)
        stays = transmit(connection);
    return stays && !(connection->last && !connection->out.n);
}

/* In the order of the list, which only this thread changes. */
static void attend_all(struct world_server *server, const struct pollfd *polled, size_t n)
{
    struct world_connection **link = &server->connections;

    for (size_t i = 0; i < n; i++) {
        struct world_connection *connection = *link;

        if (attend(server, connection, polled[i].revents)) {
            link = &connection->next;
            continue;
        }
        *link = connection->next;
        connection_free(connection);
    }
}

static size_t gather(struct world_server *server, struct pollfd **polled, size_t *room)
{
    size_t n = 2;

    for (struct world_connection *connection = server->connections; connection; connection = connection->next) {
        if (n + 1 > *room) {
            *room = *room ? *room * 2 : 64;
            *polled = realloc(*polled, *room * sizeof(**polled));
            if (!*polled)
                abort();
        }
        (*polled)[n++] =
            (struct pollfd){ .fd = connection->fd, .events = (short)(POLLIN | (connection->out.n ? POLLOUT : 0)) };
    }
    (*polled)[0] = (struct pollfd){ .fd = server->listener, .events = POLLIN };
    (*polled)[1] = (struct pollfd){ .fd = server->wake, .events = POLLIN };
    return n;
}

static void *serve_all(void *data)
{
    struct world_server *server = data;
    size_t room = 64, n;
    struct pollfd *polled = kvmig__calloc(room, sizeof(*polled));
    uint64_t woken;

    pthread_mutex_lock(&server->lock);
    while (!server->stopping) {
        n = gather(server, &polled, &room);
        pthread_mutex_unlock(&server->lock);
        poll(polled, n, -1);
        pthread_mutex_lock(&server->lock);
        if (polled[1].revents && read(server->wake, &woken, sizeof(woken)) != (ssize_t)sizeof(woken))
            abort();
        attend_all(server, polled + 2, n - 2);
        if (polled[0].revents)
            welcome(server);
    }
    pthread_mutex_unlock(&server->lock);
    free(polled);
    return NULL;
}

/* ---- life ---- */

struct world_server *world_server_new(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct world_server *server = kvmig__calloc(1, sizeof(*server));
    socklen_t size = sizeof(address);

    pthread_mutex_init(&server->lock, NULL);
    server->version = 1000;
    server->wake = eventfd(0, EFD_CLOEXEC);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (server->wake < 0 || server->listener < 0 ||
        bind(server->listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(server->listener, 128) != 0 || getsockname(server->listener, (struct sockaddr *)&address, &size) != 0 ||
        pthread_create(&server->thread, NULL, serve_all, server) != 0)
        abort();
    snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%d", ntohs(address.sin_port));
    return server;
}

void world_server_free(struct world_server *server)
{
    struct world_connection *connection;

    if (!server)
        return;
    pthread_mutex_lock(&server->lock);
    server->stopping = true;
    world_wake(server);
    pthread_mutex_unlock(&server->lock);
    pthread_join(server->thread, NULL);
    while ((connection = server->connections)) {
        server->connections = connection->next;
        connection_free(connection);
    }
    close(server->listener);
    close(server->wake);
    world_store_free(server);
    kvmig__strlist_clear(&server->requests);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

const char *world_server_url(const struct world_server *server)
{
    return server->url;
}

/* ---- faults ---- */

static void refuse_kind(struct world_server *server, int32_t kind, int32_t status)
{
    pthread_mutex_lock(&server->lock);
    server->kinds[kind].refusal = status;
    pthread_mutex_unlock(&server->lock);
}

void world_forbid(struct world_server *server, int32_t kind)
{
    refuse_kind(server, kind, 403);
}

void world_withhold(struct world_server *server, int32_t kind)
{
    refuse_kind(server, kind, 404);
}

int world_cut(struct world_server *server, int32_t kind, enum world_cut how)
{
    int n = 0;

    pthread_mutex_lock(&server->lock);
    for (struct world_connection *connection = server->connections; connection; connection = connection->next) {
        if (!connection->is_watch || connection->last || (kind >= 0 && connection->watch.kind != kind))
            continue;
        world_watch_cut(connection, how);
        n++;
    }
    world_wake(server);
    pthread_mutex_unlock(&server->lock);
    return n;
}

void world_repeat(struct world_server *server, bool repeat)
{
    pthread_mutex_lock(&server->lock);
    server->repeat = repeat;
    pthread_mutex_unlock(&server->lock);
}

void world_bookmark(struct world_server *server, int32_t kind)
{
    pthread_mutex_lock(&server->lock);
    for (struct world_connection *connection = server->connections; connection; connection = connection->next) {
        struct json_object *bookmark;

        if (!connection->is_watch || connection->last || (kind >= 0 && connection->watch.kind != kind))
            continue;
        bookmark =
            world_json("{'kind':'%s','apiVersion':'%s','metadata':{'resourceVersion':'%llu'}}",
                       kvmig__kube_kind_info(connection->watch.kind)->kind,
                       kvmig__kube_kind_info(connection->watch.kind)->api_version, (unsigned long long)server->version);
        world_watch_line(connection, "BOOKMARK", bookmark);
        json_object_put(bookmark);
    }
    world_wake(server);
    pthread_mutex_unlock(&server->lock);
}

void world_fault(struct world_server *server, const struct world_fault *fault)
{
    size_t i = 0;

    pthread_mutex_lock(&server->lock);
    while (i < server->faults.n && server->faults.v[i].times > 0)
        i++;
    if (i == WORLD_MAX_FAULTS)
        abort();
    server->releasing = false;
    server->faults.v[i] = *fault;
    server->faults.n += i == server->faults.n;
    pthread_mutex_unlock(&server->lock);
}

int world_faults(struct world_server *server)
{
    int n = 0;

    pthread_mutex_lock(&server->lock);
    for (size_t i = 0; i < server->faults.n; i++)
        n += server->faults.v[i].times;
    pthread_mutex_unlock(&server->lock);
    return n;
}

void world_release(struct world_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->releasing = true;
    world_wake(server);
    pthread_mutex_unlock(&server->lock);
}

void world_away(struct world_server *server, bool away)
{
    pthread_mutex_lock(&server->lock);
    server->away = away;
    world_wake(server);
    pthread_mutex_unlock(&server->lock);
}

/* ---- what was asked ---- */

int world_asked(struct world_server *server, const char *part)
{
    int n = 0;

    pthread_mutex_lock(&server->lock);
    for (size_t i = 0; i < server->requests.n; i++)
        n += world_line_has(server->requests.v[i], part);
    pthread_mutex_unlock(&server->lock);
    return n;
}

int world_watches(struct world_server *server, int32_t kind)
{
    int n = 0;

    pthread_mutex_lock(&server->lock);
    for (struct world_connection *connection = server->connections; connection; connection = connection->next)
        n += connection->is_watch && !connection->last && (kind < 0 || connection->watch.kind == kind);
    pthread_mutex_unlock(&server->lock);
    return n;
}

int world_connections(struct world_server *server)
{
    int n = 0;

    pthread_mutex_lock(&server->lock);
    for (struct world_connection *connection = server->connections; connection; connection = connection->next)
        n++;
    pthread_mutex_unlock(&server->lock);
    return n;
}

char *world_requests(struct world_server *server)
{
    char *all;

    pthread_mutex_lock(&server->lock);
    all = kvmig__strlist_join(&server->requests, "\n");
    pthread_mutex_unlock(&server->lock);
    return all;
}
