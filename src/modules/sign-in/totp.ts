import { Secret, TOTP } from 'otpauth';

/** The name that the authenticator app shows. */
const ISSUER = 'Data Console';
const SECRET_BYTES = 20;
/** Time steps of 30 s before and after the current one whose codes are accepted, because clocks differ. */
const WINDOW = 1;

/** A new secret, in base32. */
export const newTotpSecret = (): string => new Secret({ size: SECRET_BYTES }).base32;

/** The address that an authenticator app reads from a QR code. */
export const otpauthUrl = (secret: string, email: string): string =>
  new TOTP({ issuer: ISSUER, label: email, secret: Secret.fromBase32(secret) }).toString();

/** The time step of a right code at `now` (ms); null if the code is wrong. */
export function findStep(secret: string, code: string, now: number): number | null {
  const delta = TOTP.validate({ token: code, secret: Secret.fromBase32(secret), window: WINDOW, timestamp: now });
  return delta === null ? null : TOTP.counter({ timestamp: now }) + delta;
}

/** The oldest time step whose code could still be accepted at `now` (ms). */
export const oldestStep = (now: number): number => TOTP.counter({ timestamp: now }) - WINDOW;
