package clients;

import java.sql.DriverManager;
import java.util.Properties;

/** Point selects with MySQL Connector/J: one statement, prepared by the server. Only over TCP. */
final class MysqlJdbc {
    public static void main(String[] args) throws Exception {
        Loop loop = new Loop(args);
        Properties properties = new Properties();
        properties.setProperty("user", loop.user);
        properties.setProperty("password", loop.password);
        properties.setProperty("useServerPrepStmts", "true");
        String where = loop.host + ":" + loop.port;
        var connection = DriverManager.getConnection("jdbc:mysql://" + where + "/" + loop.database, properties);
        var statement = connection.prepareStatement("SELECT c FROM sbtest1 WHERE id = ?");
        loop.serve("MySQL Connector/J " + version(connection.getMetaData().getDriverVersion()), key -> {
            statement.setLong(1, key);
            try (var rows = statement.executeQuery()) {
                rows.next();
                return rows.getString(1);
            }
        });
    }

    /** Returns the version in {@code mysql-connector-j-1.2.3 (Revision: …)}. */
    private static String version(String whole) {
        return whole.replaceAll("^mysql-connector-j-| .*$", "");
    }
}
