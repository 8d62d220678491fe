package clients;

import com.sun.net.httpserver.HttpServer;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

/** A page that sends 20 queries to a database over a connection of HikariCP's pool: Site PORT. */
public final class Site {
    private Site() {}

    public static void main(String[] args) throws Exception {
        var config = new HikariConfig();
        config.setJdbcUrl("jdbc:mariadb://127.0.0.1:" + System.getenv("TRIAL_PORT") + "/"
                + System.getenv("TRIAL_DATABASE"));
        config.setUsername(System.getenv("TRIAL_USER"));
        config.setPassword(System.getenv("TRIAL_PASSWORD"));
        config.setMaximumPoolSize(4);
        var pool = new HikariDataSource(config);
        var address = new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0]));
        var server = HttpServer.create(address, 0);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/", exchange -> {
            byte[] page;
            int status = 200;
            try (var connection = pool.getConnection(); var statement = connection.createStatement()) {
                int sum = 0;
                for (int key = 0; key < 20; key++) {
                    try (var rows = statement.executeQuery("select " + key)) {
                        rows.next();
                        sum += rows.getInt(1);
                    }
                }
                page = ("sum " + sum + "\n").getBytes(StandardCharsets.UTF_8);
            } catch (Exception error) {
                page = error.toString().getBytes(StandardCharsets.UTF_8);
                status = 500;
            }
            exchange.sendResponseHeaders(status, page.length);
            try (var body = exchange.getResponseBody()) {
                body.write(page);
            }
        });
        server.start();
    }
}
