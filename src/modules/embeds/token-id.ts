import type { TargetType } from '../../sharing/share-event.ts';

/** The dashboard or visualization that an embed token shows. */
export interface EmbedTarget {
  type: TargetType;
  id: string;
}

const TARGET_LETTERS = { dashboard: 'd', visualization: 'v' } as const;
const TOKEN_ID_PATTERN = /^(?<letter>[dv])-(?<target>[a-f0-9]{24})-[a-f0-9]{24}$/;

/**
 * Makes the id of a new token. It contains the target, because tokens are not stored and whoever may share the target may revoke
 * the token. @param id an id that was never used
 */
export const makeTokenId = (target: EmbedTarget, id: string): string => `${makePrefix(target)}-${id}`;

/** Parses the target from a token's id; undefined where `makeTokenId` did not make the id. */
export function parseTarget(tokenId: string): EmbedTarget | undefined {
  const { letter, target: id = '' } = TOKEN_ID_PATTERN.exec(tokenId)?.groups ?? {};
  if (letter === undefined) return undefined;
  return { type: letter === TARGET_LETTERS.dashboard ? 'dashboard' : 'visualization', id };
}

/** Returns the bounds of a range of token ids that contains exactly the tokens of this target. */
export function getTokenIdRange(target: EmbedTarget): { firstId: string; endId: string } {
  // After the hyphen comes the full stop.
  return { firstId: `${makePrefix(target)}-`, endId: `${makePrefix(target)}.` };
}

const makePrefix = ({ type, id }: EmbedTarget): string => `${TARGET_LETTERS[type]}-${id}`;
