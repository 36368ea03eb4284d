import Papa from 'papaparse';

const BLOCK_BYTES = 4 * 1024 * 1024;

/** Reads a CSV in blocks of 4 MB with papaparse and only counts its rows. */
export function countRowsWithPapaparse(bytes: Uint8Array): number {
  const decoder = new TextDecoder();
  let rows = -1;
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.lastIndexOf(10, Math.min(bytes.length, at + BLOCK_BYTES) - 1) + 1;
    const countRow = () => {
      rows++;
    };
    Papa.parse(decoder.decode(bytes.subarray(at, end)), { step: countRow, skipEmptyLines: true });
    at = end;
  }
  return rows;
}
