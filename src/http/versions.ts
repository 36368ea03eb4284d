import type { Context } from '../context.ts';
import { recordReads, runDependentWrite } from '../db/client.ts';
import { Failure, invalidInput } from '../kernel/failure.ts';
import { computeSha256Hex } from '../platform/secrets.ts';
import type { Contract, Endpoint, VersionDeclaration } from './endpoint.ts';
import { preconditionFailed } from './failures.ts';

/** Arguments of a handler. */
export interface HandlerCall {
  ctx: Context;
  params: Record<string, string>;
  query: unknown;
  body: unknown;
  request: Request;
}

/** Versions that a header names: a list, or `*` for any version. */
type EntityTags = '*' | readonly string[];

/** Pattern of an entity tag; weak tags count as strong ones, because edges weaken them when they compress. */
const ENTITY_TAG_PATTERN = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/** Character that replaces a tag while the rest of a header is examined. No header contains it. */
const TAG_PLACEHOLDER = '\0';

/** Parses the versions that `If-Match` or `If-None-Match` names; null for a malformed header. */
function parseTags(header: string): EntityTags | null {
  if (header.trim() === '*') return '*';
  const tags = [...header.matchAll(ENTITY_TAG_PATTERN)].map(([, tag]) => tag as string);
  const parts = header.replace(ENTITY_TAG_PATTERN, TAG_PLACEHOLDER).split(',');
  const isList = tags.length > 0 && parts.every((tagText) => ['', TAG_PLACEHOLDER].includes(tagText.trim()));
  return isList ? tags : null;
}

const matchesTag = (tags: EntityTags, tag: string): boolean => tags === '*' || tags.includes(tag);

/** Computes an answer's entity tag: a digest of the record, and after a point one of its optional fields. */
export async function computeVersion(
  shownRecord: object,
  { ignoredFields, optionalFields = [], readVersion }: VersionDeclaration,
): Promise<string> {
  const ownVersion = readVersion?.(shownRecord);
  if (ownVersion !== undefined) return ownVersion;
  const uncountedFields = [...ignoredFields, ...optionalFields];
  // A row may have any columns, `__proto__` too: it is only copied where something is left out.
  const countedRecord =
    uncountedFields.length === 0
      ? shownRecord
      : Object.fromEntries(Object.entries(shownRecord).filter(([name]) => !uncountedFields.includes(name)));
  const optionalEntries = Object.entries(shownRecord).filter(([name]) => optionalFields.includes(name));
  const parts = await Promise.all(
    [countedRecord, ...(optionalEntries.length > 0 ? [optionalEntries] : [])].map(computeDigest),
  );
  return `"${parts.join('.')}"`;
}

const computeDigest = async (shownRecord: object): Promise<string> =>
  (await computeSha256Hex(JSON.stringify(shownRecord))).slice(0, DIGEST_LENGTH);

/** Reduces an entity tag to the version of the record alone. */
const toRecordTag = (tag: string): string => tag.replace(/\.[0-9a-f]+"$/, '"');

/** Length of the digest in an entity tag, in hexadecimal digits: 128 bits. */
const DIGEST_LENGTH = 32;

/** Returns true if the caller has this version already. A malformed header names none. */
export const isKnownVersion = (ifNoneMatch: string | undefined, tag: string): boolean =>
  ifNoneMatch !== undefined && matchesTag(parseTags(ifNoneMatch) ?? [], tag);

/** Finds the GET that answers the version for which a write can be made. */
export function findVersionedGet(
  { method, path, versionPath: comparedPath = path }: Contract,
  endpoints: readonly Endpoint[],
) {
  if (method === 'get' || method === 'post') return undefined;
  return endpoints.find(
    ({ contract }) => contract.method === 'get' && contract.path === comparedPath && contract.versionDeclaration,
  );
}

/**
 * Runs the handler of a write for the version that `If-Match` names. The rows that the GET reads from the control
 * database are read first; the write is applied only if all of them are still the same. If they are not, the version is
 * computed again, since the change in between may not affect the version. For a deletion whose GET finds nothing, the
 * version is not checked: the deletion itself answers whether the record was deleted.
 * @throws preconditionFailed where the version differs
 */
export async function runForVersion(
  ifMatch: string | undefined,
  { method }: Pick<Contract, 'method'>,
  versionedGet: Endpoint,
  call: HandlerCall,
  handle: (call: HandlerCall) => Promise<unknown>,
): Promise<unknown> {
  if (ifMatch === undefined) return handle(call);
  const tags = parseTags(ifMatch);
  if (tags === null) {
    throw invalidInput([{ field: 'If-Match', message: 'must be `*`, or a list of entity tags in double quotes' }]);
  }
  // Whether there is any is what the write finds out anyway.
  if (tags === '*') return handle(call);
  const versionDeclaration = versionedGet.contract.versionDeclaration as VersionDeclaration;
  const requireVersion = async (shownRecord: object): Promise<void> => {
    if (!matchesTag(tags.map(toRecordTag), await computeVersion(shownRecord, versionDeclaration)))
      throw preconditionFailed();
  };
  if (versionDeclaration.checkedBy === 'service') return handle({ ...call, ctx: { ...call.ctx, requireVersion } });
  const { db } = call.ctx;
  const readAndCheck = async () => {
    const { result, reads } = await recordReads(db, () =>
      versionedGet
        .handle({ ...call, query: versionedGet.contract.query?.parse({}), body: undefined })
        .catch((error: unknown) => {
          if (method === 'delete' && error instanceof Failure && error.kind === 'missing') return null;
          throw error;
        }),
    );
    if (result !== null) await requireVersion(result as object);
    return reads;
  };
  return runDependentWrite(db, { reads: await readAndCheck(), readAgain: readAndCheck }, () => handle(call));
}
