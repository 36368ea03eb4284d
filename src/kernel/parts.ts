/** Splits values, in order, into as few parts as possible of at most `maxSize` each. A larger value is a part of its own. */
export function splitIntoParts<T>(values: readonly T[], maxSize: number, measureSize: (value: T) => number): T[][] {
  const parts: T[][] = [];
  let remainingSize = 0;
  for (const value of values) {
    const size = measureSize(value);
    if (parts.length === 0 || size > remainingSize) {
      parts.push([]);
      remainingSize = maxSize;
    }
    parts.at(-1)?.push(value);
    remainingSize -= size;
  }
  return parts;
}
