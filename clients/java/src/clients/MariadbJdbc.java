package clients;

import java.sql.DriverManager;
import java.util.Properties;

/** Point selects with MariaDB Connector/J: one statement, prepared by the server. */
final class MariadbJdbc {
    public static void main(String[] args) throws Exception {
        Loop loop = new Loop(args);
        Properties properties = new Properties();
        properties.setProperty("user", loop.user);
        properties.setProperty("password", loop.password);
        properties.setProperty("useServerPrepStmts", "true");
        String where = loop.host + ":" + loop.port;
        if (loop.socket != null) {
            properties.setProperty("localSocket", loop.socket);
            where = "localhost";
        }
        var connection = DriverManager.getConnection("jdbc:mariadb://" + where + "/" + loop.database, properties);
        var statement = connection.prepareStatement("SELECT c FROM sbtest1 WHERE id = ?");
        String library = "MariaDB Connector/J " + connection.getMetaData().getDriverVersion();
        loop.serve(library, key -> {
            statement.setLong(1, key);
            try (var rows = statement.executeQuery()) {
                rows.next();
                return rows.getString(1);
            }
        });
    }
}
