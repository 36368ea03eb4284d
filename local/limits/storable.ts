import { LIMITS, LimitExceededError } from './limits.ts';

const measureBytes = (value: unknown): number => {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value.byteLength;
  return 8;
};

const ROWS_PATTERN = /\bvalues\s*(\([^()]*\)(?:\s*,\s*\([^()]*\))*)\s*(?:on conflict|returning|;|$)/i;

/** Refuses values, and rows of an INSERT by `VALUES`, that are too large to be stored. @throws LimitExceededError */
export function requireStorable(
  text: string,
  values: readonly unknown[],
  limit: 'valueBytes' | 'objectValueBytes',
): void {
  const sizes = values.map(measureBytes);
  const largest = Math.max(0, ...sizes);
  const maxBytes = LIMITS[limit].value;
  if (largest > maxBytes) throw new LimitExceededError(limit, largest);
  if (sizes.reduce((sum, size) => sum + size, 0) <= maxBytes) return;
  const rows = /^\s*insert\b/i.test(text) ? (ROWS_PATTERN.exec(text)?.[1] ?? '').match(/\([^()]*\)/g) : null;
  let from = 0;
  for (const row of rows ?? []) {
    const parameterCount = row.split('?').length - 1;
    const size = sizes.slice(from, from + parameterCount).reduce((sum, valueSize) => sum + valueSize, 0);
    if (size > maxBytes) throw new LimitExceededError(limit, size);
    from += parameterCount;
  }
}

/** Refuses an entry of an object's storage that is too large. @throws LimitExceededError */
export function requireStorableEntry(key: string, value: unknown): void {
  const isPlain = typeof value === 'string' || ArrayBuffer.isView(value) || value instanceof ArrayBuffer;
  const size = measureBytes(key) + measureBytes(isPlain ? value : (JSON.stringify(value) ?? ''));
  if (size > LIMITS.objectEntryBytes.value) throw new LimitExceededError('objectEntryBytes', size);
}
