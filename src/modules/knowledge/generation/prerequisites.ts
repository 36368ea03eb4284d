import type { CompanyContext } from '../../../context.ts';
import { type FieldProblem, invalidInput } from '../../../kernel/failure.ts';
import { readConnectionId } from '../../managed-database/service.ts';
import { listTables } from '../../managed-tables/service.ts';
import { type BusinessDomain, getBusinessDomains } from '../business-domains/service.ts';
import { countResources } from '../resources/reading.ts';
import { isAiConfigured } from '../suggestions/propose.ts';
import { ACCEPTED_FILE_TYPES, makePrerequisiteFailure } from './failures.ts';

/** Returns the prerequisites of generating concepts, and the names of the missing ones. */
export async function checkConceptPrerequisites(ctx: CompanyContext) {
  const businessDomains = await getBusinessDomains(ctx);
  const aiConfigured = isAiConfigured(ctx);
  const missingParts = [
    ...(aiConfigured ? [] : ['ai_provider']),
    ...(businessDomains.length > 0 ? [] : ['business_domains']),
  ];
  const acceptedFileTypes = [...ACCEPTED_FILE_TYPES];
  return { ready: missingParts.length === 0, aiConfigured, businessDomains, acceptedFileTypes, missing: missingParts };
}

/** Returns the prerequisites of generating an ontology, and the names of the missing ones. */
export async function checkOntologyPrerequisites(ctx: CompanyContext) {
  const connectionId = await readConnectionId(ctx);
  const tableCount = connectionId === null ? 0 : (await listTables(ctx, { page: 1, perPage: 1, search: '' })).total;
  const connections =
    connectionId === null || tableCount === 0
      ? []
      : [{ connection_id: connectionId, name: 'Managed database', table_count: tableCount }];
  const entityHintCount = await countResources(ctx, 'concept', 'entity_hint');
  const aiConfigured = isAiConfigured(ctx);
  const missingParts = [
    ...(aiConfigured ? [] : ['ai_provider']),
    ...(entityHintCount > 0 ? [] : ['entity_hint_concepts']),
    ...(connections.length > 0 ? [] : ['connection']),
  ];
  return { ready: missingParts.length === 0, aiConfigured, connections, entityHintCount, missing: missingParts };
}

/** Returns the business domains of these keys; without keys, all of the company's domains. */
export async function requireBusinessDomains(
  ctx: CompanyContext,
  keys: string[] | undefined,
): Promise<BusinessDomain[]> {
  const configuredDomains = await getBusinessDomains(ctx);
  if (configuredDomains.length === 0) {
    throw makePrerequisiteFailure({
      field: 'business_domains',
      message: 'the company has no business domain: configure one first',
    });
  }
  if (keys === undefined || keys.length === 0) return configuredDomains;
  const domainsByKey = new Map(configuredDomains.map((domain) => [domain.key, domain]));
  const message = 'is not the key of a business domain of this company';
  const problems = keys.flatMap((key, index) =>
    domainsByKey.has(key) ? [] : [{ field: `business_domains.${index}`, message }],
  );
  if (problems.length > 0) throw invalidInput(problems);
  return [...new Set(keys)].map((key) => domainsByKey.get(key) as BusinessDomain);
}

/** Throws unless all prerequisites of generating an ontology from a connection are met. */
export async function requireOntologyPrerequisites(ctx: CompanyContext, connectionId: string): Promise<void> {
  const { connections, entityHintCount } = await checkOntologyPrerequisites(ctx);
  const problems: FieldProblem[] = [];
  if (entityHintCount === 0) {
    problems.push({
      field: 'entity_hint_concepts',
      message: 'the company has no concept of type entity_hint: create one first',
    });
  }
  if (!connections.some((connection) => connection.connection_id === connectionId)) {
    problems.push({
      field: 'connection_id',
      message: 'must be the id of a connection of this company that has tables',
    });
  }
  if (problems.length > 0) throw makePrerequisiteFailure(...problems);
}
