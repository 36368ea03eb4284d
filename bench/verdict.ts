/** Limit of a measured figure: an upper or a lower bound. */
export interface Limit {
  comparison: 'at most' | 'at least';
  value: number;
}

export const makeUpperLimit = (value: number): Limit => ({ comparison: 'at most', value });
export const makeLowerLimit = (value: number): Limit => ({ comparison: 'at least', value });

/** Prints a figure and its limit, which `run.ts` parses; makes the run fail if the figure is beyond the limit. */
export function printVerdict(label: string, figure: number, limit: Limit, unit = 'times'): void {
  const isWithinLimit = limit.comparison === 'at most' ? figure <= limit.value : figure >= limit.value;
  console.log(
    `${isWithinLimit ? '✓' : '✗'} ${label}: ${Number(figure.toFixed(2))} ${unit} (${limit.comparison} ${limit.value})`,
  );
  if (!isWithinLimit) process.exitCode = 1;
}

/** Measures the milliseconds of a run. */
export async function measureMilliseconds(run: () => unknown): Promise<number> {
  const startedAt = performance.now();
  await run();
  return performance.now() - startedAt;
}

/** Formats a number of rows and the milliseconds that they took as rows per second. */
export const formatRate = (rows: number, ms: number): string =>
  `${Math.round(rows / (ms / 1000)).toLocaleString('en')} rows/s`;

/** Returns the median of the values. */
export const computeMedian = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
