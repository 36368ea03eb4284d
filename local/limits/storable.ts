import { LIMITS, PastLimit } from './limits.ts';

const measureBytes = (value: unknown): number => {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value.byteLength;
  return 8;
};

const ROWS_PATTERN = /\bvalues\s*(\([^()]*\)(?:\s*,\s*\([^()]*\))*)\s*(?:on conflict|returning|;|$)/i;

/** Refuses values, and rows of an INSERT by `VALUES`, that are too large to be stored. @throws PastLimit */
export function requireStorable(
  text: string,
  values: readonly unknown[],
  limit: 'valueBytes' | 'objectValueBytes',
): void {
  const sizes = values.map(measureBytes);
  const largest = Math.max(0, ...sizes);
  const most = LIMITS[limit].value;
  if (largest > most) throw new PastLimit(limit, largest);
  if (sizes.reduce((sum, size) => sum + size, 0) <= most) return;
  const rows = /^\s*insert\b/i.test(text) ? (ROWS_PATTERN.exec(text)?.[1] ?? '').match(/\([^()]*\)/g) : null;
  let from = 0;
  for (const row of rows ?? []) {
    const bound = row.split('?').length - 1;
    const size = sizes.slice(from, from + bound).reduce((sum, each) => sum + each, 0);
    if (size > most) throw new PastLimit(limit, size);
    from += bound;
  }
}

/** Refuses an entry of an object's storage that is too large. @throws PastLimit */
export function requireStorableEntry(key: string, value: unknown): void {
  const isPlain = typeof value === 'string' || ArrayBuffer.isView(value) || value instanceof ArrayBuffer;
  const size = measureBytes(key) + measureBytes(isPlain ? value : (JSON.stringify(value) ?? ''));
  if (size > LIMITS.objectEntryBytes.value) throw new PastLimit('objectEntryBytes', size);
}
