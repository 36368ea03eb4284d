export { computePauseSeconds, isDatabaseUnreachable, MAX_PAUSES, recordCheck } from './checks.ts';
export * from './definition.ts';
export { archiveResource, changeResource, createResource } from './lifecycle.ts';
export {
  countResources,
  findResources,
  getContentAtVersion,
  getResource,
  getVisibleResource,
  listResources,
  listUnarchivedResources,
  listVersions,
  type Resource,
} from './reading.ts';
export type { ResourceFilter, VersionRow } from './store.ts';
export { insertFirstVersion, replaceVersion, type SuggestionAcceptance } from './versions.ts';
