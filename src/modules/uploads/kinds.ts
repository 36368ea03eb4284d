/**
 * A kind of file that becomes a table. A new one is an entry of `KINDS`, and a stage in `sources.ts` that makes a text of the
 * file by a reader of `src/formats`.
 */
interface FileKind {
  /** The file extensions of the kind, in lower case. */
  extensions: readonly [string, ...string[]];
  /** The media types of such files, for answers that name no file. */
  mediaTypes: readonly string[];
  /** Whether a form may hold such files. */
  inForms: boolean;
  /** Whether such files may be packed by gzip, their names with `.gz` behind. */
  packed?: true;
}

const defineKinds = <Name extends string>(table: Record<Name, FileKind>): Record<Name, FileKind> => table;

export const FILE_KINDS = defineKinds({
  csv: { extensions: ['.csv'], mediaTypes: ['text/csv', 'application/csv'], inForms: true, packed: true },
  tsv: { extensions: ['.tsv'], mediaTypes: ['text/tab-separated-values'], inForms: false, packed: true },
  workbook: {
    extensions: ['.xlsx'],
    mediaTypes: ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
    inForms: true,
  },
  oldWorkbook: { extensions: ['.xls'], mediaTypes: ['application/vnd.ms-excel'], inForms: true },
  json: { extensions: ['.json'], mediaTypes: ['application/json'], inForms: false, packed: true },
  ndjson: {
    extensions: ['.ndjson', '.jsonl'],
    mediaTypes: ['application/x-ndjson', 'application/ndjson', 'application/jsonl', 'application/x-jsonlines'],
    inForms: false,
    packed: true,
  },
  parquet: {
    extensions: ['.parquet'],
    mediaTypes: ['application/vnd.apache.parquet', 'application/x-parquet', 'application/parquet'],
    inForms: false,
  },
  archive: { extensions: ['.zip'], mediaTypes: ['application/zip', 'application/x-zip-compressed'], inForms: true },
});

export type KindName = keyof typeof FILE_KINDS;

const PACKED_EXTENSION = '.gz';

const KIND_ENTRIES = Object.entries(FILE_KINDS) as [KindName, FileKind][];

/** The extensions of files accepted from URLs and in resumable uploads. */
export const ACCEPTED_TYPES: readonly string[] = KIND_ENTRIES.flatMap(([, { extensions, packed }]) => [
  ...extensions,
  ...(packed ? extensions.map((extension) => `${extension}${PACKED_EXTENSION}`) : []),
]);

/** These without files packed by gzip: an archive packs its files itself. */
export const UNPACKED_TYPES: readonly string[] = KIND_ENTRIES.flatMap(([, { extensions }]) => extensions);

/** The extensions of files accepted in a form. */
export const FORM_TYPES: readonly string[] = KIND_ENTRIES.flatMap(([, { extensions, inForms }]) =>
  inForms ? extensions : [],
);

/** Whether a file name has one of these extensions. */
export const isAccepted = (name: string, types = ACCEPTED_TYPES): boolean =>
  types.some((type) => name.toLowerCase().endsWith(type));

/** The kind of a file by its extension; null if no kind has it. */
export function findKind(name: string): KindName | null {
  const found = KIND_ENTRIES.find(([, { extensions }]) => isAccepted(name, extensions));
  return found?.[0] ?? null;
}

/** The name of a gzip file without `.gz`; null for a name of other files. */
export function removePackedExtension(name: string): string | null {
  const bare = name.slice(0, -PACKED_EXTENSION.length);
  return isAccepted(name, [PACKED_EXTENSION]) && findKind(bare) !== null ? bare : null;
}

/** The file extension for a media type; undefined if no accepted kind has that type. */
export const findExtension = (mediaType: string): string | undefined =>
  KIND_ENTRIES.find(([, { mediaTypes }]) => mediaTypes.includes(mediaType))?.[1].extensions[0];
