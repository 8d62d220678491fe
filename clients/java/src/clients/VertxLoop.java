package clients;

import io.vertx.core.Vertx;
import io.vertx.pgclient.PgConnectOptions;
import io.vertx.pgclient.PgConnection;
import io.vertx.sqlclient.Tuple;

/** Point selects with Vert.x's reactive client for PostgreSQL, on netty's event loop. Only over TCP. */
final class VertxLoop {
    public static void main(String[] args) throws Exception {
        Loop loop = new Loop(args);
        PgConnectOptions options = new PgConnectOptions()
                .setHost(loop.host)
                .setPort(loop.port)
                .setUser(loop.user)
                .setPassword(loop.password)
                .setDatabase(loop.database);
        PgConnection connection =
                PgConnection.connect(Vertx.vertx(), options).toCompletionStage().toCompletableFuture().get();
        var query = connection.preparedQuery("SELECT c FROM sbtest1 WHERE id = $1");
        loop.serve("Vert.x", key -> {
            var rows = query.execute(Tuple.of((int) key)).toCompletionStage().toCompletableFuture().get();
            return rows.iterator().next().getString(0);
        });
    }
}
