/* GETs with hiredis, which waits for each reply. */
#include <hiredis/hiredis.h>

#include "loop.h"

static size_t get(void *connection, unsigned long key) {
    redisReply *reply = redisCommand(connection, "GET looptax:%012lu", key);
    if (!reply) fail("get", ((redisContext *)connection)->errstr);
    if (reply->type != REDIS_REPLY_STRING) fail("get", reply->str ? reply->str : "no such key");
    size_t length = reply->len;
    freeReplyObject(reply);
    return length;
}

int main(int argc, char **argv) {
    struct place place = place_of(argc, argv);
    redisContext *connection =
        place.socket ? redisConnectUnix(place.socket) : redisConnect(place.host, place.port);
    if (!connection || connection->err) fail("connect", connection ? connection->errstr : "memory");
    redisReply *reply = redisCommand(connection, "AUTH %s", place.password);
    if (!reply || reply->type == REDIS_REPLY_ERROR) fail("log in", reply ? reply->str : "no answer");
    freeReplyObject(reply);
    char library[64];
    snprintf(library, sizeof library, "hiredis %d.%d.%d", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
    say_ready(library);
    return serve(&place, get, connection);
}
