import { z } from 'zod';

const address = z.string().trim().pipe(z.email().max(254));

/**
 * The email that an identity provider claims, as users have it, or null when it is none. It is judged before its case is
 * changed: some letters that no address has, like the Kelvin sign, turn into others' by that.
 */
export const claimedEmail = (claim: unknown): string | null => address.safeParse(claim).data?.toLowerCase() ?? null;
