import { Failure } from '../../kernel/failure.ts';
import { readBounded } from '../../platform/bounded.ts';

/** A SAML response of the largest size that is read, in base64, percent-encoded throughout. */
const LARGEST_FORM = 1024 * 1024;

/** The fields of the form that a provider has a browser post to us. @throws Failure too_large or malformed */
export async function readAnswerForm(request: Request): Promise<URLSearchParams> {
  if (!/^application\/x-www-form-urlencoded\b/i.test(request.headers.get('content-type') ?? '')) {
    throw new Failure('malformed', 'sso.not_a_form', {
      message: 'Send the answer as a form (application/x-www-form-urlencoded).',
    });
  }
  const bytes = await readBounded(request.body, LARGEST_FORM);
  if (bytes === null) {
    throw new Failure('too_large', 'request.too_large', { message: `The body is larger than ${LARGEST_FORM} bytes.` });
  }
  return new URLSearchParams(new TextDecoder().decode(bytes));
}
