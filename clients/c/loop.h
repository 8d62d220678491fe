/* The code that every loop in C shares: the conversation on stdin and stdout, the clock, the keys.
 * See ../README.md for the conversation. Included by one program per library. */
#ifndef LOOP_H
#define LOOP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* The server's address, and our login. */
struct place {
    const char *socket; /* NULL: over TCP */
    char host[64];
    int port;
    const char *user, *password, *database;
    unsigned long rows;
};

static void fail(const char *action, const char *why) {
    fprintf(stderr, "error: cannot %s: %s\n", action, why);
    exit(2);
}

static const char *from_environment(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

/* Parses `unix:/path` or `tcp:host:port`. */
static struct place place_of(int argc, char **argv) {
    struct place place = {0};
    if (argc != 2) fail("start", "usage: ADDRESS, unix:/path or tcp:host:port");
    if (strncmp(argv[1], "unix:", 5) == 0)
        place.socket = argv[1] + 5;
    else if (sscanf(argv[1], "tcp:%63[^:]:%d", place.host, &place.port) != 2)
        fail("start", "the address is neither unix:/path nor tcp:host:port");
    place.user = from_environment("LOOP_USER");
    place.password = from_environment("LOOP_PASSWORD");
    place.database = from_environment("LOOP_DATABASE");
    place.rows = strtoul(from_environment("LOOP_ROWS"), NULL, 10);
    if (place.rows == 0) fail("start", "LOOP_ROWS is not set");
    return place;
}

static double seconds(struct timeval time) { return time.tv_sec + time.tv_usec / 1e6; }

/* Sends one request; returns the length of the value in the answer. */
typedef size_t request(void *connection, unsigned long key);

/* For each line of stdin, a number of requests: sends them, and prints how long they took. */
static int serve(const struct place *place, request *ask, void *connection) {
    unsigned long n, key = 0;
    while (scanf("%lu", &n) == 1) {
        struct timespec begin, end;
        struct rusage before, after;
        getrusage(RUSAGE_SELF, &before);
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (unsigned long i = 0; i < n; i++) {
            key = (key + 7919) % place->rows;
            if (ask(connection, key + 1) == 0) fail("read a value", "it is empty");
        }
        clock_gettime(CLOCK_MONOTONIC, &end);
        getrusage(RUSAGE_SELF, &after);
        printf("%lu %.6f %.6f %.6f\n", n,
               (end.tv_sec - begin.tv_sec) + (end.tv_nsec - begin.tv_nsec) / 1e9,
               seconds(after.ru_utime) - seconds(before.ru_utime),
               seconds(after.ru_stime) - seconds(before.ru_stime));
        fflush(stdout);
    }
    return 0;
}

static void say_ready(const char *library) {
    printf("ready %s, C\n", library);
    fflush(stdout);
}

#endif
