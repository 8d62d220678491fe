// Numbers as people read them, by the same rules as crates/report/src/format.rs.

const SPACE = "\u00a0";

function threeDigits(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

function scaled(value: number): [number, string] {
  if (value >= 999.5e6) return [1e9, "G"];
  if (value >= 999.5e3) return [1e6, "M"];
  if (value >= 999.5) return [1e3, "K"];
  return [1, ""];
}

/** `94.9K/s`, `4.28 GB/s`, `1.23 s` or `14.9 µs`: see `Slices.unit`. */
export function pace(value: number, unit: string): string {
  if (unit === "us") return `${threeDigits(value)}${SPACE}µs`;
  if (unit === "s") return runTime(value);
  const [scale, prefix] = scaled(value);
  const digits = threeDigits(value / scale);
  return unit === "B" ? `${digits}${SPACE}${prefix}B/s` : `${digits}${prefix}/s`;
}

/** `312 ms`, `12.3 s`: how long a whole command takes. */
function runTime(seconds: number): string {
  return seconds < 9.9995 ? `${threeDigits(seconds * 1e3)}${SPACE}ms` : `${threeDigits(seconds)}${SPACE}s`;
}

/** `12.3 µs`, `0.42 µs`, `42 ns`: what a frame costs a request. */
export function micros(us: number): string {
  return Math.abs(us) < 0.0995 ? `${Math.round(us * 1e3)}${SPACE}ns` : `${threeDigits(us)}${SPACE}µs`;
}

/** The same of a difference, which always has its sign. */
export function signedMicros(us: number): string {
  return `${us >= 0 ? "+" : ""}${micros(us)}`;
}

/** What an axis of such values is called. */
export function paceTitle(unit: string): string {
  const titles: Record<string, string> = {
    B: "bytes per second",
    s: "seconds per run",
    us: "median response time, µs",
  };
  return titles[unit] ?? "requests per second";
}

/** `16.0 %`. */
export function percent(pct: number): string {
  return `${pct.toFixed(1)}${SPACE}%`;
}

/** The same of something that may not have been read. */
export function share(pct: number | null): string {
  return pct === null ? "not read" : percent(pct);
}
