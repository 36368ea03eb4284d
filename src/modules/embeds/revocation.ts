import { listDeniedIds } from '../../access/denials.ts';
import { accessDenied } from '../../access/failures.ts';
import { requireAction } from '../../access/requirements.ts';
import type { Context, PrincipalContext } from '../../context.ts';
import { type ControlDb, commit } from '../../db/client.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { invalidInput } from '../../kernel/failure.ts';
import type { Action } from '../../permissions/actions.ts';
import { isNothingDenied } from '../../permissions/denials.ts';
import type { TargetType } from '../../sharing/share-event.ts';
import { getDashboard } from '../dashboards/service.ts';
import { prepareShareEvent } from '../share-activity/service.ts';
import { getVisualization } from '../visualizations/service.ts';
import { type EmbedClaims, MAX_LIFETIME_SECONDS } from './claims.ts';
import { deleteRevocationsBefore, deleteTargetRevocations, upsertRevocation } from './store.ts';
import { getTokenIdRange, parseTarget } from './token-id.ts';

/** The tokens to revoke: one, all for one target, or all of one viewer. */
export type Revocation =
  | { by: 'token'; id: string }
  | { by: 'target'; type: TargetType; id: string }
  | { by: 'viewer'; id: string };

/** The maximum number of tokens and viewers that a company may revoke one by one, within a year. */
const MAX_REVOCATIONS = 10_000;

const SUBJECT_FORMATS = {
  all: 'all',
  token: (id: string) => `token:${id}`,
  target: ({ type, id }: EmbedClaims['target']) => `${type}:${id}`,
  viewer: (id: string) => `viewer:${id}`,
};

/** Returns the subjects of all revocations that cover a token. */
export const listSubjects = ({ id, target, viewer }: Pick<EmbedClaims, 'id' | 'target' | 'viewer'>): string[] => [
  SUBJECT_FORMATS.all,
  SUBJECT_FORMATS.token(id),
  SUBJECT_FORMATS.target(target),
  ...(viewer ? [SUBJECT_FORMATS.viewer(viewer.id)] : []),
];

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
      { companyId, subject: formatSubject(revocation), revokedAt: now },
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

const formatSubject = (revocation: Revocation): string =>
  revocation.by === 'target' ? SUBJECT_FORMATS.target(revocation) : SUBJECT_FORMATS[revocation.by](revocation.id);

/**
 * Makes statements that revoke all embed tokens of a company issued until `now` (ms), whoever signed them. Older revocations
 * become redundant and are deleted.
 */
export const makeRevokeAllStatements = (db: ControlDb, companyId: string, now: number) => ({
  superseded: deleteTargetRevocations(db, companyId, ALL_SUBJECTS_RANGE, now),
  revoked: upsertRevocation(db, { companyId, subject: SUBJECT_FORMATS.all, revokedAt: now }, null),
});

/** The bounds of a range that contains all subjects. */
const ALL_SUBJECTS_RANGE = { firstSubject: '', endSubject: '~' };

/** Returns the range of subjects that contains those of single tokens of a target. */
function getSingleTokenRange(target: EmbedClaims['target']): { firstSubject: string; endSubject: string } {
  const { firstId, endId } = getTokenIdRange(target);
  return { firstSubject: SUBJECT_FORMATS.token(firstId), endSubject: SUBJECT_FORMATS.token(endId) };
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
