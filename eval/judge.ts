/** A question with what is right to say to it. */
export interface EvalQuestion {
  question: string;
  kind: 'answer' | 'refusal' | 'clarification';
  /** The rows of the right answer. */
  rows?: Row[];
  /** Of a question that can be read in several ways, the rows of each. */
  readings?: { rows: Row[] }[];
}

export type Row = (string | number | boolean | null)[];

/** What the system said. */
export interface EvalAnswer {
  kind: 'answer' | 'refusal' | 'clarification';
  result: { rows: Row[] } | null;
}

/** `refused` is less than was possible; `wrong` is what must not be: rows that are no answer. */
export type Judgement = 'right' | 'refused' | 'wrong';

const DIGITS = 9;

const cellOf = (cell: Row[number]): string => {
  const number = typeof cell === 'string' && /^-?\d+(\.\d+)?$/.test(cell) ? Number(cell) : cell;
  return typeof number === 'number' ? number.toPrecision(DIGITS) : JSON.stringify(number);
};

/** Rows as they are compared: in any order, and so their columns; numbers to nine digits. */
const comparable = (rows: readonly Row[]): string =>
  JSON.stringify(rows.map((row) => row.map(cellOf).sort().join()).sort());

/** Whether what was said to a question is right. */
export function judge({ kind, rows, readings = [] }: EvalQuestion, said: EvalAnswer): Judgement {
  if (said.kind !== 'answer')
    return kind === 'answer' || (kind === 'clarification' && said.kind === 'refusal') ? 'refused' : 'right';
  const right = [...(rows ? [rows] : []), ...readings.map((reading) => reading.rows)].map(comparable);
  return said.result && right.includes(comparable(said.result.rows)) ? 'right' : 'wrong';
}

/** The questions of a file, one in each line. */
export const questionsOf = (text: string): EvalQuestion[] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line));
