import { z } from 'zod';
import { signInPasswordField } from '../users/fields.ts';
import type { SecondFactorCode } from './factor-codes.ts';
import type { Reauthentication } from './reauthentication.ts';

/** The slug of a company, as somebody signing in types it: any text is valid, and one that is no slug finds no company. */
export const companySlugField = z.string().min(1).max(63);

const MAX_TYPED_CODE_LENGTH = 4096;

/** A code that people type or paste: spaces, hyphens and line breaks around and within it are removed. */
export const typedCodeField = z
  .string()
  .min(1)
  .max(MAX_TYPED_CODE_LENGTH)
  .transform((code) => code.replaceAll(/[\s\p{Dash}]/gu, ''))
  .meta({ description: 'Spaces, hyphens and line ends around and within it make no difference.' });

/** A code of an authenticator app or a mail. */
export const sixDigitsField = typedCodeField
  .pipe(z.string().regex(/^[0-9]{6}$/, 'must be six digits'))
  .meta({ examples: ['123456'] });

/** The field that says whether to trust the email addresses of an OpenID Provider. */
export const trustEmailField = z.boolean().default(false).meta({
  description:
    'Whether an email address counts as verified of which the provider does not say so, as Entra ID does not. Not for issuers of more than one organization, whose people could claim any address.',
});

/** The description of routes that take a `makeReauthenticationBody`. */
export const REAUTHENTICATION_DESCRIPTION =
  'Needs the password or a code of the second factor besides the token; a caller who has neither must have signed in within the last ten minutes. ';

const proofFields = {
  password: signInPasswordField.optional(),
  totp_token: sixDigitsField.optional(),
  backup_code: typedCodeField.optional(),
};

/** Makes the body of a change of how the caller signs in: the proof, beside the route's own members. */
export const makeReauthenticationBody = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z
    .object({ ...shape, ...proofFields })
    .refine((body) => Object.keys(proofFields).filter((name) => body[name as never] !== undefined).length <= 1, {
      path: ['password'],
      message: 'send one of password, totp_token and backup_code',
    })
    .transform((body) => {
      const { password, totp_token, backup_code, ...own } = body as z.output<z.ZodObject<typeof proofFields>>;
      const proof: Reauthentication = { password, code: chooseCode({ totp_token, backup_code }) };
      return { ...(own as z.output<z.ZodObject<Shape>>), ...proof };
    });

export function chooseCode(body: {
  totp_token?: string | undefined;
  backup_code?: string | undefined;
}): SecondFactorCode | undefined {
  if (body.totp_token !== undefined) return { totp: body.totp_token };
  return body.backup_code === undefined ? undefined : { backupCode: body.backup_code };
}
