package clients;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;

/** GETs over Java's own selectors: the channel is registered before it connects, and waits for OP_CONNECT. */
final class NioLoop {
    private final Selector selector = Selector.open();
    private final SocketChannel channel = SocketChannel.open();
    private final ByteBuffer buffer = ByteBuffer.allocate(64 * 1024);

    private NioLoop(Loop loop) throws IOException {
        channel.configureBlocking(false);
        SelectionKey key = channel.register(selector, SelectionKey.OP_CONNECT);
        if (!channel.connect(new InetSocketAddress(loop.host, loop.port))) {
            await();
            if (!key.isConnectable() || !channel.finishConnect()) {
                throw new IOException("it is connected, and nothing says so");
            }
        }
        key.interestOps(SelectionKey.OP_READ);
    }

    private void await() throws IOException {
        // With a time limit, a lost event is an error.
        if (selector.select(10_000) == 0) {
            throw new IOException("no event in ten seconds");
        }
        selector.selectedKeys().clear();
    }

    /** Sends one command; returns the first line of the reply, or the content of a bulk reply. */
    private String ask(String command) throws IOException {
        channel.write(ByteBuffer.wrap((command + "\r\n").getBytes(StandardCharsets.UTF_8)));
        buffer.clear();
        while (true) {
            await();
            if (channel.read(buffer) < 0) {
                throw new IOException("the server hung up");
            }
            String reply = new String(buffer.array(), 0, buffer.position(), StandardCharsets.ISO_8859_1);
            int end = reply.indexOf("\r\n");
            if (end >= 0 && reply.charAt(0) != '$') {
                return reply.substring(0, end);
            }
            if (end >= 0) {
                int length = Integer.parseInt(reply.substring(1, end));
                if (reply.length() >= end + length + 4) {
                    return reply.substring(end + 2, end + 2 + length);
                }
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Loop loop = new Loop(args);
        NioLoop redis = new NioLoop(loop);
        if (!redis.ask("AUTH " + loop.password).equals("+OK")) {
            throw new IOException("the login was refused");
        }
        loop.serve("java.nio", key -> redis.ask(String.format("GET looptax:%012d", key)));
    }
}
