import { Secret, TOTP } from 'otpauth';
import { clock } from '../../src/kernel/clock.ts';
import type { Caller } from './api.ts';
import { stopClockAt } from './clock.ts';
import { PASSWORD } from './companies.ts';

const STEP_MS = 30_000;

/** An authenticator app, and the backup codes that were issued with it. */
export interface AuthenticatorApp {
  secret: string;
  backupCodes: string[];
  /** Returns the code of the Worker's present time step, or of the step that is `steps` steps later. */
  makeCode(steps?: number): string;
}

export const computeCode = (secret: string, steps = 0): string =>
  TOTP.generate({ secret: Secret.fromBase32(secret), timestamp: clock.now() + steps * STEP_MS });

/**
 * Enrols an authenticator and enables it. The Worker's clock is stopped from then on, one step after the code that was used for
 * enabling.
 */
export async function enrolAuthenticator(as: Caller): Promise<AuthenticatorApp> {
  const { secret } = (await as.post('/v1/auth/2fa/setup', { json: { password: PASSWORD } })).body;
  stopClockAt(Math.floor(clock.now() / STEP_MS) * STEP_MS + STEP_MS / 2);
  const { status, body } = await as.post('/v1/auth/2fa/enable', {
    json: { totp_token: computeCode(secret), password: PASSWORD },
  });
  if (status !== 200) throw new Error(`Enabling answered ${status}: ${JSON.stringify(body)}`);
  goToNextStep();
  return { secret, backupCodes: body.backup_codes, makeCode: (steps) => computeCode(secret, steps) };
}

/** Moves the clock to the next time step, or `steps` further: its code is unused. */
export const goToNextStep = (steps = 1): void => stopClockAt(clock.now() + steps * STEP_MS);

/** Returns six digits that are the code of no step near the present. */
export function makeWrongCode(secret: string): string {
  const right = new Set([-2, -1, 0, 1, 2].map((steps) => computeCode(secret, steps)));
  return ['000000', '000001', '000002', '000003', '000004', '000005'].find((code) => !right.has(code)) as string;
}
