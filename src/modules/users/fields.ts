import { z } from 'zod';
import { invalidInput } from '../../kernel/failure.ts';
import { consistsOfKnownWords, isCommonPassword } from './passwords.ts';

const MAX_PASSWORD_LENGTH = 128;
/** The maximum number of UTF-16 units in which a password of the maximum length can be typed, with each character decomposed. */
const MAX_TYPED_PASSWORD_LENGTH = 8 * MAX_PASSWORD_LENGTH;

/** Makes the schema of a password of at least `minimum` characters, counted in NFC, the form in which it is hashed. */
const makePasswordField = (minimum: number) =>
  z
    .string()
    // Nothing else is asked of a longer one: to normalize marks takes the square of their number.
    .max(MAX_TYPED_PASSWORD_LENGTH, { error: `must have at most ${MAX_PASSWORD_LENGTH} characters`, abort: true })
    .superRefine((password, context) => {
      const { length } = [...password.normalize('NFC')];
      const addIssue = (message: string) => context.addIssue({ code: 'custom', message });
      if (length < minimum) addIssue(`must have at least ${minimum} characters`);
      if (length > MAX_PASSWORD_LENGTH) addIssue(`must have at most ${MAX_PASSWORD_LENGTH} characters`);
    })
    .meta({ minLength: minimum, maxLength: MAX_TYPED_PASSWORD_LENGTH });

/** Makes the schema of a password that someone chooses: `minimum` to 128 characters, not one of the most common. */
export const makeNewPasswordField = (minimum: number) =>
  makePasswordField(minimum)
    .refine((password) => !isCommonPassword(password), 'is one of the most common passwords; choose another')
    .meta({
      description: `${minimum} to ${MAX_PASSWORD_LENGTH} characters; neither a common password nor one made of the name, email or company.`,
    });

/** The schema of a password typed at sign-in: bounded, otherwise any text. */
export const signInPasswordField = makePasswordField(1);

/** The owner of a password: their email, name and company, which must not make up the password. */
export interface PasswordOwner {
  email: string;
  name: string;
  company: { name: string; slug: string };
}

/** Rejects a password made of the name, email or company, which are guessed first. @param field the password's field */
export function requireUnlikeOwner(password: string, { email, name, company }: PasswordOwner, field: string): void {
  // Without the ending of its domain, which is everybody's.
  const address = email.replace(/\.[^.@]*$/, '');
  if (!consistsOfKnownWords(password, [address, name, company.name, company.slug])) return;
  const message = 'is too similar to the name, email or company; choose another';
  throw invalidInput([{ field, message }]);
}

const address = z.string().trim().pipe(z.email().max(254));

/**
 * Normalizes an email that an identity provider claims to the form stored for users; null if it is not valid. It is validated
 * before it is lower-cased, as some invalid letters, such as the Kelvin sign, become valid ones in lower case.
 */
export const normalizeClaimedEmail = (claim: unknown): string | null =>
  address.safeParse(claim).data?.toLowerCase() ?? null;
