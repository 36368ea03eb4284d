import { type FileHandle, open, rename } from 'node:fs/promises';

const OWNER_ONLY_MODE = 0o600;

/** Replaces a file by one that only this user may read, written under another name first: it is complete or absent. */
export async function writeSecretFile(file: string, text: string): Promise<void> {
  await openForWriting(`${file}.new`, 'w', (openedFile) => openedFile.writeFile(text));
  await rename(`${file}.new`, file);
}

/** Appends to a file, which only this user may read from then on. */
export const appendSecretFile = (file: string, text: string): Promise<void> =>
  openForWriting(file, 'a', (openedFile) => openedFile.appendFile(text));

/** Opens a file for writing, and sets its mode: the mode given on opening applies to new files only. */
async function openForWriting(
  file: string,
  flags: string,
  work: (openedFile: FileHandle) => Promise<void>,
): Promise<void> {
  const openedFile = await open(file, flags, OWNER_ONLY_MODE);
  try {
    await openedFile.chmod(OWNER_ONLY_MODE);
    await work(openedFile);
  } finally {
    await openedFile.close();
  }
}
