import type { SheetFacts, SheetOutput } from '../../../src/formats/workbook/choice.ts';
import { createZipSource } from '../../../src/formats/zip/unpack.ts';
import {
  beginInference,
  finishInference,
  type Inference,
  inferFromBlock,
} from '../../../src/modules/uploads/inference/index.ts';
import { beginConversion, continueConversion, convertBiffWorkbook } from '../../../src/modules/uploads/workbook.ts';
import { readSegments } from '../../../src/platform/segments.ts';

/** Creates a bucket of R2 whose objects are kept in memory; `onPut` gets the number of bytes of each put. */
export function createMemoryBucket(onPut: (bytes: number) => void = () => {}): R2Bucket {
  const objects = new Map<string, Uint8Array>();
  const bucket = {
    put: async (key: string, bytes: Uint8Array) => {
      objects.set(key, bytes.slice());
      onPut(bytes.length);
    },
    get: async (key: string, { range }: { range: { offset: number; length: number } }) => {
      const bytes = objects.get(key)?.slice(range.offset, range.offset + range.length);
      return bytes ? { arrayBuffer: async () => bytes.buffer } : null;
    },
  };
  return bucket as unknown as R2Bucket;
}

/** The text of a converted sheet, and what its conversion found out about the sheet. */
interface ConvertedSheet {
  text: string;
  sheet: SheetFacts;
}

/** Converts a workbook in messages of `bytesPerCall` bytes; its state is passed through JSON between them. */
export async function convertWorkbook(
  workbook: Uint8Array,
  bytesPerCall = 1 << 20,
  onPut?: (bytes: number) => void,
): Promise<ConvertedSheet> {
  const bucket = createMemoryBucket(onPut);
  let keyCount = 0;
  const conversionContext = {
    bucket,
    zip: createZipSource(workbook),
    newKey: () => `key${++keyCount}`,
    bytesPerCall,
    bytesPerRead: bytesPerCall,
    reserveMemory: async () => {},
  };
  let state = beginConversion();
  while (!state.result) {
    state = JSON.parse(
      JSON.stringify(await continueConversion(conversionContext, { name: 'livro.xlsx', size: workbook.length }, state)),
    );
  }
  const bytes = await readSegments(bucket, state.result.text, 0, Number.MAX_SAFE_INTEGER);
  return { text: new TextDecoder().decode(bytes ?? undefined), sheet: state.result.sheet };
}

/** Returns the text to which a workbook is converted. */
export const convertToText = async (...conversionArguments: Parameters<typeof convertWorkbook>): Promise<string> =>
  (await convertWorkbook(...conversionArguments)).text;

/** Creates an output that keeps the text of a sheet in memory. */
export function createMemorySheet(onPut: (bytes: number) => void = () => {}): SheetOutput<string> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  return {
    write: async (text) => {
      pieces.push(text.slice());
      onPut(text.length);
    },
    end: () => new Blob(pieces).text(),
  };
}

/** Converts a workbook of Excel 2 to 2003. */
export const convertOldWorkbook = (
  workbook: Uint8Array,
  onPut?: (bytes: number) => void,
  reserveBytes = async (_bytes: number) => {},
): Promise<ConvertedSheet> =>
  convertBiffWorkbook('livro.xls', {
    size: workbook.length,
    read: createZipSource(workbook).read,
    beginText: () => createMemorySheet(onPut),
    reserveMemory: reserveBytes,
  });

export const convertOldToText = async (
  ...conversionArguments: Parameters<typeof convertOldWorkbook>
): Promise<string> => (await convertOldWorkbook(...conversionArguments)).text;

/** Returns the code of the problem of a workbook, if it has one. */
export const findProblem = (workbook: Uint8Array): Promise<string | undefined> =>
  readProblemCode(convertToText(workbook));
export const findOldProblem = (workbook: Uint8Array): Promise<string | undefined> =>
  readProblemCode(convertOldToText(workbook));

export const readProblemCode = (conversion: Promise<string>): Promise<string | undefined> =>
  conversion.then(
    () => undefined,
    (error) => (error as { error?: { code: string } }).error?.code ?? String(error),
  );

/** Returns the inference of a converted sheet. */
export function inferSheet({ text, sheet }: ConvertedSheet): Inference {
  const bytes = new TextEncoder().encode(text);
  let state = beginInference({ fileName: 'livro.xlsx', sheet });
  while (!state.done) state = inferFromBlock(state, bytes.subarray(state.offset), true);
  return finishInference([state]);
}

export const formatColumns = ({ schema }: Inference): string =>
  schema.columns.map(({ name, type }) => `${name}:${type}`).join(' ');
