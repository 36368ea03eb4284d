import type { CompanyContext } from '../../../context.ts';
import { invalid } from '../../../kernel/failure.ts';
import { readConnectionId } from '../../managed-database/service.ts';
import { listTables } from '../../managed-tables/service.ts';
import { type BusinessDomain, getBusinessDomains } from '../business-domains/service.ts';
import { countResources } from '../resources/service.ts';
import { isAiConfigured } from '../suggestions/service.ts';
import { prerequisiteMissing } from './failures.ts';

/** The prerequisites of generating concepts, and the names of those that are missing. */
export async function checkConceptPrerequisites(ctx: CompanyContext) {
  const businessDomains = await getBusinessDomains(ctx);
  const aiConfigured = isAiConfigured(ctx);
  const missing = [
    ...(aiConfigured ? [] : ['ai_provider']),
    ...(businessDomains.length > 0 ? [] : ['business_domains']),
  ];
  return { aiConfigured, businessDomains, missing };
}

/** The prerequisites of generating an ontology, and the names of those that are missing. */
export async function checkOntologyPrerequisites(ctx: CompanyContext) {
  const connectionId = await readConnectionId(ctx);
  const tableCount = connectionId === null ? 0 : (await listTables(ctx, { page: 1, perPage: 1, search: '' })).total;
  const connections =
    connectionId === null || tableCount === 0
      ? []
      : [{ connection_id: connectionId, name: 'Managed database', table_count: tableCount }];
  const entityHintCount = await countResources(ctx, 'concept', 'entity_hint');
  const aiConfigured = isAiConfigured(ctx);
  const missing = [
    ...(aiConfigured ? [] : ['ai_provider']),
    ...(entityHintCount > 0 ? [] : ['entity_hint_concepts']),
    ...(connections.length > 0 ? [] : ['connection']),
  ];
  return { aiConfigured, connections, entityHintCount, missing };
}

/** The business domains of these keys; all of the company's without keys. */
export async function requireBusinessDomains(
  ctx: CompanyContext,
  keys: string[] | undefined,
): Promise<BusinessDomain[]> {
  const configured = await getBusinessDomains(ctx);
  if (configured.length === 0) {
    throw prerequisiteMissing('business_domains', 'the company has no business domain: configure one first');
  }
  if (keys === undefined || keys.length === 0) return configured;
  const byKey = new Map(configured.map((domain) => [domain.key, domain]));
  const problems = keys.flatMap((key, index) =>
    byKey.has(key)
      ? []
      : [{ field: `business_domains.${index}`, message: 'is not the key of a business domain of this company' }],
  );
  if (problems.length > 0) throw invalid(problems);
  return [...new Set(keys)].map((key) => byKey.get(key) as BusinessDomain);
}

/** Requires all prerequisites of generating an ontology from a connection. */
export async function requireOntologyPrerequisites(ctx: CompanyContext, connectionId: string): Promise<void> {
  const { connections, entityHintCount } = await checkOntologyPrerequisites(ctx);
  if (entityHintCount === 0) {
    throw prerequisiteMissing(
      'entity_hint_concepts',
      'the company has no concept of type entity_hint: create one first',
    );
  }
  if (!connections.some((connection) => connection.connection_id === connectionId)) {
    throw prerequisiteMissing('connection_id', 'must be the id of a connection of this company that has tables');
  }
}
