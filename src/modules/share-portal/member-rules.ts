import type { CompanyContext } from '../../context.ts';
import type { FilterPolicy } from '../../sharing/filter-policy.ts';
import type { ViewerRules } from '../../sharing/rules.ts';
import { combineAttributes, type ViewerAttributes } from '../../sharing/viewer-attributes.ts';
import { type EmbedOptions, selectActiveShares } from '../shares/service.ts';
import { getSharedRecord, makeRules, type SharedItem } from '../viewing/service.ts';
import type { AccessFailures } from '../visualizations/service.ts';
import { selectGrantsToAddress } from './store.ts';

/**
 * Makes the rules of a context's member for a target that it grants, from the grant's policies, the policies of active shares and
 * the member's attributes. @param accessFailures the visualizations that the member is denied
 */
export function makeMemberRules(
  item: SharedItem,
  grant: { filterPolicies: FilterPolicy[] },
  shares: readonly { filterPolicies: FilterPolicy[]; embedOptions: EmbedOptions }[],
  memberships: readonly { attributes: ViewerAttributes | null }[],
  accessFailures?: AccessFailures,
): ViewerRules {
  const viewerTerms = {
    policies: [...grant.filterPolicies, ...shares.flatMap(({ filterPolicies }) => filterPolicies)],
    attributes: combineAttributes(memberships.map(({ attributes }) => attributes ?? {})),
    downloads: shares.map(({ embedOptions }) => embedOptions.allow_downloads === true),
  };
  return makeRules(item, viewerTerms, accessFailures);
}

/**
 * Makes the rules under which an address sees an item, from the context that grants the item and has had the address as a member
 * for longest; undefined if no context does.
 */
export async function makeAddressRules(
  { db, actor: { companyId }, now }: CompanyContext,
  item: SharedItem,
  email: string,
): Promise<ViewerRules | undefined> {
  const { id } = getSharedRecord(item);
  const [grant] = await selectGrantsToAddress(db, companyId, { type: item.type, id }, email);
  if (!grant) return undefined;
  const { contextId } = grant;
  const shares =
    item.type === 'dashboard' ? await selectActiveShares(db, { companyId, contextId, dashboardId: id }, now()) : [];
  return makeMemberRules(item, grant, shares, [grant]);
}
