import type { Source } from './job.ts';
import type { StoredFile } from './receive.ts';

/** The texts that uploaded files are. */
export const sourcesOf = (files: StoredFile[]): Source[] =>
  files.map(({ original_name, storage_path, size_bytes }) => ({ name: original_name, storage_path, size_bytes }));
