import { z } from 'zod';
import { invalid } from '../../../kernel/failure.ts';
import { readBounded } from '../../../platform/bounded.ts';
import { isAccepted } from './documents.ts';
import { ACCEPTED_FILE_TYPES, badFile, fileTooLarge, malformedForm } from './failures.ts';
import type { ConceptGeneration } from './service.ts';

export const MAX_FILE_BYTES = 10 * 1024 * 1024;
const MAX_TEXT = 100_000;
/** Everything of a form that is not the file. */
const MAX_FORM_BYTES = 1024 * 1024;

/** What a generation of concepts takes as JSON. */
export const conceptGeneration = z
  .object({
    business_domains: z.array(z.string().max(63)).max(100).optional().meta({
      description: 'Keys of business domains; all of the company when not sent.',
    }),
    text: z.string().max(MAX_TEXT).optional(),
  })
  .meta({ id: 'ConceptGeneration' });

/** The same as a form, with a file. */
export const conceptGenerationForm = z.object({
  business_domains: z.array(z.string()).optional().meta({ description: 'A field for each key.' }),
  text: z.string().max(MAX_TEXT).optional(),
  file: z
    .string()
    .optional()
    .meta({
      format: 'binary',
      description: `One file of at most 10 MiB: ${ACCEPTED_FILE_TYPES.join(', ')}.`,
    }),
});

/**
 * Reads the form of a generation of concepts. The body is never held beyond its limit, whatever its headers claim.
 * @throws Failure invalid, naming the fields at fault; `request.too_large`; `multipart.malformed`
 */
export async function readConceptForm(request: Request): Promise<ConceptGeneration> {
  const bytes = await readBounded(request.body, MAX_FILE_BYTES + MAX_FORM_BYTES);
  if (bytes === null) throw fileTooLarge(MAX_FILE_BYTES);
  const form = await parse(request, bytes);
  const files = [...form.values()].filter((value) => typeof value !== 'string').filter(wasChosen);
  if (files.length > 1) throw badFile('must be one file at most');
  if (form.getAll('file').some((value) => typeof value === 'string' && value !== '')) throw badFile('must be a file');
  const [file] = files;
  if (file && !isAccepted(file.name)) throw badFile(`must be one of ${ACCEPTED_FILE_TYPES.join(', ')}`);
  if (file && file.size > MAX_FILE_BYTES) throw fileTooLarge(MAX_FILE_BYTES);
  if (file?.size === 0) throw badFile('is empty');
  const domains = [...form.getAll('business_domains'), ...form.getAll('business_domains[]')];
  const parsed = conceptGeneration.safeParse({
    ...(domains.length > 0 && { business_domains: domains }),
    ...(form.has('text') && { text: form.get('text') }),
  });
  if (!parsed.success) {
    throw invalid(parsed.error.issues.map(({ path, message }) => ({ field: path.join('.'), message })));
  }
  return {
    ...generationOf(parsed.data),
    ...(file && { file: { name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) } }),
  };
}

/** What was asked for, in the service's terms. */
export const generationOf = ({ business_domains, text }: z.output<typeof conceptGeneration>): ConceptGeneration => ({
  ...(business_domains && { businessDomains: business_domains }),
  ...(text !== undefined && { text }),
});

/** A browser's "no file chosen" has neither a name nor content. */
const wasChosen = (file: File): boolean => file.name !== '' || file.size > 0;

async function parse(request: Request, bytes: Uint8Array<ArrayBuffer>): Promise<FormData> {
  try {
    const headers = { 'content-type': request.headers.get('content-type') ?? '' };
    return await new Response(bytes, { headers }).formData();
  } catch {
    throw malformedForm();
  }
}
