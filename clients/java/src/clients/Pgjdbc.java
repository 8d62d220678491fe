package clients;

import java.sql.DriverManager;
import java.util.Properties;

/** Point selects with pgjdbc, which prepares a statement at its fifth execution. */
final class Pgjdbc {
    public static void main(String[] args) throws Exception {
        Loop loop = new Loop(args);
        Properties properties = new Properties();
        properties.setProperty("user", loop.user);
        properties.setProperty("password", loop.password);
        String where = loop.host + ":" + loop.port;
        if (loop.socket != null) {
            properties.setProperty("socketFactory", "org.newsclub.net.unix.AFUNIXSocketFactory$FactoryArg");
            properties.setProperty("socketFactoryArg", loop.socket);
            // The driver requires a host, but does not use it.
            where = "localhost";
        }
        var connection = DriverManager.getConnection("jdbc:postgresql://" + where + "/" + loop.database, properties);
        var statement = connection.prepareStatement("SELECT c FROM sbtest1 WHERE id = ?");
        String library = "pgjdbc " + connection.getMetaData().getDriverVersion();
        loop.serve(library, key -> {
            statement.setLong(1, key);
            try (var rows = statement.executeQuery()) {
                rows.next();
                return rows.getString(1);
            }
        });
    }
}
