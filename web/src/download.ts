// Raw data to keep: made here from what the page holds, so that nothing is fetched.

import type { RecordData } from "./data.js";

/** Makes the file that a button asks for and hands it to the browser; `packed` is the record as gzip in base64. */
export async function download(record: RecordData, packed: string, kind: string): Promise<void> {
  const stem = record.name.replace(/\.json$/, "");
  if (kind === "json") return save(`${stem}.json`, await unpacked(packed), "application/json");
  if (kind === "hdr") return save(`${stem}.hlog`, new Blob([record.hdr]), "text/plain");
  return save(`${stem}-slices.csv`, new Blob([slicesCsv(record)]), "text/csv");
}

async function unpacked(base64: string): Promise<Blob> {
  const packed = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).blob();
}

function slicesCsv(record: RecordData): string {
  const lines = ["comparison,place,epoch,arm,start_s,value,unit"];
  record.comparisons.forEach(({ place, arms, slices }, comparison) => {
    if (slices === null) return;
    slices.rate.forEach((perS, idx) => {
      const arm = arms[slices.arm[idx] ?? -1] ?? "";
      const cells = [
        comparison + 1,
        quoted(place),
        slices.epoch[idx],
        quoted(arm),
        slices.startS[idx],
        perS ?? "",
        slices.unit,
      ];
      lines.push(cells.join(","));
    });
  });
  return `${lines.join("\n")}\n`;
}

/** A cell that no spreadsheet takes for a formula. */
function quoted(text: string): string {
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${harmless.replaceAll('"', '""')}"`;
}

function save(name: string, data: Blob, type: string): void {
  const link = document.createElement("a");
  const address = URL.createObjectURL(new Blob([data], { type }));
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
