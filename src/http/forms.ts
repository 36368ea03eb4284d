import type { Failure } from '../kernel/failure.ts';
import { readBounded } from '../platform/bounded.ts';
import { bodyTooLarge } from './failures.ts';

export const FORM_MEDIA_TYPE = 'application/x-www-form-urlencoded';
const MAX_FORM_BYTES = 64 * 1024;

/** Fields of a form, by name; an empty field counts as absent. */
export type FormFields = Readonly<Partial<Record<string, string>>>;

/**
 * Reads the body of a route whose bodies are forms, as the RFCs have them. @param refuse the failures of a body that is no form,
 * and of a parameter that was sent twice, with the parameters that were sent once
 */
export async function readForm(
  request: Request,
  refuse: {
    makeNotFormFailure(): Failure;
    makeRepeatedFieldFailure(name: string, singleFields: FormFields): Failure | Promise<Failure>;
  },
): Promise<FormFields> {
  const type = request.headers.get('content-type') ?? '';
  if (type.split(';')[0]?.trim().toLowerCase() !== FORM_MEDIA_TYPE) throw refuse.makeNotFormFailure();
  const bytes = await readBounded(request.body, MAX_FORM_BYTES, { leavesRest: true });
  if (bytes === null) throw bodyTooLarge(MAX_FORM_BYTES);
  const form = new Map<string, string>();
  const repeatedNames = new Set<string>();
  for (const [name, value] of new URLSearchParams(new TextDecoder().decode(bytes))) {
    if (value === '') continue;
    if (form.has(name)) repeatedNames.add(name);
    form.set(name, value);
  }
  const [first] = repeatedNames;
  if (first === undefined) return Object.fromEntries(form);
  for (const name of repeatedNames) form.delete(name);
  throw await refuse.makeRepeatedFieldFailure(first, Object.fromEntries(form));
}
