/**
 * Schema inference of uploaded text files: pure functions over bytes.
 *
 * Analysis is a fold over blocks of a file; the state between blocks is plain JSON:
 *   let state = beginInference({ fileName });
 *   while (!state.done) state = inferFromBlock(state, bytesFrom(state.offset, atLeast state.wants), reachesEndOfFile);
 *   const { schema, files, found } = finishInference(states);     // one state per file, in order
 * `inferFromBlock` may answer with `offset` unchanged (it wants a larger block) or 0 (it starts over, in another encoding or
 * another dialect).
 *
 * Loading goes on from a `FileReading` (one of `files`), also block by block:
 *   const plan = planLoad(file, columns);                // 'raw': the file's own bytes; 'convert': parsed and rewritten
 *   let position = plan.start;
 *   while (position.offset < plan.end) {
 *     const chunk = convertNextChunk(plan, position, bytesFrom(position.offset, atLeast chunk.minBlockBytes), reachesEndOfFile);
 *     // COPY t (<plan.copyColumns>) FROM STDIN WITH (<plan.copyOptions>)  ←  chunk.copyInput (chunk.rowCount rows)
 *     position = chunk.nextPosition;
 *   }
 * Sessions that load have `SET LOCAL DateStyle = <plan.dateStyle>` and `SET LOCAL TimeZone` (confirm's, or UTC).
 * All failures are `InferenceError` (code, Portuguese message, where: file, line, column, value).
 */
export type { ZoneEdges } from '../../../formats/values/conversion.ts';
export { cutValue, InferenceError } from './errors.ts';
export { beginInference, inferFromBlock } from './feed.ts';
export { finishInference } from './finish.ts';
export type { GivenOptions } from './given-options.ts';
export { isKeyedById } from './into-table.ts';
export { convertNextChunk, type LoadColumn, type LoadPlan, planLoad } from './load.ts';
export { makeColumnNames, toTableName } from './names.ts';
export type {
  ColumnType,
  FileReading,
  FoundColumn,
  Inference,
  InferredColumn,
  InferredSchema,
  Position,
} from './schema.ts';
export type { InferenceState } from './state.ts';
export { areCandidatesSettled, checkValues, findWideningCandidates, type WideningCandidate } from './widening.ts';
