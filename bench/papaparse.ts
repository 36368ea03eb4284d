import Papa from 'papaparse';

const BLOCK = 4 * 1024 * 1024;

/** Reads a CSV in blocks of 4 MB with papaparse and only counts its rows. */
export function papaparse(bytes: Uint8Array): number {
  const decoder = new TextDecoder();
  let rows = -1;
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.lastIndexOf(10, Math.min(bytes.length, at + BLOCK) - 1) + 1;
    const step = () => {
      rows++;
    };
    Papa.parse(decoder.decode(bytes.subarray(at, end)), { step, skipEmptyLines: true });
    at = end;
  }
  return rows;
}
