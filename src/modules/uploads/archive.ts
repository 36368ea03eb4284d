import type { ZipEntry } from '../../formats/zip/directory.ts';
import { FILE_KINDS, FORM_EXTENSIONS, hasAcceptedExtension } from './kinds.ts';
import * as problems from './problems.ts';

/** The maximum number of loadable files of an archive. */
export const MAX_ENTRIES = 50;
/** The maximum number of bytes that all files of an archive may unpack to. */
export const MAX_UNPACKED_BYTES = 1024 * 1024 * 1024;
/** The highest ratio of unpacked to packed bytes: text shrinks to a tenth; a large file beyond this ratio is a zip bomb. */
export const MAX_RATIO = 200;
export const MIN_RATIO_CHECK_BYTES = 50 * 1024 * 1024;

/**
 * Chooses the files of an archive that are loaded: not folders, hidden files, files that macOS adds, and files of other types.
 * Sizes are those that the archive claims; unpacking fails when they are wrong. @param size the size of the archive in bytes
 * @param types the extensions of the files to load
 * @throws JobProblem for archives that are too large, encrypted, nested or bombs, or have no file to load
 */
export function chooseEntries(archive: string, size: number, entries: ZipEntry[], types = FORM_EXTENSIONS): ZipEntry[] {
  const files = entries.filter(({ name }) => !isIgnored(name));
  const unsafeEntry = files.find(({ name }) => name.split('/').includes('..'));
  if (unsafeEntry) throw problems.archiveWithUnsafeName(archive);
  if (files.some(({ name }) => hasAcceptedExtension(name, FILE_KINDS.archive.extensions)))
    throw problems.archiveNested(archive);
  const chosenEntries = files.filter(({ name }) => hasAcceptedExtension(name, types));
  if (chosenEntries.length === 0) throw problems.archiveWithoutFiles(archive);
  if (chosenEntries.length > MAX_ENTRIES) throw problems.archiveOfTooManyFiles(archive, MAX_ENTRIES);
  if (chosenEntries.some(({ encrypted }) => encrypted)) throw problems.archiveEncrypted(archive);
  if (chosenEntries.some(({ method }) => method !== 0 && method !== 8)) throw problems.archiveMethodUnknown(archive);
  const unpackedBytes = chosenEntries.reduce((sum, entry) => sum + entry.size, 0);
  if (unpackedBytes > MAX_UNPACKED_BYTES) throw problems.unpackedTooLarge('ZIP', archive);
  if (unpackedBytes > MIN_RATIO_CHECK_BYTES && unpackedBytes > size * MAX_RATIO)
    throw problems.unpackedOverRatio('ZIP', archive);
  return chosenEntries;
}

function isIgnored(name: string): boolean {
  const parts = name.split('/');
  const baseName = parts.at(-1) ?? '';
  return (
    baseName === '' ||
    parts.includes('__MACOSX') ||
    parts.some((segment) => segment.startsWith('.') && !/^\.\.?$/.test(segment))
  );
}
