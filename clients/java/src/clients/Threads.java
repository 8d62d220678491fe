package clients;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Programs with threads for {@code cargo lab oracle programs}, over Java's selector: see ../../../README.md. */
final class Threads {
    private static final int BEFORE = 0;
    private static final int BESIDE = 1;
    private static final int WAITER = 1;
    private static final int SHUT_BY_WRITER = 1;
    private static final int SHUT_BY_READER = 2;

    /** A connection, made from its numbers. */
    private static final class Connection {
        final boolean isPatient;
        final int when;
        final int watcher;
        final int spins;
        final int watchSpins;
        final int bytes;
        final int parts;
        final int writer;
        final int end;
        final SocketChannel channel = SocketChannel.open();
        String connected = "";
        boolean isGreeted;
        boolean isShut;
        boolean isEnded;
        boolean isOver;
        int echoed;

        Connection(String text) throws Exception {
            int[] it = Arrays.stream(text.split(" ")).mapToInt(Integer::parseInt).toArray();
            isPatient = it[0] == 1;
            watcher = it[2];
            spins = it[4];
            watchSpins = it[5];
            // A blocking channel cannot be registered with a selector.
            when = isPatient ? 2 : it[1];
            bytes = it[6];
            parts = it[7];
            writer = it[8];
            end = it[9];
        }
    }

    private final Selector selector = Selector.open();
    private final Queue<FutureTask<?>> turns = new ConcurrentLinkedQueue<>();
    private final ExecutorService helper = Executors.newSingleThreadExecutor();
    private final InetSocketAddress to;
    private final Connection[] all;

    private Threads(InetSocketAddress to, Connection[] all) throws Exception {
        this.to = to;
        this.all = all;
    }

    private static void spin(int n) {
        for (int i = 0; i < n; i++) {
            Thread.onSpinWait();
        }
    }

    /** Runs a step in a thread: the one that connects, the one that waits, or a third thread. */
    private Future<?> give(int who, Callable<?> turn) {
        FutureTask<?> task = new FutureTask<>(turn);
        if (who == WAITER) {
            turns.add(task);
            selector.wakeup();
        } else if (who == 0) {
            task.run();
        } else {
            helper.execute(task);
        }
        return task;
    }

    private Void watch(Connection it, int spins) throws Exception {
        spin(spins);
        it.channel.register(selector, it.isPatient ? SelectionKey.OP_READ : SelectionKey.OP_CONNECT, it);
        selector.wakeup();
        return null;
    }

    private void connect(Connection it) throws Exception {
        it.channel.configureBlocking(it.isPatient);
        Future<?> watching = null;
        if (it.when == BEFORE) {
            give(it.watcher, () -> watch(it, 0)).get();
        } else if (it.when == BESIDE) {
            watching = give(it.watcher, () -> watch(it, it.watchSpins));
        }
        spin(it.spins);
        it.connected = "connect " + it.channel.connect(to);
        if (watching != null) {
            watching.get();
        } else if (it.when != BEFORE) {
            it.channel.configureBlocking(false);
            give(it.watcher, () -> watch(it, 0)).get();
        }
    }

    private Void write(Connection it) throws Exception {
        int size = it.bytes / it.parts;
        for (int part = 0; part < it.parts; part++) {
            ByteBuffer bytes = ByteBuffer.allocate(part + 1 == it.parts ? it.bytes - part * size : size);
            while (bytes.hasRemaining()) {
                it.channel.write(bytes);
            }
        }
        if (it.end == SHUT_BY_WRITER) {
            it.channel.shutdownOutput();
        }
        return null;
    }

    private void handle(SelectionKey key) throws Exception {
        Connection it = (Connection) key.attachment();
        if (key.isConnectable()) {
            // The selector also reports channels that have not begun to connect as connectable.
            if (!it.channel.isConnectionPending() || !it.channel.finishConnect()) {
                return;
            }
            key.interestOps(SelectionKey.OP_READ);
            // As in most programs, the thread that notices the connection writes, or makes another thread write.
            give(it.writer == 0 ? WAITER : it.writer, () -> write(it));
        } else if (key.isReadable()) {
            ByteBuffer buffer = ByteBuffer.allocate(4096);
            int n = it.channel.read(buffer);
            it.isEnded = n < 0;
            int from = 0;
            for (; !it.isGreeted && from < n; from++) {
                it.isGreeted = buffer.get(from) == '\n';
            }
            it.echoed += Math.max(n, 0) - from;
        }
        boolean isWhole = it.echoed == it.bytes;
        if (isWhole && it.end == SHUT_BY_READER && !it.isShut) {
            it.isShut = true;
            it.channel.shutdownOutput();
        }
        if (it.isEnded || isWhole && it.end == 0) {
            it.isOver = true;
            it.channel.close();
        }
    }

    private Void await() throws Exception {
        while (!Arrays.stream(all).allMatch(it -> it.isOver)) {
            selector.select();
            for (var task = turns.poll(); task != null; task = turns.poll()) {
                task.run();
            }
            for (var keys = selector.selectedKeys().iterator(); keys.hasNext(); ) {
                SelectionKey key = keys.next();
                keys.remove();
                if (key.isValid()) {
                    handle(key);
                }
            }
        }
        return null;
    }

    private String run() throws Exception {
        FutureTask<Void> waiter = new FutureTask<>(this::await);
        Thread thread = new Thread(waiter);
        thread.setDaemon(true);
        thread.start();
        for (Connection it : all) {
            connect(it);
            if (it.isPatient) {
                give(it.writer, () -> write(it)).get();
            }
        }
        waiter.get(20, TimeUnit.SECONDS);
        helper.shutdown();
        selector.close();
        StringBuilder lines = new StringBuilder();
        for (int idx = 0; idx < all.length; idx++) {
            Connection it = all[idx];
            lines.append(idx).append(": ").append(it.connected).append(" echo ").append(it.echoed);
            lines.append(" ended ").append(it.isEnded).append('\n');
        }
        return lines.toString();
    }

    public static void main(String[] args) throws Exception {
        String[] place = args[0].split(":");
        InetSocketAddress to = new InetSocketAddress(place[0], Integer.parseInt(place[1]));
        for (String line : Files.readAllLines(Path.of(args[1]))) {
            System.out.println("program " + line);
            String[] parts = line.split("\\|");
            Connection[] all = new Connection[parts.length - 1];
            for (int idx = 0; idx < all.length; idx++) {
                all[idx] = new Connection(parts[idx + 1]);
            }
            try {
                System.out.print(new Threads(to, all).run());
            } catch (TimeoutException e) {
                System.out.println("hangs");
                break;
            } catch (ExecutionException e) {
                System.out.println("fails " + e.getCause());
            }
        }
        System.exit(0);
    }
}
