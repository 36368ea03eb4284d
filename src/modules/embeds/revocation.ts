import { listDeniedIds } from '../../access/denials.ts';
import { accessDenied } from '../../access/failures.ts';
import { requireAction } from '../../access/requirements.ts';
import type { CompanyContext, Context, PrincipalContext } from '../../context.ts';
import { type ControlDb, commit } from '../../db/client.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { invalidInput } from '../../kernel/failure.ts';
import type { Action } from '../../permissions/actions.ts';
import { isNothingDenied } from '../../permissions/denials.ts';
import { computeSha256Hex } from '../../platform/secrets.ts';
import type { TargetType } from '../../sharing/share-event.ts';
import { getDashboard } from '../dashboards/service.ts';
import { prepareShareEvent } from '../share-activity/service.ts';
import { getVisualization } from '../visualizations/service.ts';
import { type EmbedClaims, MAX_LIFETIME_SECONDS } from './claims.ts';
import {
  deleteRevocation,
  deleteRevocationsBefore,
  deleteTargetRevocations,
  selectShownRevocations,
  upsertRevocation,
} from './store.ts';
import { getTokenIdRange, parseTarget } from './token-id.ts';

/** The tokens to revoke: one, all for one target, or all of one viewer. */
export type Revocation =
  | { by: 'token'; id: string }
  | { by: 'target'; type: TargetType; id: string }
  | { by: 'viewer'; id: string };

/** The maximum number of tokens and viewers that a company may revoke one by one, within a year. */
const MAX_REVOCATIONS = 10_000;

const ALL_SUBJECT = 'all';
const formatTarget = ({ type, id }: EmbedClaims['target']) => `${type}:${id}`;
const formatToken = (id: string) => `token:${id}`;

/**
 * Formats the id of a viewer, or of a token that a host made, as a digest: it may name a person, and the revocation stays valid
 * when the person is erased. Unkeyed, so that it also stays valid when a secret is replaced.
 */
const formatForeignId = async (companyId: string, by: 'token' | 'viewer', id: string) =>
  `${by}:sha256:${await computeSha256Hex(`${companyId}\n${id}`)}`;

/** Returns the subjects of all revocations that cover a token. */
export async function listSubjects(
  companyId: string,
  { id, target, viewer }: Pick<EmbedClaims, 'id' | 'target' | 'viewer'>,
): Promise<string[]> {
  const subjects = [ALL_SUBJECT, formatTarget(target), formatToken(id)];
  if (!parseTarget(id)) subjects.push(await formatForeignId(companyId, 'token', id));
  // Older versions stored the viewer's id as it is.
  if (viewer) subjects.push(`viewer:${viewer.id}`, await formatForeignId(companyId, 'viewer', viewer.id));
  return subjects;
}

/** Revokes the company's tokens that were issued before this moment, from the next request on. */
export async function revokeEmbeds(ctx: PrincipalContext, revocation: Revocation): Promise<void> {
  const target = await requireRevocableTarget(ctx, revocation);
  const { companyId } = ctx.actor;
  const now = ctx.now();
  const field = revocation.by === 'target' ? undefined : (`${revocation.by}_id` as const);
  const event = prepareShareEvent(ctx, {
    type: 'embed.revoked',
    ...(target && { target }),
    details: field === undefined ? {} : { [field]: revocation.id },
  });
  const { revoked, told } = await commit(ctx.db, {
    revoked: upsertRevocation(
      ctx.db,
      { companyId, subject: await formatSubject(companyId, revocation), revokedAt: now },
      field === undefined ? null : MAX_REVOCATIONS,
    ),
    told: event.statement,
    // A revocation of the target covers its tokens: their own are deleted.
    superseded:
      revocation.by === 'target'
        ? [deleteTargetRevocations(ctx.db, companyId, getSingleTokenRange(revocation), now)]
        : [],
  });
  if (revoked.length === 0) {
    const message = `exceeds the limit of ${MAX_REVOCATIONS} revoked tokens and viewers a year: revoke all tokens of a dashboard or visualization, or rotate the key`;
    throw invalidInput([{ field: field ?? '', message }]);
  }
  event.send(told);
}

async function formatSubject(companyId: string, revocation: Revocation): Promise<string> {
  if (revocation.by === 'target') return formatTarget(revocation);
  const isOwnToken = revocation.by === 'token' && parseTarget(revocation.id) !== undefined;
  return isOwnToken ? formatToken(revocation.id) : formatForeignId(companyId, revocation.by, revocation.id);
}

/**
 * Makes statements that revoke all embed tokens of a company issued until `now` (ms), whoever signed them. Older revocations
 * become redundant and are deleted.
 */
export const makeRevokeAllStatements = (db: ControlDb, companyId: string, now: number) => ({
  superseded: deleteTargetRevocations(db, companyId, ALL_SUBJECTS_RANGE, now),
  revoked: upsertRevocation(db, { companyId, subject: ALL_SUBJECT, revokedAt: now }, null),
});

/** The bounds of a range that contains all subjects. */
const ALL_SUBJECTS_RANGE = { firstSubject: '', endSubject: '~' };

/** Returns the range of subjects that contains those of single tokens of a target. */
function getSingleTokenRange(target: EmbedClaims['target']): { firstSubject: string; endSubject: string } {
  const { firstId, endId } = getTokenIdRange(target);
  return { firstSubject: formatToken(firstId), endSubject: formatToken(endId) };
}

/**
 * Returns the target of the tokens to revoke, which the caller must be allowed to share; undefined for tokens of a viewer, and
 * for a token id that we did not generate. As these tokens may show anything, they require both share permissions and no Deny of
 * either.
 */
async function requireRevocableTarget(
  ctx: PrincipalContext,
  revocation: Revocation,
): Promise<EmbedClaims['target'] | undefined> {
  const target =
    revocation.by === 'token' ? parseTarget(revocation.id) : revocation.by === 'target' ? revocation : undefined;
  if (target === undefined) {
    requireMayRevokeEverything(ctx);
    return undefined;
  }
  const { type, id } = target;
  requireAction(ctx.actor, `${type}s:share`, id);
  await (type === 'dashboard' ? getDashboard(ctx, id) : getVisualization(ctx, id));
  return { type, id };
}

const SHARE_ACTIONS = ['dashboards:share', 'visualizations:share'] as const;

/** Throws unless the caller has both share permissions: for endpoints that concern all of a company's embeds. */
export function requireSharingEverything({ actor }: PrincipalContext): void {
  for (const action of SHARE_ACTIONS) requireAction(actor, action, '*');
}

/** Throws unless the caller has both share permissions, and no Deny of either: for what may end any token of the company. */
export function requireMayRevokeEverything(ctx: PrincipalContext): void {
  requireSharingEverything(ctx);
  requireNothingDenied(ctx, SHARE_ACTIONS);
}

/** Throws if the caller is denied one of the actions on any dashboard or visualization: for what may concern all of them. */
export function requireNothingDenied({ actor }: PrincipalContext, actions: readonly Action[]): void {
  const deniedAction = actions.find((action) => !isNothingDenied(listDeniedIds(actor, [action])));
  if (deniedAction) throw accessDenied(deniedAction);
}

/** Deletes revocations whose tokens have all expired since. For the scheduled run. */
export async function purgeRevocations(ctx: Context): Promise<void> {
  await deleteRevocationsBefore(ctx.db, ctx.now() - MAX_LIFETIME_SECONDS * 1000 - DAY_MS);
}

/** Hides the ids of viewers, and of tokens of hosts, that name a person: older versions stored them as they are. @returns how many */
export async function hideRevokedIds(ctx: CompanyContext, isNamedIn: (id: string) => boolean): Promise<number> {
  let hiddenCount = 0;
  for (const shown of await selectShownRevocations(ctx.db, ctx.actor.companyId)) {
    const [, by, id] = /^(token|viewer):(.*)$/s.exec(shown.subject) as unknown as [string, 'token' | 'viewer', string];
    if ((by === 'token' && parseTarget(id)) || !isNamedIn(id)) continue;
    const subject = await formatForeignId(shown.companyId, by, id);
    await commit(ctx.db, {
      hidden: upsertRevocation(ctx.db, { ...shown, subject }, null),
      deleted: deleteRevocation(ctx.db, shown),
    });
    hiddenCount += 1;
  }
  return hiddenCount;
}
