import { z } from 'zod';
import { MultipartMalformed, parseBoundary } from '../../../formats/multipart/headers.ts';
import { type Part, readSmallForm } from '../../../formats/multipart/reader.ts';
import { invalidInput } from '../../../kernel/failure.ts';
import type { SentBody } from '../../../kernel/files.ts';
import { describeUnknownFields } from '../../../kernel/members.ts';
import { isAcceptedFileName } from './documents.ts';
import { ACCEPTED_FILE_TYPES, fileTooLarge, makeFileFailure, malformedForm } from './failures.ts';
import type { ConceptGeneration } from './start.ts';

export const MAX_FILE_BYTES = 10 * 1024 * 1024;
const MAX_TEXT_LENGTH = 100_000;
/** The maximum number of bytes of a form without its file. */
const MAX_FORM_BYTES = 1024 * 1024;

/** The JSON body that starts generating concepts. */
export const conceptGeneration = z
  .object({
    business_domains: z.array(z.string().max(63)).max(100).optional().meta({
      description: 'Keys of business domains; all of the company when not sent.',
    }),
    text: z.string().max(MAX_TEXT_LENGTH).optional(),
  })
  .meta({ id: 'ConceptGeneration' });

/** The form that starts generating concepts: the fields of the JSON body, and a file. */
export const conceptGenerationForm = z.object({
  business_domains: z.array(z.string()).optional().meta({ description: 'A field for each key.' }),
  text: z.string().max(MAX_TEXT_LENGTH).optional(),
  file: z
    .string()
    .optional()
    .meta({
      format: 'binary',
      description: `One file of at most 10 MiB: ${ACCEPTED_FILE_TYPES.join(', ')}.`,
    }),
});

/** Reads the form that starts generating concepts, and no more of it than its limit, whatever its headers claim. */
export async function readConceptForm(sentBody: SentBody): Promise<ConceptGeneration> {
  const parts = await readParts(sentBody);
  const unknownNames = parts.map(({ name }) => name).filter((name) => !FORM_FIELDS.includes(name));
  if (unknownNames.length > 0) throw invalidInput(describeUnknownFields(unknownNames));
  const fileParts = parts.filter(({ name }) => name === 'file');
  const files = fileParts.filter(isFile).filter(isChosenFile);
  if (files.length > 1) throw makeFileFailure('must be one file at most');
  if (fileParts.some((part) => !isFile(part) && part.bytes.length > 0)) throw makeFileFailure('must be a file');
  const [file] = files;
  if (file && !isAcceptedFileName(file.filename))
    throw makeFileFailure(`must be one of ${ACCEPTED_FILE_TYPES.join(', ')}`);
  if (file && file.bytes.length > MAX_FILE_BYTES) throw fileTooLarge(MAX_FILE_BYTES);
  if (file?.bytes.length === 0) throw makeFileFailure('is empty');
  const domains = listValues(parts, DOMAIN_FIELDS);
  const [text, ...otherTexts] = listValues(parts, ['text']);
  if (otherTexts.length > 0) throw invalidInput([{ field: 'text', message: 'must be sent once' }]);
  const parsedForm = conceptGeneration.safeParse({ business_domains: domains.length > 0 ? domains : undefined, text });
  if (!parsedForm.success) {
    throw invalidInput(parsedForm.error.issues.map(({ path, message }) => ({ field: path.join('.'), message })));
  }
  return { ...parsedForm.data, ...(file && { file: { name: file.filename, bytes: file.bytes } }) };
}

/** The field names for business domains, including the form of programs that mark lists with `[]`. */
const DOMAIN_FIELDS = ['business_domains', 'business_domains[]'];
const FORM_FIELDS = [...DOMAIN_FIELDS, 'text', 'file'];
const isFile = (part: Part): part is Part & { filename: string } => part.filename !== null;

/** Tells whether a file was chosen: a browser's "no file chosen" has neither a name nor content. */
const isChosenFile = (file: Part): boolean => file.filename !== '' || file.bytes.length > 0;

const decoder = new TextDecoder();

/** Returns the values of fields. A file in a field for text stays a file, so that validation rejects it. */
const listValues = (parts: Part[], names: string[]): unknown[] =>
  names.flatMap((name) =>
    parts.filter((part) => part.name === name).map((part) => (isFile(part) ? part : decoder.decode(part.bytes))),
  );

async function readParts({ stream, mediaType: type }: SentBody): Promise<Part[]> {
  const boundary = parseBoundary(type);
  if (!boundary || !stream) throw malformedForm();
  const sizeLimits = {
    maxBytes: MAX_FILE_BYTES + MAX_FORM_BYTES,
    makeTooLargeError: () => fileTooLarge(MAX_FILE_BYTES),
  };
  return readSmallForm(stream, boundary, sizeLimits).catch((error: unknown) => {
    throw error instanceof MultipartMalformed ? malformedForm() : error;
  });
}
