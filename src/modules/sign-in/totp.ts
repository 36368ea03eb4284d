import { Secret, TOTP } from 'otpauth';

/** The name that the authenticator app shows. */
const ISSUER = 'Data Console';
const SECRET_BYTES = 20;
/** The number of 30-second time steps before and after the current one whose codes are accepted, because clocks differ. */
const WINDOW_STEPS = 1;

/** Creates a new secret, in base32. */
export const createTotpSecret = (): string => new Secret({ size: SECRET_BYTES }).base32;

/** Makes the URL that an authenticator app reads from a QR code. */
export const makeOtpauthUrl = (secret: string, email: string): string =>
  new TOTP({ issuer: ISSUER, label: email, secret: Secret.fromBase32(secret) }).toString();

/** Finds the time step of a right code at `now` (ms); null if the code is wrong. */
export function findStep(secret: string, code: string, now: number): number | null {
  const delta = TOTP.validate({ token: code, secret: Secret.fromBase32(secret), window: WINDOW_STEPS, timestamp: now });
  return delta === null ? null : TOTP.counter({ timestamp: now }) + delta;
}

/** Computes the oldest time step whose code could still be accepted at `now` (ms). */
export const computeOldestStep = (now: number): number => TOTP.counter({ timestamp: now }) - WINDOW_STEPS;
