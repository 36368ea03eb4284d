const makeRow = (n: number): string =>
  `${n},"Cliente ${n}",${n % 9973}.5,${n % 2 === 0},2024-01-31,2024-01-31T10:20:30Z\n`;

/** Makes a CSV file of at least this many bytes. */
export function makeCsv(bytes: number): File {
  const parts = ['codigo,nome,valor,ativo,dia,momento\n'];
  for (let length = 0, n = 0; length < bytes; n += 1000) {
    const part = Array.from({ length: 1000 }, (_, index) => makeRow(n + index)).join('');
    parts.push(part);
    length += part.length;
  }
  return new File(parts, 'grande.csv', { type: 'text/csv' });
}
