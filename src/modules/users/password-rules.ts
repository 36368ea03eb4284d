import { z } from 'zod';
import { isCommonPassword } from '../../kernel/passwords.ts';

const MAXIMUM_LENGTH = 128;

/** A password that someone chooses: `minimum` to 128 characters, not one of the most common. */
export const newPassword = (minimum: number) =>
  z
    .string()
    .min(minimum)
    .max(MAXIMUM_LENGTH)
    .refine((password) => !isCommonPassword(password), 'is one of the most common passwords; choose another');

/** A password that is tried at sign-in: bounded, otherwise whatever was typed. */
export const triedPassword = z.string().min(1).max(MAXIMUM_LENGTH);
