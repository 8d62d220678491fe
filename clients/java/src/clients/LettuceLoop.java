package clients;

import io.lettuce.core.LettuceVersion;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.resource.EpollProvider;

/** GETs with Lettuce on one connection, over netty's own epoll or over Java's selectors. Only over TCP. */
final class LettuceLoop {
    public static void main(String[] args) throws Exception {
        Loop loop = new Loop(args);
        RedisURI place = RedisURI.builder()
                .withHost(loop.host)
                .withPort(loop.port)
                .withPassword(loop.password.toCharArray())
                .build();
        var redis = RedisClient.create(place).connect().sync();
        String transport = EpollProvider.isAvailable() ? "epoll" : "NIO";
        loop.serve("Lettuce " + LettuceVersion.getVersion() + " (netty's " + transport + ")",
                key -> redis.get(String.format("looptax:%012d", key)));
    }
}
