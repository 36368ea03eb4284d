import argon2id from 'argon2id/lib/argon2id.js';
import type { computeHash } from 'argon2id/lib/setup.js';
import plain from './argon2id/no-simd.wasm';
import simd from './argon2id/simd.wasm';

interface Cost {
  /** KiB. */
  memorySize: number;
  passes: number;
  /** Lanes. */
  parallelism: number;
}

export const COST: Cost = { memorySize: 19_456, passes: 2, parallelism: 1 };

/** The cost of a new hash; old ones carry their own. One per isolate, so that tests, which make hundreds, can lower it. */
export const hashing = { cost: COST };

const TAG_LENGTH = 32;
const SALT_LENGTH = 16;

/** Verified where there is no hash, so that it costs the same time. No password has its all-zero tag. */
const dummyHash = () => phc(hashing.cost, new Uint8Array(SALT_LENGTH), new Uint8Array(TAG_LENGTH));

/** Pages of 64 KiB: as many as a hash of {@link COST} needs, with 10 KiB of the library, and up to the most of a costlier one. */
const PAGES = { initial: 305, maximum: 65_536 };

/** Held weakly: between sign-ins the next collection frees its memory of 20 MB, a sixth of an isolate's. */
let loaded: WeakRef<computeHash> | undefined;

/** Blocks the isolate for about a tenth of a second: its memory of 20 MB serves one hash at a time. */
function compute(password: string, salt: Uint8Array, cost: Cost, tagLength: number): Uint8Array {
  const hash = loaded?.deref() ?? load();
  return hash({ password: new TextEncoder().encode(password), salt, tagLength, ...cost });
}

/** Loads the library like its `setup.js`, but for the memory: its 65 MiB, half of an isolate's, would stay taken. */
function load(): computeHash {
  const memory = new WebAssembly.Memory(PAGES);
  const instance = instantiate({ env: { memory } });
  const hash: computeHash = (params) => argon2id(params, { instance, memory });
  loaded = new WeakRef(hash);
  return hash;
}

/** Makes an instance at once: one request must not wait for what another has begun to load. */
function instantiate(imports: WebAssembly.Imports): WebAssembly.Instance {
  try {
    return new WebAssembly.Instance(simd, imports);
  } catch {
    return new WebAssembly.Instance(plain, imports);
  }
}

/** Hashes a password with Argon2id, in NFC. @returns a PHC string */
export async function hashPassword(password: string): Promise<string> {
  const salt = crypto.getRandomValues(new Uint8Array(SALT_LENGTH));
  const { cost } = hashing;
  return phc(cost, salt, compute(password.normalize('NFC'), salt, cost, TAG_LENGTH));
}

/** The result of checking a password. `isOutdated`: a new hash would differ in cost or form, and replaces it. */
export type PasswordCheck = { isRight: false } | { isRight: true; isOutdated: boolean };

/** Whether it is the password, in whichever form of Unicode. Without a hash the answer is false after the same time. */
export async function verifyPassword(password: string, hash: string | null): Promise<PasswordCheck> {
  const { cost, salt, tag } = parsePhc(hash ?? dummyHash());
  for (const form of listForms(password)) {
    // The library fails on some passwords of one character, which nobody has.
    const isPossible = form.length > 1;
    const computed = compute(isPossible ? form : 'impossible', salt, cost, tag.length);
    if (crypto.subtle.timingSafeEqual(computed, tag) && hash !== null && isPossible)
      return { isRight: true, isOutdated: form !== password.normalize('NFC') || isOtherCost(cost) };
  }
  return { isRight: false };
}

/** NFC first; one of them where the password has no accents. */
const listForms = (password: string): ReadonlySet<string> =>
  new Set([password.normalize('NFC'), password, password.normalize('NFD')]);

function isOtherCost(cost: Cost): boolean {
  const { memorySize, passes, parallelism } = hashing.cost;
  return cost.memorySize !== memorySize || cost.passes !== passes || cost.parallelism !== parallelism;
}

const phc = ({ memorySize, passes, parallelism }: Cost, salt: Uint8Array, tag: Uint8Array): string =>
  `$argon2id$v=19$m=${memorySize},t=${passes},p=${parallelism}$${base64(salt)}$${base64(tag)}`;

function parsePhc(text: string): { cost: Cost; salt: Uint8Array; tag: Uint8Array } {
  const parts = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(text);
  if (!parts) throw new Error('A stored password hash is not Argon2id in PHC form.');
  const [, memorySize, passes, parallelism, salt, tag] = parts as unknown as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  return {
    cost: { memorySize: Number(memorySize), passes: Number(passes), parallelism: Number(parallelism) },
    salt: Uint8Array.fromBase64(salt, { lastChunkHandling: 'loose' }),
    tag: Uint8Array.fromBase64(tag, { lastChunkHandling: 'loose' }),
  };
}

const base64 = (bytes: Uint8Array): string => bytes.toBase64({ omitPadding: true });
