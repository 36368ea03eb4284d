/** The limit of a figure. */
export interface Limit {
  words: 'at most' | 'at least';
  value: number;
}

export const makeUpperLimit = (value: number): Limit => ({ words: 'at most', value });
export const makeLowerLimit = (value: number): Limit => ({ words: 'at least', value });

/** Prints a figure beside its limit, and makes the run fail if it exceeds that. `run.ts` parses these lines. */
export function printVerdict(what: string, figure: number, limit: Limit, unit = 'times'): void {
  const holds = limit.words === 'at most' ? figure <= limit.value : figure >= limit.value;
  console.log(`${holds ? '✓' : '✗'} ${what}: ${Number(figure.toFixed(2))} ${unit} (${limit.words} ${limit.value})`);
  if (!holds) process.exitCode = 1;
}

/** Milliseconds of a run. */
export async function measureMilliseconds(run: () => unknown): Promise<number> {
  const started = performance.now();
  await run();
  return performance.now() - started;
}

/** How many rows a second so many in these milliseconds are. */
export const formatRate = (rows: number, ms: number): string =>
  `${Math.round(rows / (ms / 1000)).toLocaleString('en')} rows/s`;

/** The median of some figures. */
export const computeMedian = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
