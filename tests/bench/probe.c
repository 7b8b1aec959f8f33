/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a probe costs: processor time of five targets at 50 tries a second, against a peer that does the same tries in the
 * plainest way, a loop of blocking calls, in the same run against the same server. Nothing is asserted: shares and ratios
 * are for people to watch. On the loopback device the sender's thread also does the receiver's part of the network stack, so
 * real networks cost less.
 * usage: probe [SECONDS-PER-ROUND]
 */
#include "kvmig/probe.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TARGETS 5
#define INTERVAL_MS 20
#define REQUEST "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- the server: another process, so that its time is not counted ---- */

static void serve_one(int fd, bool http)
{
    char data[4096];
    const ssize_t n = recv(fd, data, sizeof(data), 0);

    if (n <= 0 || send(fd, http ? ANSWER : data, http ? sizeof(ANSWER) - 1 : (size_t)n, MSG_NOSIGNAL) < 0 || http)
        close(fd);
}

static void serve(const int listeners[2])
{
    const int epoll = epoll_create1(0);
    struct epoll_event events[64], event = { .events = EPOLLIN };

    for (int i = 0; i < 2; i++) {
        event.data.u64 = (uint64_t)listeners[i];
        epoll_ctl(epoll, EPOLL_CTL_ADD, listeners[i], &event);
    }
    for (;;) {
        const int n = epoll_wait(epoll, events, 64, -1);

        for (int i = 0; i < n; i++) {
            const int fd = (int)(events[i].data.u64 & 0xffffffff);
            const bool http = events[i].data.u64 >> 32;

            if (fd == listeners[0] || fd == listeners[1]) {
                const int client = accept(fd, NULL, NULL);

                event.data.u64 = (uint64_t)client | (uint64_t)(fd == listeners[1]) << 32;
                epoll_ctl(epoll, EPOLL_CTL_ADD, client, &event);
            } else {
                serve_one(fd, http);
            }
        }
    }
}

static int listen_on(uint16_t *out_port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(address);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0 || listen(fd, 512) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        die("listen");
    *out_port = ntohs(address.sin_port);
    return fd;
}

static pid_t start_server(uint16_t ports[2])
{
    const int listeners[2] = { listen_on(&ports[0]), listen_on(&ports[1]) };
    const pid_t pid = fork();

    if (pid < 0)
        die("fork");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(listeners);
    }
    close(listeners[0]);
    close(listeners[1]);
    return pid;
}

/* ---- measuring ---- */

static double cpu_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double wall_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct cost {
    double share; /* of one core */
    double per_try_us;
    uint64_t tries, failures;
};

static struct cost cost_of(double cpu, double wall, uint64_t tries, uint64_t failures)
{
    return (struct cost){ cpu / wall, tries ? cpu / (double)tries * 1e6 : 0, tries, failures };
}

static struct kvmig_probe *new_probe(struct kvmig_context *context, int32_t kind, uint16_t port)
{
    struct kvmig_probe_target target = {
        .size = sizeof(target), .host = "127.0.0.1", .port = port, .kind = kind, .interval_ms = INTERVAL_MS
    };
    const struct kvmig_probe_target *targets[TARGETS];
    struct kvmig_probe_opts opts = KVMIG_PROBE_OPTS_INIT;
    struct kvmig_probe *probe;

    for (size_t i = 0; i < TARGETS; i++)
        targets[i] = &target;
    opts.targets = targets;
    opts.n_targets = TARGETS;
    if (kvmig_probe_new(context, &opts, &probe) < 0)
        die("kvmig_probe_new");
    return probe;
}

static struct cost measure_probe(int32_t kind, uint16_t port, double seconds)
{
    struct kvmig_context *context;
    struct kvmig_probe *probe;
    uint64_t tries = 0, failures = 0;
    double cpu, wall;

    if (kvmig_context_new(NULL, &context) < 0)
        die("kvmig_context_new");
    probe = new_probe(context, kind, port);
    cpu = cpu_seconds();
    wall = wall_seconds();
    kvmig_probe_start(probe);
    poll(NULL, 0, (int)(seconds * 1000));
    cpu = cpu_seconds() - cpu;
    wall = wall_seconds() - wall;
    for (size_t i = 0; i < TARGETS; i++) {
        struct kvmig_probe_result result = { .size = sizeof(result) };

        kvmig_probe_get_result(probe, i, &result);
        tries += result.tries;
        failures += result.failures;
    }
    kvmig_probe_unref(probe);
    kvmig_context_unref(context);
    return cost_of(cpu, wall, tries, failures);
}

/* ---- the peer ---- */

static int dial(uint16_t port)
{
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_port = htons(port),
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        die("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

static bool peer_try(int32_t kind, uint16_t port, int *held)
{
    char data[512];
    ssize_t n = 1;
    const int fd = kind == KVMIG_PROBE_TCP_ECHO && *held >= 0 ? *held : dial(port);

    if (kind == KVMIG_PROBE_HTTP_GET)
        n = send(fd, REQUEST, sizeof(REQUEST) - 1, 0);
    else if (kind == KVMIG_PROBE_TCP_ECHO)
        n = send(fd, "00000000\n", 9, 0);
    if (n > 0 && kind != KVMIG_PROBE_TCP_CONNECT)
        n = recv(fd, data, sizeof(data), 0);
    if (kind == KVMIG_PROBE_TCP_ECHO)
        *held = fd;
    else
        close(fd);
    return n > 0;
}

static struct cost measure_peer(int32_t kind, uint16_t port, double seconds)
{
    int held[TARGETS] = { -1, -1, -1, -1, -1 };
    uint64_t tries = 0, failures = 0;
    double cpu = cpu_seconds(), wall = wall_seconds();
    struct timespec due;

    clock_gettime(CLOCK_MONOTONIC, &due);
    while (wall_seconds() - wall < seconds) {
        for (int i = 0; i < TARGETS; i++, tries++)
            failures += !peer_try(kind, port, &held[i]);
        due.tv_nsec += INTERVAL_MS * 1000000;
        due.tv_sec += due.tv_nsec / 1000000000;
        due.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    }
    for (int i = 0; i < TARGETS; i++) {
        if (held[i] >= 0)
            close(held[i]);
    }
    return cost_of(cpu_seconds() - cpu, wall_seconds() - wall, tries, failures);
}

static void print_cost(const char *who, const struct cost *cost)
{
    printf("  %-6s %6.2f %% of one core, %6.1f us per try (%llu tries, %llu failed)\n", who, 100 * cost->share,
           cost->per_try_us, (unsigned long long)cost->tries, (unsigned long long)cost->failures);
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? strtod(argv[1], NULL) : 10;
    uint16_t ports[2];
    const pid_t server = start_server(ports);

    printf("%d targets, a try every %d ms, %.0f s each\n", TARGETS, INTERVAL_MS, seconds);
    for (int32_t kind = KVMIG_PROBE_TCP_CONNECT; kind <= KVMIG_PROBE_HTTP_GET; kind++) {
        const uint16_t port = ports[kind == KVMIG_PROBE_HTTP_GET];
        const struct cost probe = measure_probe(kind, port, seconds), peer = measure_peer(kind, port, seconds);

        printf("%s\n", kvmig_probe_kind_name(kind));
        print_cost("probe", &probe);
        print_cost("peer", &peer);
        printf("  ratio  %6.2f\n", probe.per_try_us / peer.per_try_us);
    }
    kill(server, SIGKILL);
    return 0;
}
