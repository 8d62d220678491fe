/* Point selects with libpq: one prepared statement; the library waits for each result. */
#include <libpq-fe.h>

#include "loop.h"

static size_t point_select(void *connection, unsigned long key) {
    char id[16];
    snprintf(id, sizeof id, "%lu", key);
    const char *values[] = {id};
    PGresult *result = PQexecPrepared(connection, "point", 1, values, NULL, NULL, 0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1)
        fail("execute", PQerrorMessage(connection));
    size_t length = PQgetlength(result, 0, 0);
    PQclear(result);
    return length;
}

int main(int argc, char **argv) {
    struct place place = place_of(argc, argv);
    char host[256], port[16];
    snprintf(port, sizeof port, "%d", place.port);
    if (place.socket) {
        /* libpq expects the socket's folder, and the port from the socket's name. */
        const char *name = strrchr(place.socket, '/');
        snprintf(host, sizeof host, "%.*s", (int)(name - place.socket), place.socket);
        snprintf(port, sizeof port, "%s", strrchr(place.socket, '.') + 1);
    } else {
        snprintf(host, sizeof host, "%s", place.host);
    }
    PGconn *connection =
        PQsetdbLogin(host, port, NULL, NULL, place.database, place.user, place.password);
    if (PQstatus(connection) != CONNECTION_OK) fail("connect", PQerrorMessage(connection));
    PGresult *prepared =
        PQprepare(connection, "point", "SELECT c FROM sbtest1 WHERE id = $1", 1, NULL);
    if (PQresultStatus(prepared) != PGRES_COMMAND_OK) fail("prepare", PQerrorMessage(connection));
    PQclear(prepared);
    char library[64];
    snprintf(library, sizeof library, "libpq %d.%d", PQlibVersion() / 10000, PQlibVersion() % 10000);
    say_ready(library);
    return serve(&place, point_select, connection);
}
