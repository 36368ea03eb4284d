import files from './fixtures/files.json';

export type FixtureName = keyof typeof files;

export const FIXTURE_NAMES = Object.keys(files) as FixtureName[];

/** Reads a file that another program has written: see fixtures/make.py. */
export const readFixture = (name: FixtureName): Uint8Array => Uint8Array.from(Buffer.from(files[name], 'base64'));

/** The rows of the table `many` in fixtures/make.py. */
export const MANY_ROWS = Array.from({ length: 300 }, (_, row) => ({
  n: row,
  texto: row % 7 === 0 ? null : `linha ${row % 50}`,
  fracao: row % 3 === 0 ? null : row / 8,
  lista: row % 5 === 0 ? null : JSON.stringify(Array.from({ length: row % 4 }, (_, at) => at)),
  sim: row % 2 === 0,
}));
