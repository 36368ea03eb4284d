import type { Context } from '../context.ts';
import { recordReads, runDependentWrite } from '../db/client.ts';
import { Failure, invalid } from '../kernel/failure.ts';
import { sha256Hex } from '../platform/secrets.ts';
import type { Contract, Endpoint, Versioned } from './endpoint.ts';
import { preconditionFailed } from './failures.ts';

/** The arguments of a handler. */
export interface Call {
  ctx: Context;
  params: Record<string, string>;
  query: unknown;
  body: unknown;
  request: Request;
}

/** Versions that a header names: these, or whichever there is. */
type EntityTags = '*' | readonly string[];

/** An entity tag; weak ones count as strong ones, because edges weaken them when they compress. */
const ENTITY_TAG_PATTERN = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/** The sign that replaces a tag where the rest of a header is looked at. No header holds it. */
const TAG_MARK = '\0';

/** The versions that `If-Match` or `If-None-Match` names; null for a malformed header. */
function parseTags(header: string): EntityTags | null {
  if (header.trim() === '*') return '*';
  const tags = [...header.matchAll(ENTITY_TAG_PATTERN)].map(([, tag]) => tag as string);
  const parts = header.replace(ENTITY_TAG_PATTERN, TAG_MARK).split(',');
  const isList = tags.length > 0 && parts.every((part) => ['', TAG_MARK].includes(part.trim()));
  return isList ? tags : null;
}

const matchesTag = (tags: EntityTags, tag: string): boolean => tags === '*' || tags.includes(tag);

/** The version of a GET's answer, as an entity tag: of the record, and after a point of the fields that are shown besides. */
export async function computeVersion(
  shown: object,
  { ignoredFields, optionalFields = [], readVersion }: Versioned,
): Promise<string> {
  const own = readVersion?.(shown);
  if (own !== undefined) return own;
  const leftOut = [...ignoredFields, ...optionalFields];
  // A row may have any columns, `__proto__` too: it is only copied where something is left out.
  const counted =
    leftOut.length === 0
      ? shown
      : Object.fromEntries(Object.entries(shown).filter(([name]) => !leftOut.includes(name)));
  const extra = Object.entries(shown).filter(([name]) => optionalFields.includes(name));
  const parts = await Promise.all([counted, ...(extra.length > 0 ? [extra] : [])].map(computeDigest));
  return `"${parts.join('.')}"`;
}

const computeDigest = async (shown: object): Promise<string> =>
  (await sha256Hex(JSON.stringify(shown))).slice(0, VERSION_LENGTH);

/** The version of the record alone. */
const toRecordTag = (tag: string): string => tag.replace(/\.[0-9a-f]+"$/, '"');

/** The length of the digest in an entity tag, in hexadecimal digits: 128 bits. */
const VERSION_LENGTH = 32;

/** Whether the caller has this version already. A header that is not in form names none. */
export const isKnownVersion = (ifNoneMatch: string | undefined, tag: string): boolean =>
  ifNoneMatch !== undefined && matchesTag(parseTags(ifNoneMatch) ?? [], tag);

/** The GET that tells the version that a write can be made for. */
export function findVersionedGet(
  { method, path, versionPath: other = path }: Contract,
  endpoints: readonly Endpoint[],
) {
  if (method === 'get' || method === 'post') return undefined;
  return endpoints.find(({ contract }) => contract.method === 'get' && contract.path === other && contract.versioned);
}

/**
 * Runs the handler of a write for the version that `If-Match` names. The rows that the GET reads from the control database are
 * read first; the write is applied only if all of them are still the same. If they are not, the version is computed again: the
 * change in between may be one that does not affect it. A deletion says itself whether what the GET does not find was deleted.
 * @throws preconditionFailed where the version differs
 */
export async function runForVersion(
  ifMatch: string | undefined,
  { method }: Pick<Contract, 'method'>,
  reading: Endpoint,
  call: Call,
  write: (call: Call) => Promise<unknown>,
): Promise<unknown> {
  if (ifMatch === undefined) return write(call);
  const tags = parseTags(ifMatch);
  if (tags === null) {
    throw invalid([{ field: 'If-Match', message: 'must be `*`, or a list of entity tags in double quotes' }]);
  }
  // Whether there is any is what the write finds out anyway.
  if (tags === '*') return write(call);
  const versioned = reading.contract.versioned as Versioned;
  const requireVersion = async (shown: object): Promise<void> => {
    if (!matchesTag(tags.map(toRecordTag), await computeVersion(shown, versioned))) throw preconditionFailed();
  };
  if (versioned.checkedBy === 'service') return write({ ...call, ctx: { ...call.ctx, requireVersion } });
  const { db } = call.ctx;
  const renew = async () => {
    const { result, reads } = await recordReads(db, () =>
      reading.handle({ ...call, query: reading.contract.query?.parse({}), body: undefined }).catch((error: unknown) => {
        if (method === 'delete' && error instanceof Failure && error.kind === 'missing') return null;
        throw error;
      }),
    );
    if (result !== null) await requireVersion(result as object);
    return reads;
  };
  return runDependentWrite(db, { reads: await renew(), renew }, () => write(call));
}
