/**
 * A kind of file that can be loaded into a table. A new kind needs an entry in `FILE_KINDS`, and a stage in `sources.ts` that
 * converts the file to a text with a reader of `src/formats`.
 */
interface FileKind {
  /** The file extensions of the kind, in lower case. */
  extensions: readonly [string, ...string[]];
  /** The media types of such files, for responses that name no file. */
  mediaTypes: readonly string[];
  /** Whether an upload form accepts such files. */
  isAcceptedInForms: boolean;
  /** Whether such files may be packed by gzip, with `.gz` appended to their names. */
  packed?: true;
}

export const FILE_KINDS = {
  csv: { extensions: ['.csv'], mediaTypes: ['text/csv', 'application/csv'], isAcceptedInForms: true, packed: true },
  tsv: { extensions: ['.tsv'], mediaTypes: ['text/tab-separated-values'], isAcceptedInForms: false, packed: true },
  workbook: {
    extensions: ['.xlsx'],
    mediaTypes: ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
    isAcceptedInForms: true,
  },
  oldWorkbook: { extensions: ['.xls'], mediaTypes: ['application/vnd.ms-excel'], isAcceptedInForms: true },
  json: { extensions: ['.json'], mediaTypes: ['application/json'], isAcceptedInForms: false, packed: true },
  ndjson: {
    extensions: ['.ndjson', '.jsonl'],
    mediaTypes: ['application/x-ndjson', 'application/ndjson', 'application/jsonl', 'application/x-jsonlines'],
    isAcceptedInForms: false,
    packed: true,
  },
  parquet: {
    extensions: ['.parquet'],
    mediaTypes: ['application/vnd.apache.parquet', 'application/x-parquet', 'application/parquet'],
    isAcceptedInForms: false,
  },
  archive: {
    extensions: ['.zip'],
    mediaTypes: ['application/zip', 'application/x-zip-compressed'],
    isAcceptedInForms: true,
  },
} satisfies Record<string, FileKind>;

export type KindName = keyof typeof FILE_KINDS;

const PACKED_EXTENSION = '.gz';

const KIND_ENTRIES = Object.entries(FILE_KINDS) as [KindName, FileKind][];

/** The extensions of files accepted from URLs and in resumable uploads. */
export const ACCEPTED_EXTENSIONS: readonly string[] = KIND_ENTRIES.flatMap(([, { extensions, packed }]) => [
  ...extensions,
  ...(packed ? extensions.map((extension) => `${extension}${PACKED_EXTENSION}`) : []),
]);

/** The accepted extensions without those of files packed by gzip: an archive packs its files itself. */
export const UNPACKED_TYPES: readonly string[] = KIND_ENTRIES.flatMap(([, { extensions }]) => extensions);

/** The extensions of files accepted in a form. */
export const FORM_EXTENSIONS: readonly string[] = KIND_ENTRIES.flatMap(([, { extensions, isAcceptedInForms }]) =>
  isAcceptedInForms ? extensions : [],
);

/** Tells whether a file name has one of these extensions. */
export const hasAcceptedExtension = (name: string, types = ACCEPTED_EXTENSIONS): boolean =>
  types.some((type) => name.toLowerCase().endsWith(type));

/** Finds the kind of a file by its extension; null if no kind has it. */
export function findKind(name: string): KindName | null {
  const kindEntry = KIND_ENTRIES.find(([, { extensions }]) => hasAcceptedExtension(name, extensions));
  return kindEntry?.[0] ?? null;
}

/** Removes `.gz` from the name of a gzip file; null for a name of other files. */
export function removePackedExtension(name: string): string | null {
  const bareName = name.slice(0, -PACKED_EXTENSION.length);
  return hasAcceptedExtension(name, [PACKED_EXTENSION]) && findKind(bareName) !== null ? bareName : null;
}

/** Finds the file extension for a media type; undefined if no accepted kind has that type. */
export const findExtension = (mediaType: string): string | undefined =>
  KIND_ENTRIES.find(([, { mediaTypes }]) => mediaTypes.includes(mediaType))?.[1].extensions[0];
