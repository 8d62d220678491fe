// Programs with threads for `cargo lab oracle programs`, over libuv: see ../README.md.
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";

function spin(n) {
  for (let i = 0; i < n; i++) Math.sqrt(i);
}

/** Makes one connection, in the thread that writes to it; returns the result. */
function run({ port, host, numbers, idx }) {
  const [, , , , spins, , nBytes, nParts, , end] = numbers;
  return new Promise((done) => {
    spin(spins);
    let [isGreeted, n, isEnded, error] = [false, 0, false, 0];
    const socket = connect({ port, host, allowHalfOpen: true, noDelay: spins % 2 === 0 });
    const over = () => done(`${idx}: echo ${n} ended ${isEnded} error ${error}`);
    const isDone = () => {
      if (n === nBytes && end === 2 && !socket.writableEnded) socket.end();
      if (n === nBytes && end === 0) socket.destroy();
    };
    socket.on("connect", () => {
      const size = Math.floor(nBytes / nParts);
      for (let part = 0; part < nParts; part++) {
        socket.write("x".repeat(part + 1 === nParts ? nBytes - part * size : size));
      }
      if (end === 1) socket.end();
    });
    socket.on("data", (bytes) => {
      if (!isGreeted) {
        const at = bytes.indexOf("\n");
        if (at < 0) return;
        isGreeted = true;
        bytes = bytes.subarray(at + 1);
      }
      n += bytes.length;
      isDone();
    });
    socket.on("end", () => {
      isEnded = true;
      if (!socket.writableEnded) socket.end();
    });
    socket.on("error", (it) => (error = it.code));
    socket.on("close", over);
  });
}

if (isMainThread) {
  const [host, port] = process.argv[2].split(":");
  const workers = [0, 1, 2].map(() => new Worker(new URL(import.meta.url), { workerData: { host, port } }));
  for (const line of readFileSync(process.argv[3], "utf8").split("\n")) {
    console.log(`program ${line}`);
    const [head, ...rest] = line.split("|");
    const nThreads = Number(head.split(" ")[2]);
    const connections = rest.map((it) => it.split(" ").map(Number));
    const told = [];
    await Promise.race([
      Promise.all(
        Array.from({ length: nThreads }, (_, who) => {
          const own = connections.flatMap((numbers, idx) => (numbers[8] === who ? [{ numbers, idx }] : []));
          return new Promise((done) => {
            workers[who].once("message", (lines) => done(told.push(...lines)));
            workers[who].postMessage(own);
          });
        }),
      ),
      new Promise((done) => setTimeout(done, 20_000).unref()),
    ]);
    console.log(told.length === connections.length ? told.sort().join("\n") : "hangs");
    if (told.length < connections.length) break;
  }
  process.exit(0);
}
parentPort?.on("message", async (own) => {
  const { host, port } = workerData;
  parentPort.postMessage(await Promise.all(own.map((it) => run({ ...it, host, port: Number(port) }))));
});
