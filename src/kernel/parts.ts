/** Values in their order, in as few parts of at most `most` together as possible. A larger value is a part of its own. */
export function splitIntoParts<T>(values: readonly T[], most: number, sizeOf: (value: T) => number): T[][] {
  const parts: T[][] = [];
  let left = 0;
  for (const value of values) {
    const size = sizeOf(value);
    if (parts.length === 0 || size > left) {
      parts.push([]);
      left = most;
    }
    parts.at(-1)?.push(value);
    left -= size;
  }
  return parts;
}
