package clients;

import java.sql.DriverManager;

/**
 * Sends one query over JDBC and prints the first column of the answer.
 *
 * usage: Ask URL QUERY
 */
final class Ask {
    public static void main(String[] args) throws Exception {
        // Set if the URL does not contain the user.
        String user = System.getenv("ASK_USER");
        try (var connection = user == null
                        ? DriverManager.getConnection(args[0])
                        : DriverManager.getConnection(args[0], user, System.getenv("ASK_PASSWORD"));
                var statement = connection.createStatement();
                var rows = statement.executeQuery(args[1])) {
            rows.next();
            System.out.println(rows.getString(1));
        }
        System.exit(0);
    }
}
