import { z } from 'zod';

/** The slug of a company, as somebody signing in types it: what is none simply finds no company. */
export const companySlug = z.string().min(1).max(63);

const LONGEST_TYPED_CODE = 4096;

/** A code that people type or paste, as it was given out: without spaces, hyphens and line ends around and within. */
export const typedCode = z
  .string()
  .min(1)
  .max(LONGEST_TYPED_CODE)
  .transform((code) => code.replaceAll(/[\s\p{Dash}]/gu, ''))
  .meta({ description: 'Spaces, hyphens and line ends around and within it make no difference.' });

/** A code of an authenticator app or a mail. */
export const sixDigits = typedCode
  .pipe(z.string().regex(/^[0-9]{6}$/, 'must be six digits'))
  .meta({ examples: ['123456'] });

/** Of an OpenID Provider. */
export const trustEmail = z.boolean().default(false).meta({
  description:
    'Whether an email address counts as verified of which the provider does not say so, as Entra ID does not. Not for issuers of more than one organization, whose people could claim any address.',
});
