import { type FileHandle, open, rename } from 'node:fs/promises';

const OURS_ALONE = 0o600;

/** Replaces a file with what only we may read, whoever could read it before: written aside, so that it is whole or not there. */
export async function writeSecretFile(file: string, text: string): Promise<void> {
  await withFile(`${file}.new`, 'w', (opened) => opened.writeFile(text));
  await rename(`${file}.new`, file);
}

/** Appends to a file that only we may read from then on. */
export const appendSecretFile = (file: string, text: string): Promise<void> =>
  withFile(file, 'a', (opened) => opened.appendFile(text));

/** A mode that is given on opening counts for new files alone. */
async function withFile(file: string, flags: string, work: (opened: FileHandle) => Promise<void>): Promise<void> {
  const opened = await open(file, flags, OURS_ALONE);
  try {
    await opened.chmod(OURS_ALONE);
    await work(opened);
  } finally {
    await opened.close();
  }
}
