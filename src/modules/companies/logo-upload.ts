import { z } from 'zod';
import { MultipartMalformed, parseBoundary } from '../../formats/multipart/headers.ts';
import { readSmallForm } from '../../formats/multipart/reader.ts';
import { invalidInput } from '../../kernel/failure.ts';
import type { SentBody } from '../../kernel/files.ts';
import { describeUnknownFields } from '../../kernel/members.ts';
import { readBounded } from '../../platform/bounded.ts';
import { logoTooLarge, MAX_LOGO_BYTES } from './failures.ts';

/** The maximum number of bytes of a form without the file. */
const MAX_FORM_BYTES = 16 * 1024;

/** The form with a logo file; the file may also be the request body itself. */
export const logoForm = z.object({
  logo: z.string().meta({ format: 'binary', description: 'One PNG, JPEG or WebP of at most 256 KiB.' }),
});

/** Reads the file of a request: its body, or the one file of its form. */
export async function readLogoFile({ stream, mediaType: type }: SentBody): Promise<Uint8Array<ArrayBuffer>> {
  const boundary = parseBoundary(type);
  const file =
    boundary && stream
      ? await readFormFile(stream, boundary)
      : await readBounded(stream, MAX_LOGO_BYTES, { leavesRest: true });
  if (file === null || file.length > MAX_LOGO_BYTES) throw logoTooLarge();
  if (file.length === 0) throw makeLogoFailure('must be a PNG, JPEG or WebP picture');
  return new Uint8Array(file);
}

const makeLogoFailure = (message: string) => invalidInput([{ field: 'logo', message }]);

async function readFormFile(body: ReadableStream<Uint8Array>, boundary: string): Promise<Uint8Array> {
  const sizeLimits = { maxBytes: MAX_LOGO_BYTES + MAX_FORM_BYTES, makeTooLargeError: () => logoTooLarge() };
  const parts = await readSmallForm(body, boundary, sizeLimits).catch((error: unknown) => {
    throw error instanceof MultipartMalformed
      ? makeLogoFailure('must be sent as a form, or as the body itself')
      : error;
  });
  const unknownNames = parts.map(({ name }) => name).filter((name) => name !== 'logo');
  if (unknownNames.length > 0) throw invalidInput(describeUnknownFields(unknownNames));
  const files = parts.filter(({ filename }) => filename !== null);
  const [file] = files;
  if (!file || files.length > 1) throw makeLogoFailure('must be one file');
  return file.bytes;
}
