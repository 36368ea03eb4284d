import argon2id from 'argon2id/lib/argon2id.js';
import type { computeHash } from 'argon2id/lib/setup.js';
import plain from './argon2id/no-simd.wasm';
import simd from './argon2id/simd.wasm';

interface HashCost {
  /** The memory in KiB. */
  memorySize: number;
  passes: number;
  /** The number of lanes. */
  parallelism: number;
}

export const DEFAULT_COST: HashCost = { memorySize: 19_456, passes: 2, parallelism: 1 };

/** The cost of a new hash, which tests lower; old hashes carry their own. */
export const hashSettings = { cost: DEFAULT_COST };

const TAG_BYTES = 32;
const SALT_BYTES = 16;

/** Makes a hash to verify where a user has none, so that the check takes the same time. No password has its all-zero tag. */
const makeDummyHash = () => formatPhc(hashSettings.cost, new Uint8Array(SALT_BYTES), new Uint8Array(TAG_BYTES));

/**
 * The library's memory in pages of 64 KiB: at first enough for {@link DEFAULT_COST} and 10 KiB of the library; it grows for a
 * costlier hash.
 */
const MEMORY_PAGES = { initial: 305, maximum: 65_536 };

/** The loaded library, held weakly: between sign-ins its memory of 20 MB, a sixth of an isolate's, is freed. */
let loadedLibrary: WeakRef<computeHash> | undefined;

/** Computes a hash, which blocks the isolate for a tenth of a second: the library's 20 MB serve one hash at a time. */
function computeHashTag(password: string, salt: Uint8Array, cost: HashCost, tagLength: number): Uint8Array {
  const hash = loadedLibrary?.deref() ?? loadLibrary();
  return hash({ password: new TextEncoder().encode(password), salt, tagLength, ...cost });
}

/** Loads the library like its `setup.js`, except for the memory: its 65 MiB, half of an isolate's, would stay allocated. */
function loadLibrary(): computeHash {
  const memory = new WebAssembly.Memory(MEMORY_PAGES);
  const instance = instantiateModule({ env: { memory } });
  const hash: computeHash = (params) => argon2id(params, { instance, memory });
  loadedLibrary = new WeakRef(hash);
  return hash;
}

/** Instantiates the library synchronously: one request must not wait for another's loading. */
function instantiateModule(imports: WebAssembly.Imports): WebAssembly.Instance {
  try {
    return new WebAssembly.Instance(simd, imports);
  } catch {
    return new WebAssembly.Instance(plain, imports);
  }
}

/** Hashes a password with Argon2id, in NFC. @returns a PHC string */
export async function hashPassword(password: string): Promise<string> {
  const salt = crypto.getRandomValues(new Uint8Array(SALT_BYTES));
  const { cost } = hashSettings;
  return formatPhc(cost, salt, computeHashTag(password.normalize('NFC'), salt, cost, TAG_BYTES));
}

/** The result of a check. `isOutdated`: a new hash would differ in cost or Unicode form, and should replace it. */
export type PasswordCheck = { isCorrect: false } | { isCorrect: true; isOutdated: boolean };

/** Checks a password against a hash, in whichever form of Unicode. Without a hash the answer is false after the same time. */
export async function verifyPassword(password: string, hash: string | null): Promise<PasswordCheck> {
  const { cost, salt, tag } = parsePhc(hash ?? makeDummyHash());
  for (const passwordForm of listForms(password)) {
    // The library fails on some passwords of one character, which nobody has.
    const isHashable = passwordForm.length > 1;
    const computedTag = computeHashTag(isHashable ? passwordForm : 'impossible', salt, cost, tag.length);
    if (crypto.subtle.timingSafeEqual(computedTag, tag) && hash !== null && isHashable)
      return { isCorrect: true, isOutdated: passwordForm !== password.normalize('NFC') || isDifferentCost(cost) };
  }
  return { isCorrect: false };
}

/** Lists the Unicode forms of a password, NFC first; only one where the password has no accents. */
const listForms = (password: string): ReadonlySet<string> =>
  new Set([password.normalize('NFC'), password, password.normalize('NFD')]);

function isDifferentCost(cost: HashCost): boolean {
  const { memorySize, passes, parallelism } = hashSettings.cost;
  return cost.memorySize !== memorySize || cost.passes !== passes || cost.parallelism !== parallelism;
}

const formatPhc = ({ memorySize, passes, parallelism }: HashCost, salt: Uint8Array, tag: Uint8Array): string =>
  `$argon2id$v=19$m=${memorySize},t=${passes},p=${parallelism}$${encodeBase64(salt)}$${encodeBase64(tag)}`;

function parsePhc(text: string): { cost: HashCost; salt: Uint8Array; tag: Uint8Array } {
  const [, memorySize, passes, parallelism, salt = '', tag] =
    /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(text) ?? [];
  if (tag === undefined) throw new Error('A stored password hash is not Argon2id in PHC form.');
  return {
    cost: { memorySize: Number(memorySize), passes: Number(passes), parallelism: Number(parallelism) },
    salt: Uint8Array.fromBase64(salt, { lastChunkHandling: 'loose' }),
    tag: Uint8Array.fromBase64(tag, { lastChunkHandling: 'loose' }),
  };
}

const encodeBase64 = (bytes: Uint8Array): string => bytes.toBase64({ omitPadding: true });
