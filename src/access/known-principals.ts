import { RecentlyUsed } from '../kernel/recently-used.ts';
import type { OutsiderActor, Principal } from './actors.ts';
import type { AccessSources } from './evaluation.ts';

/** What the control database says of a principal. `Proof` is what else the module that checks the credential needs to know. */
export interface Known<Proof = unknown> {
  actor: Principal;
  /** When the credential ends by itself, in milliseconds. */
  expiresAt: number;
  proof: Proof;
  /** About how many bytes it takes up. */
  weight: number;
}

/** Roughly what a compiled access takes up, and what is around it. */
export const weightOf = (sources: AccessSources): number => 1024 + 4 * JSON.stringify(sources.groups).length;

/** What an isolate remembers of a principal, and under which version of the gate it was read. */
interface Remembered {
  known: Known;
  stamp: string | null;
}

/**
 * What an isolate remembers of principals together, of its 128 MB: some ten thousand, if their policies are short. Where more
 * come in turn, each is forgotten before it comes again.
 */
const CAPACITY_BYTES = 24 * 1024 * 1024;

/**
 * What the isolate knows of principals, by credential. It is never right by itself: the company's gate is asked at each
 * request whether the version under which it was read still holds.
 */
const remembered = new RecentlyUsed<string, Remembered>(
  CAPACITY_BYTES,
  (name, { known }) => known.weight + 2 * name.length,
);

export const recall = (credential: string): Remembered | undefined => remembered.get(credential);

export const remember = (credential: string, known: Known, stamp: string | null): void =>
  remembered.set(credential, { known, stamp });

/** Whose a credential says that it is. */
export interface Claims {
  companyId: string;
  type: Principal['kind'];
  principalId: string;
  /** The id of the session or key, as the audit trail names it. */
  credentialId: string;
}

export const claimsOf = ({ actor }: Known): Claims => ({
  companyId: actor.companyId,
  type: actor.kind,
  principalId: actor.id,
  credentialId: actor.kind === 'user' ? actor.sessionId : actor.keyId,
});

/** What a request shows of its sender, checked as far as that goes without asking anybody. */
export interface Presented {
  /** The name of the credential: what is known of its principal is remembered under it. */
  credential: string;
  /** Whose it is, where the credential itself proves that. */
  claims: Claims | null;
  /** The nonce that must not come again, and until when (ms) its date is acceptable. */
  nonce?: { accessKey: string; value: string; goodUntil: number };
  /** Whether the request is by who is known: its signature fits. What is known may be out of date. */
  fits(known: Known): Promise<boolean>;
  /** Asks the control database who it is, in one batch. Fails when the credential is not good. */
  read(): Promise<Known>;
  /** Somebody has been let in with it. */
  recordUse(known: Known): void;
}

/** An outsider, who is read anew each time. */
export interface PresentedOutsider {
  actor: OutsiderActor;
}
