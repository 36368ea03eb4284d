import type { ColumnType } from '../../../tenant-sql/columns.ts';
import { cutValue } from './errors.ts';
import { convertNextChunk, isCompatible, type LoadColumn, planLoad, WIDER_TYPES } from './load.ts';
import type { FileReading, Inference, InferredColumn, Misfit, Position } from './schema.ts';

/** A column of the existing table that perhaps cannot hold all values of the files. Plain data. */
export interface WideningCandidate {
  name: string;
  type: ColumnType;
  /** The index of the files' column that fills this column. */
  source: number;
  /** The first value that each unfit type does not take; absent for types that take all values so far. */
  misfits: Partial<Record<ColumnType, Misfit>>;
}

/** Finds the columns of the table that perhaps cannot hold all values of the files, by the types that were inferred. */
export function findWideningCandidates({ schema, found }: Pick<Inference, 'schema' | 'found'>): WideningCandidate[] {
  const rows = schema.total_row_count_estimate;
  return schema.columns.flatMap(({ name, type, source_index: source, evidence }) => {
    const inferredColumn = source === null ? undefined : found[source];
    if (source === null || !inferredColumn || evidence.nulls === rows) return [];
    return isCompatible(type, inferredColumn.type) ? [] : [{ name, type, source, misfits: {} }];
  });
}

/** Lists the types, except text, that may still take all values of a column. */
const listPossibleTypes = ({ type, misfits }: WideningCandidate): ColumnType[] =>
  [type, ...WIDER_TYPES[type]].filter((possibleType) => possibleType !== 'text' && !misfits[possibleType]);

/** Tells whether no further value can change the candidates. */
export const areCandidatesSettled = (candidates: readonly WideningCandidate[]): boolean =>
  candidates.every((candidate) => listPossibleTypes(candidate).length === 0);

/**
 * Tries the values of the complete rows that start in `block`, which holds the file's bytes from `position` on, as a load
 * would convert them.
 * @param isLast the block reaches the end of the file
 * @returns the candidates after that, the position of the next row, and the size of the next block
 */
export function checkValues(
  file: FileReading,
  { found }: Pick<Inference, 'found'>,
  candidates: readonly WideningCandidate[],
  position: Position,
  block: Uint8Array,
  isLast: boolean,
) {
  const checkedCandidates = candidates.map((candidate) => ({ ...candidate, misfits: { ...candidate.misfits } }));
  const triedTypes = checkedCandidates.flatMap((candidate) =>
    listPossibleTypes(candidate).map((type) => ({ doubt: candidate, type })),
  );
  const columns = triedTypes.map(({ doubt: { source }, type }, index): LoadColumn => {
    const inferredType = found[source]?.type ?? 'text';
    return { name: String(index), type, nullable: true, source, inferredType, hasNulls: true };
  });
  const plan = { ...planLoad(file, columns), mode: 'convert' as const, columns };
  const chunk = convertNextChunk(plan, position, block, isLast, ({ name }, line, readValue) => {
    const { doubt, type } = triedTypes[Number(name)] as (typeof triedTypes)[number];
    doubt.misfits[type] ??= { file: file.fileName, line, value: cutValue(readValue()) };
  });
  return { doubts: checkedCandidates, position: chunk.nextPosition, wants: chunk.minBlockBytes };
}

/** Chooses the wider type that takes all values of a column, with a value that its own type does not take; undefined for none. */
export function chooseWiderType({ name, type }: InferredColumn, candidates: readonly WideningCandidate[]) {
  const candidate = candidates.find((otherCandidate) => otherCandidate.name === name && otherCandidate.type === type);
  const misfit = candidate?.misfits[type];
  const to = misfit && WIDER_TYPES[type].find((widerType) => !candidate?.misfits[widerType]);
  return to && misfit ? { name, from: type, to, because: misfit } : undefined;
}
