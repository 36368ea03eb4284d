/** Returns a CSV file of numbered rows that differ, of about 90 bytes each. */
export function makeCsv(rowCount: number): string {
  const lines = ['numero,texto'];
  for (let row = 0; row < rowCount; row += 1) lines.push(`${row},${`texto ${row * 7919} `.padEnd(80, 'abcdefghij')}`);
  return `${lines.join('\n')}\n`;
}
