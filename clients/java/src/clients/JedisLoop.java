package clients;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.util.Properties;
import org.newsclub.net.unix.AFUNIXSocket;
import org.newsclub.net.unix.AFUNIXSocketAddress;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisSocketFactory;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** GETs with Jedis on one connection. */
final class JedisLoop {
    public static void main(String[] args) throws Exception {
        Loop loop = new Loop(args);
        Jedis jedis;
        if (loop.socket == null) {
            jedis = new Jedis(loop.host, loop.port);
        } else {
            JedisSocketFactory factory = () -> unix(loop.socket);
            jedis = new Jedis(factory, DefaultJedisClientConfig.builder().build());
        }
        jedis.auth(loop.password);
        loop.serve("Jedis " + version(), key -> jedis.get(String.format("looptax:%012d", key)));
    }

    private static String version() throws IOException {
        Properties properties = new Properties();
        String path = "/META-INF/maven/redis.clients/jedis/pom.properties";
        try (InputStream stream = Jedis.class.getResourceAsStream(path)) {
            if (stream != null) {
                properties.load(stream);
            }
        }
        return properties.getProperty("version", "of unknown version");
    }

    private static Socket unix(String path) {
        try {
            return AFUNIXSocket.connectTo(AFUNIXSocketAddress.of(new File(path)));
        } catch (IOException error) {
            throw new JedisConnectionException(error);
        }
    }
}
