/** The name of a file that our client sends by tus however small it is: no form takes such a file. */
export const RESUMABLE_NAME = 'vendas.tsv';

/** Returns a CSV file of numbered rows that differ, of about 900 bytes each: few rows are soon in a table. */
export function makeCsv(rowCount: number): string {
  const lines = ['numero,texto'];
  for (let row = 0; row < rowCount; row += 1) lines.push(`${row},${`texto ${row * 7919} `.repeat(60).trimEnd()}`);
  return `${lines.join('\n')}\n`;
}
