import type { SheetFacts, SheetOutput } from '../../../src/formats/workbook/choice.ts';
import { openZip } from '../../../src/formats/zip/unpack.ts';
import {
  beginInference,
  finishInference,
  type Inference,
  inferFromBlock,
} from '../../../src/modules/uploads/inference/index.ts';
import { beginConversion, continueConversion, convertBiffWorkbook } from '../../../src/modules/uploads/workbook.ts';
import { readSegments } from '../../../src/platform/segments.ts';

/** Objects of R2, kept in memory, and the bytes that were put there. */
function createMemoryBucket(onPut: (bytes: number) => void = () => {}): R2Bucket {
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

/** The text of a sheet, and what its conversion knows of it. */
interface Text {
  text: string;
  sheet: SheetFacts;
}

/** What a workbook becomes, converted in messages of `budget` bytes, its state going through JSON in between. */
export async function convertWorkbook(
  book: Uint8Array,
  budget = 1 << 20,
  onPut?: (bytes: number) => void,
): Promise<Text> {
  const bucket = createMemoryBucket(onPut);
  let keys = 0;
  const around = {
    bucket,
    zip: openZip(book),
    newKey: () => `key${++keys}`,
    budget,
    block: budget,
    reserve: async () => {},
  };
  let state = beginConversion();
  while (!state.result) {
    state = JSON.parse(
      JSON.stringify(await continueConversion(around, { name: 'livro.xlsx', size: book.length }, state)),
    );
  }
  const bytes = await readSegments(bucket, state.result.text, 0, Number.MAX_SAFE_INTEGER);
  return { text: new TextDecoder().decode(bytes ?? undefined), sheet: state.result.sheet };
}

/** The text that a workbook becomes. */
export const convertToText = async (...book: Parameters<typeof convertWorkbook>): Promise<string> =>
  (await convertWorkbook(...book)).text;

/** Keeps the text of a sheet in memory. */
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

/** What a workbook of Excel 2 to 2003 becomes. */
export const convertOldWorkbook = (
  book: Uint8Array,
  onPut?: (bytes: number) => void,
  reserve = async (_bytes: number) => {},
): Promise<Text> =>
  convertBiffWorkbook('livro.xls', {
    size: book.length,
    read: openZip(book).read,
    begin: () => createMemorySheet(onPut),
    reserve,
  });

export const convertOldToText = async (...book: Parameters<typeof convertOldWorkbook>): Promise<string> =>
  (await convertOldWorkbook(...book)).text;

/** The code of the problem that a workbook has. */
export const findProblem = (book: Uint8Array): Promise<string | undefined> => readProblemCode(convertToText(book));
export const findOldProblem = (book: Uint8Array): Promise<string | undefined> =>
  readProblemCode(convertOldToText(book));

export const readProblemCode = (conversion: Promise<string>): Promise<string | undefined> =>
  conversion.then(
    () => undefined,
    (error) => (error as { error?: { code: string } }).error?.code ?? String(error),
  );

/** What inference makes of a sheet. */
export function inferSheet({ text, sheet }: Text): Inference {
  const bytes = new TextEncoder().encode(text);
  let state = beginInference({ fileName: 'livro.xlsx', sheet });
  while (!state.done) state = inferFromBlock(state, bytes.subarray(state.offset), true);
  return finishInference([state]);
}

export const formatColumns = ({ schema }: Inference): string =>
  schema.columns.map(({ name, type }) => `${name}:${type}`).join(' ');
