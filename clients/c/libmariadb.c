/* Point selects with libmariadb: one prepared statement, whose result is stored. */
#include <mysql.h>

#include "loop.h"

struct connection {
    MYSQL *mysql;
    MYSQL_STMT *statement;
    int id;
    char value[256];
    unsigned long length;
};

static size_t point_select(void *it, unsigned long key) {
    struct connection *connection = it;
    connection->id = (int)key;
    connection->length = 0;
    if (mysql_stmt_execute(connection->statement) || mysql_stmt_store_result(connection->statement))
        fail("execute", mysql_stmt_error(connection->statement));
    if (mysql_stmt_fetch(connection->statement) != 0) fail("fetch", "no row");
    mysql_stmt_free_result(connection->statement);
    return connection->length;
}

int main(int argc, char **argv) {
    struct place place = place_of(argc, argv);
    struct connection connection = {.mysql = mysql_init(NULL)};
    if (!mysql_real_connect(connection.mysql, place.socket ? "localhost" : place.host, place.user,
                            place.password, place.database, place.port, place.socket, 0))
        fail("connect", mysql_error(connection.mysql));
    connection.statement = mysql_stmt_init(connection.mysql);
    const char *sql = "SELECT c FROM sbtest1 WHERE id = ?";
    if (mysql_stmt_prepare(connection.statement, sql, strlen(sql)))
        fail("prepare", mysql_stmt_error(connection.statement));
    MYSQL_BIND id = {.buffer_type = MYSQL_TYPE_LONG, .buffer = &connection.id};
    MYSQL_BIND value = {.buffer_type = MYSQL_TYPE_STRING,
                        .buffer = connection.value,
                        .buffer_length = sizeof connection.value,
                        .length = &connection.length};
    if (mysql_stmt_bind_param(connection.statement, &id) ||
        mysql_stmt_bind_result(connection.statement, &value))
        fail("bind", mysql_stmt_error(connection.statement));
    char library[64];
    snprintf(library, sizeof library, "libmariadb %s", mysql_get_client_info());
    say_ready(library);
    return serve(&place, point_select, &connection);
}
