/** Question of an evaluation, with its right answers. */
export interface EvalQuestion {
  question: string;
  kind: 'answer' | 'refusal' | 'clarification';
  /** Rows of the right answer. */
  rows?: Row[];
  /** Rows of each reading, if a question can be read in several ways. */
  readings?: { rows: Row[] }[];
}

export type Row = (string | number | boolean | null)[];

/** Answer of the system to a question. */
export interface SystemAnswer {
  kind: 'answer' | 'refusal' | 'clarification';
  result: { rows: Row[] } | null;
}

/** Judgement of an answer: `refused` is less than was possible; `wrong` is an answer with rows that are not right. */
export type Judgement = 'right' | 'refused' | 'wrong';

const COMPARED_DIGITS = 9;

const normalizeCell = (cell: Row[number]): string => {
  const number = typeof cell === 'string' && /^-?\d+(\.\d+)?$/.test(cell) ? Number(cell) : cell;
  return typeof number === 'number' ? number.toPrecision(COMPARED_DIGITS) : JSON.stringify(number);
};

/** Formats rows for comparison: rows and columns in any order, numbers to nine digits. */
const formatComparable = (rows: readonly Row[]): string =>
  JSON.stringify(rows.map((row) => row.map(normalizeCell).sort().join()).sort());

/** Judges whether the answer to a question is right. */
export function judge({ kind, rows, readings = [] }: EvalQuestion, evalAnswer: SystemAnswer): Judgement {
  if (evalAnswer.kind !== 'answer')
    return kind === 'answer' || (kind === 'clarification' && evalAnswer.kind === 'refusal') ? 'refused' : 'right';
  const right = [...(rows ? [rows] : []), ...readings.map((reading) => reading.rows)].map(formatComparable);
  return evalAnswer.result && right.includes(formatComparable(evalAnswer.result.rows)) ? 'right' : 'wrong';
}

/** Parses the questions of a file, one in each line. */
export const parseQuestions = (text: string): EvalQuestion[] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line));
