package clients;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;

/** Point selects through a HikariCP pool with one connection, over MariaDB Connector/J. Only over TCP. */
final class HikariLoop {
    public static void main(String[] args) throws Exception {
        Loop loop = new Loop(args);
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:mariadb://" + loop.host + ":" + loop.port + "/" + loop.database);
        config.setUsername(loop.user);
        config.setPassword(loop.password);
        config.setMaximumPoolSize(1);
        HikariDataSource pool = new HikariDataSource(config);
        loop.serve("HikariCP", key -> {
            try (var connection = pool.getConnection();
                    var statement = connection.prepareStatement("SELECT c FROM sbtest1 WHERE id = ?")) {
                statement.setLong(1, key);
                try (var rows = statement.executeQuery()) {
                    rows.next();
                    return rows.getString(1);
                }
            }
        });
    }
}
