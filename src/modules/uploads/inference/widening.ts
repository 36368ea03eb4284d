import type { ColumnType } from '../../../tenant-sql/columns.ts';
import { cutValue } from './errors.ts';
import { COMPATIBLE_TYPES, convertNextChunk, type LoadColumn, planLoad } from './load.ts';
import type { FileReading, Inference, InferredColumn, Misfit, Position } from './schema.ts';

/** The types that take every value of a type, the narrowest first. */
export const WIDER_TYPES: Record<ColumnType, readonly ColumnType[]> = {
  integer: ['decimal', 'text'],
  decimal: ['text'],
  date: ['datetime', 'text'],
  datetime: ['text'],
  boolean: ['text'],
  text: [],
};

/** A column of the existing table that may not take all values of the files. Plain data. */
export interface WideningCandidate {
  name: string;
  type: ColumnType;
  /** The files' column that fills it. */
  source: number;
  /** For each type that does not take all values, the first value that it does not take. */
  misfits: Partial<Record<ColumnType, Misfit>>;
}

/** The columns of the table that may not take all values, as far as inference tells. */
export function findWideningCandidates({ schema, found }: Pick<Inference, 'schema' | 'found'>): WideningCandidate[] {
  const rows = schema.total_row_count_estimate;
  return schema.columns.flatMap(({ name, type, source_index: source, evidence }) => {
    const inferred = source === null ? undefined : found[source];
    if (source === null || !inferred || evidence.nulls === rows || COMPATIBLE_TYPES[type].includes(inferred.type))
      return [];
    return [{ name, type, source, misfits: {} }];
  });
}

/** The types, besides text, that may still take all values of a column. */
const listPossibleTypes = ({ type, misfits }: WideningCandidate): ColumnType[] =>
  [type, ...WIDER_TYPES[type]].filter((each) => each !== 'text' && !misfits[each]);

/** Whether no further value can change the candidates. */
export const areSettled = (doubts: readonly WideningCandidate[]): boolean =>
  doubts.every((doubt) => listPossibleTypes(doubt).length === 0);

/** The candidates after some rows of a file, the position of the next row, and the size of the next block. */
export interface CheckedValues {
  doubts: WideningCandidate[];
  position: Position;
  wants: number;
}

/**
 * Tries the values of the complete rows that start in `block`, which holds the file's bytes from `position` on, as a load
 * would convert them.
 * @param isLast the block reaches the end of the file
 */
export function checkValues(
  file: FileReading,
  { found }: Pick<Inference, 'found'>,
  doubts: readonly WideningCandidate[],
  position: Position,
  block: Uint8Array,
  isLast: boolean,
): CheckedValues {
  const after = doubts.map((doubt) => ({ ...doubt, misfits: { ...doubt.misfits } }));
  const tried = after.flatMap((doubt) => listPossibleTypes(doubt).map((type) => ({ doubt, type })));
  const columns = tried.map(({ doubt: { source }, type }, index): LoadColumn => {
    const inferredType = found[source]?.type ?? 'text';
    return { name: String(index), type, nullable: true, source, inferredType, hasNulls: true };
  });
  const plan = { ...planLoad(file, columns), mode: 'convert' as const, columns };
  const chunk = convertNextChunk(plan, position, block, isLast, ({ name }, line, value) => {
    const { doubt, type } = tried[Number(name)] as (typeof tried)[number];
    doubt.misfits[type] ??= { file: file.fileName, line, value: cutValue(value()) };
  });
  return { doubts: after, position: chunk.position, wants: chunk.wants };
}

/** The wider type that takes all values of a table's column, and a value that its own type does not take; undefined for none. */
export function chooseWiderType({ name, type }: InferredColumn, doubts: readonly WideningCandidate[]) {
  const doubt = doubts.find((each) => each.name === name && each.type === type);
  const because = doubt?.misfits[type];
  const to = because && WIDER_TYPES[type].find((wider) => !doubt?.misfits[wider]);
  return to && because ? { name, from: type, to, because } : undefined;
}
