package clients;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.util.HexFormat;
import java.util.concurrent.TimeUnit;
import javax.tools.ToolProvider;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.mongodb.ConnectionString;
import com.mongodb.MongoClientSettings;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.ValueOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import org.bson.Document;

/**
 * Connects as each Java driver does with the text that `looptax dsn` prints.
 *
 * usage: Dialects DIALECT, with jobs on stdin as clients/dialects/README.md says
 */
public class Dialects {
    static final String QUERY = System.getenv("DIALECT_QUERY");

    interface Way {
        String seen(String text) throws Exception;
    }

    static String byJdbc(String text) throws Exception {
        try (var connection = DriverManager.getConnection(text);
                var statement = connection.createStatement();
                var rows = statement.executeQuery(QUERY)) {
            rows.next();
            return rows.getString(1);
        }
    }

    /** Reads Spring's properties, for `cargo lab oracle spellings`; passes URL, user and password on unchanged. */
    static String bySpring(String text) throws Exception {
        var properties = new java.util.Properties();
        properties.load(new java.io.StringReader(text));
        DriverManager.setLoginTimeout(5);
        DriverManager.getConnection(properties.getProperty("spring.datasource.url"),
                properties.getProperty("spring.datasource.username"),
                properties.getProperty("spring.datasource.password")).close();
        return "";
    }

    static String byLettuce(String text) throws Exception {
        RedisClient client = RedisClient.create((RedisURI) pasted(text, RedisURI.class));
        try (var connection = client.connect()) {
            return connection.sync().dispatch(CommandType.CLIENT, new ValueOutput<>(StringCodec.UTF8),
                    new CommandArgs<>(StringCodec.UTF8).add("INFO"));
        } finally {
            client.shutdown();
        }
    }

    /** Like the driver's own factory, but it only parses and returns the URL, so that the time limit can be changed. */
    public static final class MongoClients {
        public static ConnectionString create(String url) {
            return new ConnectionString(url);
        }
    }

    /** Returns the user that is logged in, the URL's database, and the client's address as the server sees it. */
    static String byMongo(String text) throws Exception {
        var url = (ConnectionString) pasted(text, MongoClients.class);
        var settings = MongoClientSettings.builder().applyConnectionString(url)
                .applyToClusterSettings(it -> it.serverSelectionTimeout(3, TimeUnit.SECONDS));
        try (var client = com.mongodb.client.MongoClients.create(settings.build())) {
            var admin = client.getDatabase("admin");
            var status = admin.runCommand(new Document("connectionStatus", 1));
            var users = status.get("authInfo", Document.class).getList("authenticatedUsers", Document.class);
            var place = admin.runCommand(new Document("whatsmyuri", 1)).getString("you");
            return hex(users.get(0).getString("user")) + " " + hex(url.getDatabase()) + " " + place.replace(' ', '-');
        }
    }

    static String hex(String word) {
        return HexFormat.of().withUpperCase().formatHex(word.getBytes(StandardCharsets.UTF_8));
    }

    /** Returns the value of an expression, which is compiled into its own class. */
    static Object pasted(String text, Class<?> named) throws Exception {
        Path folder = Files.createTempDirectory(Path.of(System.getenv("DIALECT_SCRATCH")), "java");
        Path file = folder.resolve("Pasted.java");
        Files.writeString(file, "import " + named.getCanonicalName() + ";\n"
                + "public class Pasted { public static Object value() { return " + text + "; } }\n");
        var errors = new java.io.ByteArrayOutputStream();
        int failed = ToolProvider.getSystemJavaCompiler().run(null, errors, errors, "-encoding", "UTF-8",
                "-cp", System.getProperty("java.class.path"), "-d", folder.toString(), file.toString());
        if (failed != 0) {
            throw new IllegalArgumentException(errors.toString(StandardCharsets.UTF_8));
        }
        try (var loader = new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
            return loader.loadClass("Pasted").getMethod("value").invoke(null);
        }
    }

    /** Returns the drivers with their versions, from the names of the jars. */
    static String driver(String... names) {
        StringBuilder found = new StringBuilder();
        for (String name : names) {
            for (String jar : System.getProperty("java.class.path").split(":")) {
                String file = Path.of(jar).getFileName().toString();
                if (file.matches(java.util.regex.Pattern.quote(name) + "-\\d.*")) {
                    found.append(found.isEmpty() ? "" : ", ").append(name).append(' ')
                            .append(file.substring(name.length() + 1).replaceFirst("(-linux.*)?\\.jar$", ""));
                }
            }
        }
        return found.toString();
    }

    static void print(String... pairs) {
        JsonObject line = new JsonObject();
        for (int idx = 0; idx < pairs.length; idx += 2) {
            line.addProperty(pairs[idx], pairs[idx + 1]);
        }
        System.out.println(line);
    }

    public static void main(String[] args) throws Exception {
        System.setOut(new java.io.PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), true,
                StandardCharsets.UTF_8));
        Way way = switch (args[0]) {
            case "redis.lettuce" -> Dialects::byLettuce;
            case "mongodb.mongodb-java" -> Dialects::byMongo;
            case "spelling.spring-mysql", "spelling.spring-pgsql" -> Dialects::bySpring;
            default -> Dialects::byJdbc;
        };
        String driver = switch (args[0]) {
            case "mysql.connector-j" -> driver("mysql-connector-j", "junixsocket-mysql");
            case "mysql.mariadb-connector-j" -> driver("mariadb-java-client", "jna");
            case "mongodb.mongodb-java" -> driver("mongodb-driver-sync", "jnr-unixsocket");
            case "spelling.spring-mysql" -> driver("mysql-connector-j", "mariadb-java-client", "jna");
            case "postgres.pgjdbc", "spelling.spring-pgsql" -> driver("postgresql", "junixsocket-common");
            default -> driver("lettuce-core", "netty-transport-native-epoll");
        };
        print("driver", driver, "language", "Java " + System.getProperty("java.version"));
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String text = JsonParser.parseString(line).getAsJsonObject().get("text").getAsString();
            try {
                print("seen", way.seen(text));
            } catch (Exception error) {
                Throwable cause = error;
                while (cause.getCause() != null) {
                    cause = cause.getCause();
                }
                print("error", error + (cause == error ? "" : "; " + cause));
            }
        }
        System.exit(0);
    }
}
