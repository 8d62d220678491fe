package clients;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.Locale;

/** The code that every loop in Java shares: the conversation (see ../../../README.md), the clock, the keys. */
final class Loop {
    /** Path of the socket; {@code null} over TCP. */
    final String socket;

    final String host;
    final int port;
    final String user = System.getenv("LOOP_USER");
    final String password = System.getenv("LOOP_PASSWORD");
    final String database = System.getenv("LOOP_DATABASE");
    private final long rows = Long.parseLong(System.getenv("LOOP_ROWS"));

    /** A request; returns the value in the answer. */
    interface Request {
        String ask(long key) throws Exception;
    }

    Loop(String[] args) {
        String[] parts = args.length == 1 ? args[0].split(":", 3) : new String[] {""};
        if (parts[0].equals("unix") && parts.length == 2) {
            socket = parts[1];
            host = null;
            port = 0;
        } else if (parts[0].equals("tcp") && parts.length == 3) {
            socket = null;
            host = parts[1];
            port = Integer.parseInt(parts[2]);
        } else {
            throw new IllegalArgumentException("usage: ADDRESS, unix:/path or tcp:host:port");
        }
    }

    /** For each line of stdin, a number of requests: sends them, and prints how long they took. */
    void serve(String library, Request request) throws Exception {
        System.out.printf("ready %s, Java %s%n", library, System.getProperty("java.version"));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        var self = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long key = 0;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            long n = Long.parseLong(line.trim());
            long cpuBefore = self.getProcessCpuTime();
            long begin = System.nanoTime();
            try {
                for (long i = 0; i < n; i++) {
                    key = (key + 7919) % rows;
                    if (request.ask(key + 1).isEmpty()) {
                        throw new IllegalStateException("an empty value");
                    }
                }
            } catch (Exception e) {
                if (System.getenv("LOOP_TELLS") == null) {
                    throw e;
                }
                String words = (e.getClass().getSimpleName() + " " + e.getMessage()).replace('\n', ' ');
                System.out.println("failed " + words.substring(0, Math.min(words.length(), 90)));
                continue;
            }
            double seconds = (System.nanoTime() - begin) / 1e9;
            double cpu = (self.getProcessCpuTime() - cpuBefore) / 1e9;
            System.out.printf(Locale.ROOT, "%d %.6f %.6f%n", n, seconds, cpu);
        }
        // Some drivers have threads that would keep the program running.
        System.exit(0);
    }
}
