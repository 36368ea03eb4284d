import { type FileHandle, open, rename } from 'node:fs/promises';

const OWNER_ONLY = 0o600;

/** Replaces a file by one that only this user may read, written under another name first: it is complete or absent. */
export async function writeSecretFile(file: string, text: string): Promise<void> {
  await openForWriting(`${file}.new`, 'w', (opened) => opened.writeFile(text));
  await rename(`${file}.new`, file);
}

/** Appends to a file, which only this user may read from then on. */
export const appendSecretFile = (file: string, text: string): Promise<void> =>
  openForWriting(file, 'a', (opened) => opened.appendFile(text));

/** The mode given on opening applies to new files only. */
async function openForWriting(file: string, flags: string, work: (opened: FileHandle) => Promise<void>): Promise<void> {
  const opened = await open(file, flags, OWNER_ONLY);
  try {
    await opened.chmod(OWNER_ONLY);
    await work(opened);
  } finally {
    await opened.close();
  }
}
